"""Random numbers, drawn by the seed of the node, or anew in each run; and dropout by them."""

from __future__ import annotations

from typing import Any

from ..... import _C
from ..... import functional as F
from .....functional import random
from ..element_types import converted, dtype_of
from ..rule_table import rule


def _generator(seed: Any) -> random.Generator:
    """By a seed each run draws the same numbers; without one, those that come next."""
    return random.default_generator if seed is None else random.Generator(int(seed))


def drawn(shape: Any, mode: str, dtype: Any, seed: Any) -> Any:
    generator = _generator(seed)
    draw = generator.normal if mode == "normal" else generator.uniform
    wide = dtype.name if dtype.name in ("float32", "float64") else "float32"
    return converted(draw(tuple(shape), dtype=wide), dtype)


@rule
def random_normal(*, dtype: int, mean: float, scale: float, seed: Any, shape: Any) -> Any:
    """Normal numbers of a shape."""
    return drawn(shape, "normal", dtype_of(dtype), seed) * scale + mean


@rule
def random_uniform(*, dtype: int, low: float, high: float, seed: Any, shape: Any) -> Any:
    """Uniform numbers of a shape."""
    return drawn(shape, "uniform", dtype_of(dtype), seed) * (high - low) + low


@rule
def random_normal_like(x: Any, *, dtype: int | None, mean: float, scale: float, seed: Any) -> Any:
    """Normal numbers of the shape of a tensor."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return drawn(x.shape, "normal", kind, seed) * scale + mean


@rule
def random_uniform_like(x: Any, *, dtype: int | None, low: float, high: float, seed: Any) -> Any:
    """Uniform numbers of the shape of a tensor."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return drawn(x.shape, "uniform", kind, seed) * (high - low) + low


@rule
def bernoulli(x: Any, *, dtype: int | None, seed: Any) -> Any:
    """1 with the chance that each element says."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return converted(drawn(x.shape, "uniform", x.dtype, seed) < x, kind)


@rule
def multinomial(x: Any, *, dtype: int, sample_size: int, seed: Any) -> Any:
    """Classes by the logarithms of their weights."""
    found = _generator(seed).multinomial(F.softmax(x, axis=-1), sample_size, replacement=True)
    return converted(found, dtype_of(dtype))


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
