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


@rule
def batch_normalization(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float, momentum: float,
    training_mode: int, outputs: int, spatial: int,
) -> Any:  # fmt: skip
    """By given statistics, or by the batch's own, towards which the given ones move."""
    shape = (1, -1, *[1] * (len(x.shape) - 2))
    if not training_mode:
        factor = scale * F.rsqrt(variance + epsilon)
        shift = bias - mean * factor
        # One step, which becomes part of the weights of a convolution before it.
        found = F.multiply_add(x, F.reshape(factor, shape), F.reshape(shift, shape))
        return converted(found, x.dtype)
    axes = tuple(i for i in range(len(x.shape)) if i != 1)
    own, spread = F.mean(x, axis=axes), F.var(x, axis=axes)
    centred = x - F.reshape(own, shape)
    factor = F.reshape(scale * F.rsqrt(spread + epsilon), shape)
    moved = [
        old * momentum + new * (1 - momentum) for old, new in ((mean, own), (variance, spread))
    ]
    return (converted(centred * factor + F.reshape(bias, shape), x.dtype), *moved)


@rule
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
def rms_normalization(x: Any, scale: Any, *, axis: int, epsilon: float, stash_type: int) -> Any:
    """By the mean square of the last axes."""
    axes = tuple(range(normal_axis(axis, len(x.shape)), len(x.shape)))
    wide = _wide(x)
    inverse = F.rsqrt(F.mean(wide * wide, axis=axes, keepdims=True) + epsilon)
    return converted(converted(wide * inverse, x.dtype) * scale, scale.dtype)


@rule
def instance_normalization(x: Any, scale: Any, bias: Any, *, epsilon: float) -> Any:
    """By the mean and the variance of each channel of each image."""
    axes, shape = tuple(range(2, len(x.shape))), (1, -1, *[1] * (len(x.shape) - 2))
    centred = x - F.mean(x, axis=axes, keepdims=True)
    inverse = F.rsqrt(F.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    return centred * inverse * F.reshape(scale, shape) + F.reshape(bias, shape)


@rule
def group_normalization(
    x: Any, scale: Any, bias: Any, *, epsilon: float, num_groups: int, stash_type: int
) -> Any:
    """By the mean and the variance of groups of channels."""
    wide = _wide(x)
    rows = F.reshape(wide, (x.shape[0], num_groups, -1))
    centred = rows - F.mean(rows, axis=-1, keepdims=True)
    found = centred * F.rsqrt(F.mean(centred * centred, axis=-1, keepdims=True) + epsilon)
    found = converted(F.reshape(found, x.shape), x.dtype)
    if scale.shape[0] == num_groups and num_groups != x.shape[1]:  # of opset 18: for each group
        each = x.shape[1] // num_groups
        scale, bias = F.repeat(scale, each, axis=0), F.repeat(bias, each, axis=0)
    shape = (1, -1, *[1] * (len(x.shape) - 2))
    return found * F.reshape(scale, shape) + F.reshape(bias, shape)


@rule
def local_response_normalization(
    x: Any, *, size: int, alpha: float, beta: float, bias: float
) -> Any:
    """By the squares of neighbouring channels."""
    before = (size - 1) // 2
    widths = [0] * (2 * len(x.shape))
    widths[2], widths[3] = before, size - 1 - before
    padded = F.pad(x * x, widths)
    total: Any = None
    for i in range(size):
        one = padded[:, i : i + x.shape[1]]
        total = one if total is None else total + one
    return x / F.pow(total * (alpha / size) + bias, beta)


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
