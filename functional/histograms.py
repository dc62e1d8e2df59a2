"""Histograms: how many elements lie in each of several intervals, or in boxes of a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike, isdtype
from .algebra import diff
from .arguments import named, number, several
from .arranging import as_tensor
from .creation import ones, zeros
from .generated import astype, max, min, reshape, searchsorted, sum, where
from .segments import summed
from .spacing import linspace

__all__ = ["histogram", "histogramdd"]


@named
def histogram(
    x: TensorLike,
    bins: int | TensorLike = 10,
    *,
    range: Sequence[float] | None = None,
    weight: TensorLike | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each of several intervals, and the edges of these.

    Intervals hold their left edge, the last one its right edge too.

    Args:
        x: any shape, real floating-point.
        bins: the number of intervals, or their edges in order.
        range: where equal intervals begin and end; None: at the least and the largest element.
        weight: how much each element counts, in the shape of x; None is 1.
        density: divide by the sum and by the widths, so that the integral is 1.

    Returns:
        Two tensors: the counts, in the dtype of x, and the edges, one more.

    Raises:
        ShapeError: edges have not one dimension and at least two elements, or weight another shape.
        ParameterError: there is no interval, or the range is not finite or has no width.

    Source:
        NumPy, ``numpy.histogram``.

    Example:
        >>> import tensorlike as tl
        >>> counts, edges = tl.functional.histogram(tl.tensor([1.0, 2.0, 1.5, 4.0]), bins=3)
        >>> counts.tolist(), edges.tolist()
        ([2.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    """
    x = as_tensor(x)
    if not isdtype(x.dtype, "real floating"):
        x = astype(x, dtype="float32")
    flat = reshape(x, (-1,))
    edges = _edges(flat, bins, range)
    count = edges.shape[0] - 1
    values = ones(flat.shape, dtype=x.dtype) if weight is None else as_tensor(weight)
    if tuple(values.shape) != tuple(x.shape if weight is not None else flat.shape):
        raise ShapeError(
            "must have the shape of x.",
            op="histogram",
            argument="weight",
            got=f"{values.shape} and {x.shape}",
        )
    values = astype(reshape(values, (-1,)), dtype=x.dtype)
    is_inside, place = _places(edges, flat)
    # What lies outside, or is no number, is counted in an interval more, which is dropped.
    counts = summed(values, where(is_inside, place, count), count + 1)[:count]
    return (counts / (sum(counts) * diff(edges)) if density else counts), edges


@named
def histogramdd(
    x: TensorLike,
    bins: int | Sequence[Any] = 10,
    *,
    range: Sequence[Sequence[float]] | None = None,
    weight: TensorLike | None = None,
    density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """How many points lie in each box of a grid, and the edges of the boxes in each direction.

    Args:
        x: (..., directions), real floating-point: points.
        bins: the number of intervals, one for all directions or one for each, or the edges in each
            direction.
        range: where equal intervals begin and end, a pair for each direction; None: at the least
            and the largest element.
        weight: (...), how much each point counts; None is 1.
        density: divide by the sum and by the volumes, so that the integral is 1.

    Returns:
        The counts, a dimension for each direction, in the dtype of x; and a tuple of edges.

    Raises:
        ShapeError: x has fewer than two dimensions, edges have not one and at least two elements,
            there is not one of a kind for each direction, or weight has another shape.
        ParameterError: there is no interval, or a range is not finite.

    Source:
        NumPy, ``numpy.histogramdd``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
        >>> counts, edges = tl.functional.histogramdd(x, bins=2)
        >>> counts.tolist()
        [[0.0, 1.0], [2.0, 0.0]]
    """
    x = as_tensor(x)
    if not isdtype(x.dtype, "real floating"):
        x = astype(x, dtype="float32")
    if len(x.shape) < 2:
        raise ShapeError(
            "must be (..., directions).", op="histogramdd", argument="x", got=f"shape {x.shape}"
        )
    shape, directions = tuple(x.shape[:-1]), x.shape[-1]
    points = math.prod(shape)
    x = reshape(x, (points, directions))
    kinds = several("histogramdd", "bins", bins, directions)
    limits = (None,) * directions if range is None else tuple(range)
    if len(limits) != directions:
        raise ShapeError(
            f"must have {directions} pairs.",
            op="histogramdd",
            argument="range",
            got=f"{len(limits)}",
        )
    values = ones(shape, dtype=x.dtype) if weight is None else as_tensor(weight)
    if tuple(values.shape) != shape:
        raise ShapeError(
            f"must have one element for each point, {shape}.",
            op="histogramdd",
            argument="weight",
            got=f"weight.shape={values.shape}",
        )
    values = reshape(values, (-1,))
    is_inside: Any = ones((points,), dtype="bool")
    box: Any = zeros((points,), dtype="int64")
    edges = []
    for i, (kind, limit) in enumerate(zip(kinds, limits, strict=True)):
        edges.append(_edges(x[:, i], kind, limit))
        fits, place = _places(edges[i], x[:, i])
        is_inside, box = is_inside & fits, box * (edges[i].shape[0] - 1) + place
    shape = tuple(edge.shape[0] - 1 for edge in edges)
    total = math.prod(shape)
    places = where(is_inside, box, total)
    counts = summed(astype(values, dtype=x.dtype), places, total + 1)[:total]
    counts = reshape(counts, shape)
    if density:
        counts = counts / sum(counts)
        for i, edge in enumerate(edges):
            counts = counts / reshape(diff(edge), (-1, *[1] * (directions - 1 - i)))
    return counts, tuple(edges)


def _places(edges: Any, x: Any) -> tuple[Any, Any]:
    """Whether elements lie between the first and the last edge, and in which interval."""
    count = edges.shape[0] - 1
    place = searchsorted(edges, x, side="right") - 1
    is_inside = (x >= edges[0]) & (x <= edges[count])
    return is_inside, where(x == edges[count], count - 1, place)


def _edges(flat: Any, bins: Any, limits: Sequence[float] | None) -> Any:
    if not isinstance(bins, int | np.integer):
        edges = astype(as_tensor(bins), dtype=flat.dtype)
        if len(edges.shape) != 1 or edges.shape[0] < 2:
            raise ShapeError(
                "must be two or more.", op="histogram", argument="edges", got=f"shape {edges.shape}"
            )
        return edges
    if bins < 1:
        raise ParameterError("there must be at least one bin.", op="histogram", got=f"bins={bins}")
    if limits is not None:
        given = several("histogram", "range", limits, 2)
        low, high = (number("histogram", "range", limit) for limit in given)
    elif flat.shape[0]:
        low, high = min(flat).item(), max(flat).item()
    else:
        low, high = 0.0, 1.0
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ParameterError(
            "the range must be finite and in order.", op="histogram", got=f"{low}, {high}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=flat.dtype)
