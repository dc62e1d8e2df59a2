"""Random numbers: drawn by the seed of the node, and anew in each run."""

from __future__ import annotations

from typing import Any

from ..... import functional as F
from ..element_types import dtype_of
from ..rule_table import rule


def _drawn(shape: Any, mode: Any, dtype: Any, seed: Any) -> Any:
    from .....imperative import next_seed

    key = int(seed) if seed is not None else next_seed()
    return F.astype(F.random_draw(tuple(shape), mode=mode, key=key), dtype=dtype)


@rule
def random_normal(*, dtype: int, mean: float, scale: float, seed: Any, shape: Any) -> Any:
    """Normal numbers of a shape."""
    return _drawn(shape, "normal", dtype_of(dtype), seed) * scale + mean


@rule
def random_uniform(*, dtype: int, low: float, high: float, seed: Any, shape: Any) -> Any:
    """Uniform numbers of a shape."""
    return _drawn(shape, "uniform", dtype_of(dtype), seed) * (high - low) + low


@rule
def random_normal_like(x: Any, *, dtype: int | None, mean: float, scale: float, seed: Any) -> Any:
    """Normal numbers of the shape of a tensor."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return _drawn(x.shape, "normal", kind, seed) * scale + mean


@rule
def random_uniform_like(x: Any, *, dtype: int | None, low: float, high: float, seed: Any) -> Any:
    """Uniform numbers of the shape of a tensor."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return _drawn(x.shape, "uniform", kind, seed) * (high - low) + low


@rule
def bernoulli(x: Any, *, dtype: int | None, seed: Any) -> Any:
    """1 with the chance that each element says."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return F.astype(_drawn(x.shape, "uniform", x.dtype, seed) < x, dtype=kind)


@rule
def multinomial(x: Any, *, dtype: int, sample_size: int, seed: Any) -> Any:
    """Classes by the logarithms of their weights."""
    key = int(seed) if seed is not None else 0
    found = F.multinomial(F.softmax(x, axis=-1), sample_size, replacement=True, seed=key)
    return F.astype(found, dtype=dtype_of(dtype))
