"""Reductions and running combinations whose axes or limits hang on attributes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..... import functional as F
from ..attribute_functions import axes_or_all, limit
from ..element_types import converted
from ..rule_table import rule


def _axes(axes: Any, keep_all: int, x: Any) -> Any:
    return axes_or_all(axes, keep_all)


@rule
def reduce_mean(x: Any, axes: Any, *, keepdims: int, noop_with_empty_axes: int) -> Any:
    """The mean; of integers too, which are rounded towards zero."""
    found = _axes(axes, noop_with_empty_axes, x)
    if x.dtype.kind == "floating":
        return F.mean(x, axis=found, keepdims=bool(keepdims))
    wide = F.mean(converted(x, "float64"), axis=found, keepdims=bool(keepdims))
    return converted(wide, x.dtype)


def _extreme(function: Any, x: Any, axes: Any, keepdims: int, keep_all: int, side: str) -> Any:
    found = _axes(axes, keep_all, x)
    if x.dtype.kind == "bool":
        return (F.any if side == "lowest" else F.all)(x, axis=found, keepdims=bool(keepdims))
    over = range(len(x.shape)) if found is None else found
    if any(x.shape[axis] == 0 for axis in over):
        axes_gone = {axis % len(x.shape) for axis in over}
        shape = [
            1 if i in axes_gone else size
            for i, size in enumerate(x.shape)
            if keepdims or i not in axes_gone
        ]
        least = limit(x.dtype, side)
        if x.dtype.kind == "floating":
            least = float("-inf") if side == "lowest" else float("inf")
        return F.full(shape, least, dtype=x.dtype)
    return function(x, axis=found, keepdims=bool(keepdims))


@rule
def reduce_max(x: Any, axes: Any, *, keepdims: int, noop_with_empty_axes: int) -> Any:
    """The largest; of none the lowest number."""
    return _extreme(F.max, x, axes, keepdims, noop_with_empty_axes, "lowest")


@rule
def reduce_min(x: Any, axes: Any, *, keepdims: int, noop_with_empty_axes: int) -> Any:
    """The smallest; of none the highest number."""
    return _extreme(F.min, x, axes, keepdims, noop_with_empty_axes, "highest")


def _running(function: Any, x: Any, axis: int, exclusive: int, reverse: int) -> Any:
    found = function(
        x, axis=axis, dtype=x.dtype, include_initial=bool(exclusive), reverse=bool(reverse)
    )
    if not exclusive:
        return found
    items = [slice(None)] * len(x.shape)
    items[axis] = slice(1, None) if reverse else slice(None, -1)
    return found[tuple(items)]


@rule
def cumulative_sum(x: Any, axis: int, *, exclusive: int, reverse: int) -> Any:
    """Running sums, with each element or up to it."""
    return _running(F.cumulative_sum, x, axis, exclusive, reverse)


@rule
def cumulative_product(x: Any, axis: int, *, exclusive: int, reverse: int) -> Any:
    """Running products, with each element or up to it."""
    return _running(F.cumulative_prod, x, axis, exclusive, reverse)


@rule
def einsum(xs: Sequence[Any], *, equation: str) -> Any:
    """Products summed as an equation says."""
    return F.einsum(equation, *xs)
