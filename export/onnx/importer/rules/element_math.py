"""Reductions and running combinations whose axes or limits hang on attributes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..... import functional as F
from ..rule_table import rule


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
