"""Running extremes with their places, and running integrals."""

from __future__ import annotations

from typing import Any

from ..imperative import ShapeError, Tensor, TensorLike, isdtype
from .algebra import diff
from .arguments import named
from .arranging import as_tensor, axis_of, moveaxis
from .generated import (
    arange,
    cumulative_max,
    cumulative_min,
    cumulative_sum,
    isnan,
    sum,
    take_along_axis,
    where,
)
from .order_statistics import KthResult

__all__ = ["cummax", "cummin", "cumulative_trapezoid", "trapezoid"]


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
                f"{call}: x must have a place for each value; got {places.shape} and {y.shape}."
            )
        steps = diff(places)
    return (y[..., 1:] + y[..., :-1]) * 0.5 * steps


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
