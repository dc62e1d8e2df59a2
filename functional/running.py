"""Along an axis: running extremes with their places, running integrals, slopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike, isdtype
from .algebra import diff
from .arguments import integer, named, several
from .arranging import as_tensor, axes_of, axis_of, moveaxis
from .generated import (
    arange,
    astype,
    broadcast_to,
    concat,
    cumulative_max,
    cumulative_min,
    cumulative_sum,
    isnan,
    sum,
    take_along_axis,
    where,
)
from .order_statistics import KthResult

__all__ = ["cummax", "cummin", "cumulative_trapezoid", "gradient", "trapezoid"]


def _running(call: str, x: TensorLike, axis: int, extreme: Any) -> KthResult:
    x = as_tensor(x)
    lines = moveaxis(x, axis_of(call, axis, len(x.shape)), -1)
    is_new = lines == extreme(lines, axis=-1)
    if isdtype(lines.dtype, "real floating"):
        is_new = is_new | isnan(lines)
    place = cumulative_max(where(is_new, arange(lines.shape[-1]), 0), axis=-1)
    values = take_along_axis(lines, place, axis=-1)
    return KthResult(moveaxis(values, -1, axis), moveaxis(place, -1, axis))


@named
def cummax(x: TensorLike, *, axis: int) -> KthResult:
    """The largest of the elements up to each one, and their positions along the axis.

    Args:
        x: at least one dimension, real numeric.
        axis: the axis to go along.

    Returns:
        ``(values, indices)`` of the shape of x: NaN once there was one; of equal ones the last.
        The elements chosen have the gradient.

    Raises:
        IndexRangeError: the axis is out of range.

    Source:
        PyTorch, ``torch.cummax``. The values alone: `cumulative_max`.

    Example:
        >>> import tensorlike as tl
        >>> values, indices = tl.functional.cummax(tl.tensor([1, 3, 2]), axis=0)
        >>> values.tolist(), indices.tolist()
        ([1, 3, 3], [0, 1, 1])
    """
    return _running("cummax", x, axis, cumulative_max)


@named
def cummin(x: TensorLike, *, axis: int) -> KthResult:
    """The smallest of the elements up to each one, and their positions along the axis.

    Args:
        x: at least one dimension, real numeric.
        axis: the axis to go along.

    Returns:
        ``(values, indices)`` of the shape of x: NaN once there was one; of equal ones the last.
        The elements chosen have the gradient.

    Raises:
        IndexRangeError: the axis is out of range.

    Source:
        PyTorch, ``torch.cummin``. The values alone: `cumulative_min`.

    Example:
        >>> import tensorlike as tl
        >>> values, indices = tl.functional.cummin(tl.tensor([3, 1, 2]), axis=0)
        >>> values.tolist(), indices.tolist()
        ([3, 1, 1], [0, 1, 1])
    """
    return _running("cummin", x, axis, cumulative_min)


def _pieces(call: str, y: TensorLike, x: TensorLike | None, dx: float, axis: int) -> Any:
    """The area between each two neighbours, along the last axis."""
    y = as_tensor(y)
    y = moveaxis(y, axis_of(call, axis, len(y.shape)), -1)
    steps: Any = dx
    if x is not None:
        places = as_tensor(x)
        if len(places.shape) > 1:
            places = moveaxis(places, axis, -1)
        if not places.shape or places.shape[-1] != y.shape[-1]:
            raise ShapeError(
                "must have a place for each value.",
                op=call,
                argument="x",
                got=f"{places.shape} and {y.shape}",
            )
        steps = diff(places)
    return (y[..., 1:] + y[..., :-1]) * 0.5 * steps


@named
def trapezoid(
    y: TensorLike, x: TensorLike | None = None, *, dx: float = 1.0, axis: int = -1
) -> Tensor:
    """The integral along an axis by the trapezoidal rule.

    Args:
        y: the values, at least one dimension, floating-point.
        x: their places: along the axis, or in the shape of y; None: `dx` apart.
        dx: the distance of values where x is None.
        axis: the dimension to integrate along.

    Raises:
        ShapeError: x does not fit y.
        IndexRangeError: the axis is out of range.

    Source:
        NumPy, ``numpy.trapezoid``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.trapezoid(tl.tensor([1.0, 2.0, 4.0])).item()
        4.5
    """
    return sum(_pieces("trapezoid", y, x, dx, axis), axis=-1)


@named
def cumulative_trapezoid(
    y: TensorLike, x: TensorLike | None = None, *, dx: float = 1.0, axis: int = -1
) -> Tensor:
    """The integrals along an axis, by the trapezoidal rule, up to each element but the first.

    Args:
        y: the values, at least one dimension, floating-point.
        x: their places: along the axis, or in the shape of y; None: `dx` apart.
        dx: the distance of values where x is None.
        axis: the dimension to integrate along.

    Returns:
        One tensor, by one shorter along the axis.

    Raises:
        ShapeError: x does not fit y.
        IndexRangeError: the axis is out of range.

    Source:
        PyTorch, ``torch.cumulative_trapezoid``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.cumulative_trapezoid(tl.tensor([1.0, 2.0, 4.0])).tolist()
        [1.5, 4.5]
    """
    pieces = _pieces("cumulative_trapezoid", y, x, dx, axis)
    return moveaxis(cumulative_sum(pieces, axis=-1), -1, axis)


@named
def gradient(
    x: TensorLike,
    *,
    spacing: float | TensorLike | Sequence[float | TensorLike] = 1.0,
    axis: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """The slopes of given values along axes, by differences of the second order.

    Args:
        x: the values, floating-point; edge_order + 1 elements or more along each axis.
        spacing: the distance of values, or their places in one dimension; of each axis or of all.
        axis: the axes to go along; None is all.
        edge_order: the order, 1 or 2, of the differences at both ends.

    Returns:
        A tensor of the shape of x for each axis.

    Raises:
        IndexRangeError: an axis is out of range.
        ParameterError: edge_order is neither 1 nor 2.
        ShapeError: there are not enough values, or not one place for each.

    Source:
        NumPy, ``numpy.gradient``; PyTorch, ``torch.gradient``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.gradient(tl.tensor([1.0, 2.0, 4.0, 7.0]))[0].tolist()
        [1.0, 1.5, 2.5, 3.0]
    """
    x = as_tensor(x)
    if not isdtype(x.dtype, ("real floating", "complex floating")):
        x = astype(x, dtype="float32")
    axes = axes_of("gradient", axis, len(x.shape))
    order = integer("gradient", "edge_order", edge_order)
    if order not in (1, 2):
        raise ParameterError(
            "must be 1 or 2.", op="gradient", argument="edge_order", got=f"edge_order={order}"
        )
    is_list = isinstance(spacing, Sequence) and not isinstance(spacing, str)
    given = several("gradient", "spacing", spacing if is_list else [spacing] * len(axes), len(axes))
    found = []
    for at, distance in zip(axes, given, strict=True):
        lines = moveaxis(x, at, -1)
        if lines.shape[-1] < order + 1:
            raise ShapeError(
                f"there must be {order + 1} values or more along an axis.",
                op="gradient",
                got=f"x.shape={x.shape} along axis {at}",
            )
        found.append(moveaxis(_slopes(lines, distance, order), -1, at))
    return tuple(found)


def _slopes(y: Any, distance: Any, order: int) -> Any:
    count = y.shape[-1]
    places = as_tensor(distance)
    if not places.shape:
        steps = broadcast_to(astype(places, dtype=y.dtype), (count - 1,))
    elif tuple(places.shape) == (count,):
        steps = astype(diff(places), dtype=y.dtype)
    else:
        raise ShapeError(
            f"must be one number, or {count} places.",
            op="gradient",
            argument="spacing",
            got=f"shape {places.shape}",
        )
    lines = diff(y) / steps
    # Between two neighbours the slopes of both sides, that of the nearer one weighing more.
    before, after = steps[:-1], steps[1:]
    inner = (lines[..., :-1] * after + lines[..., 1:] * before) / (before + after)
    first, last = lines[..., :1], lines[..., -1:]
    if order == 2:
        bends = (lines[..., 1:] - lines[..., :-1]) / (before + after)
        first = first - bends[..., :1] * steps[:1]
        last = last + bends[..., -1:] * steps[-1:]
    return concat([first, inner, last], axis=-1)
