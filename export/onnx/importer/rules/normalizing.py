"""Norms, with the results that ONNX gives beside the normalised tensor; dropout; losses."""

from __future__ import annotations

from typing import Any

from ..... import _C
from ..... import functional as F
from ..attribute_functions import normal_axis
from ..element_types import converted
from ..rule_table import rule
from .random import drawn


def _wide(x: Any) -> Any:
    return x if x.dtype.name == "float64" else converted(x, "float32")


def layer_normalization(
    x: Any, scale: Any, bias: Any, *, axis: int, epsilon: float, stash_type: int, outputs: int
) -> Any:
    """By the mean and the variance of the last axes."""
    axes = tuple(range(normal_axis(axis, len(x.shape)), len(x.shape)))
    if outputs == 1 and x.dtype.name in ("float32", "float64") and scale is not None:
        shape = tuple(x.shape[i] for i in axes)
        if tuple(scale.shape) == shape and (bias is None or tuple(bias.shape) == shape):
            added = F.zeros(shape, dtype=x.dtype) if bias is None else bias
            return F.layer_norm(x, scale, added, axes=axes, eps=epsilon)
    wide = _wide(x)
    mean = F.mean(wide, axis=axes, keepdims=True)
    centred = wide - mean
    inverse = F.rsqrt(F.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    found = converted(centred * inverse, x.dtype)
    if scale is not None:
        found = found * scale
    return found if bias is None else found + bias, mean, inverse


@rule
def dropout(x: Any, ratio: Any, training: Any, *, seed: int | None, outputs: int) -> Any:
    """The tensor as it is, or in training with elements left out."""
    if training and ratio != 0:
        if not 0 <= (0.5 if ratio is None else ratio) < 1:
            raise _C.ArgumentError(
                "must be from 0 to 1", op="Dropout", argument="ratio", got=str(ratio)
            )
        share = 0.5 if ratio is None else ratio
        mask = drawn(tuple(x.shape), "uniform", _C.float32, seed) >= share
        return F.where(mask, x * (1 / (1 - share)), 0), mask
    return (x, F.full(tuple(x.shape), True, dtype="bool")) if outputs > 1 else x
