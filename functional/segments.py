"""Calls that gather elements into groups: segments of rows, numbers that are counted."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..imperative import (
    DTypeError,
    IndexRangeError,
    ShapeError,
    Size,
    Tensor,
    TensorLike,
    isdtype,
)
from .arguments import elements, integer, named
from .arranging import as_tensor, checked_shape
from .creation import ones, zeros
from .generated import (
    argsort,
    astype,
    broadcast_to,
    concat,
    cumulative_sum,
    max,
    maximum,
    reshape,
    scatter_add,
    take_along_axis,
    where,
)
from .picking import take

__all__ = [
    "bincount",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
]


def _segments(call: str, x: Any, segment_ids: Any, num_segments: int | None) -> tuple[int, bool]:
    """The number of segments, after checks of what can be wrong; whether no id is negative."""
    if not x.shape or tuple(segment_ids.shape) != (x.shape[0],):
        raise ShapeError(
            "must have one element for each row of x.",
            op=call,
            argument="segment_ids",
            got=f"segment_ids.shape={segment_ids.shape} and x.shape={x.shape}",
        )
    if not isdtype(segment_ids.dtype, "integral"):
        raise DTypeError(
            "must be integer.", op=call, argument="segment_ids", got=segment_ids.dtype.name
        )
    if num_segments is not None:
        count = integer(call, "num_segments", num_segments)
    else:
        count = int(max(segment_ids).item()) + 1 if x.shape[0] else 0
    if count < 0:
        raise IndexRangeError(
            "there must be no negative number of segments.", op=call, got=f"{count}"
        )
    ids = elements(segment_ids)
    if ids is not None and ids.size > 0 and (lowest := ids.min()) < 0:
        raise IndexRangeError(
            "must not be negative.", op=call, argument="segment_ids", got=f"{lowest}"
        )
    checked_shape(call, [count, *x.shape[1:]])
    return count, ids is not None


def summed(x: Any, segment_ids: Any, count: int, are_known: bool = False) -> Any:
    """The sums of the rows of each segment. A negative number does not count from the end.

    ``are_known``: none is negative.
    """
    if not are_known and isdtype(segment_ids.dtype, "signed integer"):
        wide = astype(segment_ids, dtype="int64")
        segment_ids = where(wide < 0, count, wide)  # which is out of range
    # One zero, seen as many: it is written once, into the result.
    empty = broadcast_to(zeros((), dtype=x.dtype), (count, *x.shape[1:]))
    return scatter_add(empty, x, segment_ids, axes=(0,))


def _sizes(segment_ids: Any, count: int, are_known: bool) -> Any:
    """How many rows each segment has."""
    return summed(ones(segment_ids.shape, dtype="int64"), segment_ids, count, are_known)


@named
def segment_sum(x: TensorLike, segment_ids: TensorLike, num_segments: int | None = None) -> Tensor:
    """The sums of the rows of each segment; 0 for a segment without rows.

    Args:
        x: (rows, ...), numeric.
        segment_ids: (rows,), integer: which segment each row belongs to, in any order.
        num_segments: the number of segments; None finds it in segment_ids.

    Raises:
        ShapeError: there is not one number for each row.
        DTypeError: segment_ids are not integer.
        IndexRangeError: a segment's number is out of range.

    Source:
        JAX, ``jax.ops.segment_sum``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.segment_sum(tl.tensor([1.0, 2.0, 4.0]), tl.tensor([0, 1, 0])).tolist()
        [5.0, 2.0]
    """
    x, segment_ids = as_tensor(x), as_tensor(segment_ids)
    return summed(x, segment_ids, *_segments("segment_sum", x, segment_ids, num_segments))


@named
def segment_mean(x: TensorLike, segment_ids: TensorLike, num_segments: int | None = None) -> Tensor:
    """The means of the rows of each segment; 0 for a segment without rows.

    Args:
        x: (rows, ...), floating-point.
        segment_ids: (rows,), integer: which segment each row belongs to, in any order.
        num_segments: the number of segments; None finds it in segment_ids.

    Raises:
        ShapeError: there is not one number for each row.
        DTypeError: segment_ids are not integer.
        IndexRangeError: a segment's number is out of range.

    Source:
        TensorFlow, ``tf.math.unsorted_segment_mean``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.segment_mean(tl.tensor([1.0, 2.0, 4.0]), tl.tensor([0, 1, 0])).tolist()
        [2.5, 2.0]
    """
    x, segment_ids = as_tensor(x), as_tensor(segment_ids)
    count, are_known = _segments("segment_mean", x, segment_ids, num_segments)
    rows = maximum(_sizes(segment_ids, count, are_known), 1)
    total = summed(x, segment_ids, count, are_known)
    return total / reshape(rows, (count, *([1] * (len(x.shape) - 1))))


@named
def segment_max(x: TensorLike, segment_ids: TensorLike, num_segments: int | None = None) -> Tensor:
    """The largest elements of each segment; the lowest number for a segment without rows.

    Args:
        x: (rows, ...), real numeric.
        segment_ids: (rows,), integer: which segment each row belongs to, in any order.
        num_segments: the number of segments; None finds it in segment_ids.

    Returns:
        One tensor; NaN where there is one in the segment, and of equal ones the last has the
        gradient.

    Raises:
        ShapeError: there is not one number for each row.
        DTypeError: segment_ids are not integer.
        IndexRangeError: a segment's number is out of range.

    Source:
        JAX, ``jax.ops.segment_max``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.segment_max(tl.tensor([1.0, 2.0, 4.0]), tl.tensor([0, 1, 0])).tolist()
        [4.0, 2.0]
    """
    return _extreme("segment_max", x, segment_ids, num_segments, is_largest=True)


@named
def segment_min(x: TensorLike, segment_ids: TensorLike, num_segments: int | None = None) -> Tensor:
    """The smallest elements of each segment; the highest number for a segment without rows.

    Args:
        x: (rows, ...), real numeric.
        segment_ids: (rows,), integer: which segment each row belongs to, in any order.
        num_segments: the number of segments; None finds it in segment_ids.

    Returns:
        One tensor; NaN where the segment holds nothing else, and of equal ones the first has the
        gradient.

    Raises:
        ShapeError: there is not one number for each row.
        DTypeError: segment_ids are not integer.
        IndexRangeError: a segment's number is out of range.

    Source:
        JAX, ``jax.ops.segment_min``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.segment_min(tl.tensor([1.0, 2.0, 4.0]), tl.tensor([0, 1, 0])).tolist()
        [1.0, 2.0]
    """
    return _extreme("segment_min", x, segment_ids, num_segments, is_largest=False)


def _extreme(
    call: str, given: TensorLike, ids: Any, num_segments: int | None, *, is_largest: bool
) -> Tensor:
    """Sorted by value and then, stably, by segment, the extremes stand at the segments' ends."""
    x, ids = as_tensor(given), as_tensor(ids)
    count, are_known = _segments(call, x, ids, num_segments)
    if isdtype(x.dtype, "real floating"):
        empty = -np.inf if is_largest else np.inf
    else:
        info = np.iinfo(x.dtype.name)
        empty = info.min if is_largest else info.max
    may_be_empty = isinstance(x.shape[0], Size)
    if not may_be_empty and not x.shape[0]:
        return zeros((count, *x.shape[1:]), dtype=x.dtype) + empty
    known = elements(ids)
    if known is not None and known.size > 0 and (highest := known.max()) >= count:
        raise IndexRangeError(
            f"must be in [0, {count - 1}].", op=call, argument="segment_ids", got=f"{highest}"
        )
    sizes = _sizes(ids, count, are_known)
    if may_be_empty:  # one row more, which no segment has
        x = concat([x, zeros((1, *x.shape[1:]), dtype=x.dtype) + empty])
        ids = concat([astype(ids, dtype="int64"), zeros((1,), dtype="int64") + count])
    by_value = argsort(x, axis=0)
    by_segment = argsort(take(ids, by_value), axis=0)
    order = take_along_axis(by_value, by_segment, axis=0)
    ends = cumulative_sum(sizes)
    place = ends - 1 if is_largest else ends - sizes
    place = where(sizes > 0, place, 0)
    found = take_along_axis(x, take(order, place, 0), axis=0)
    is_there = reshape(sizes > 0, (count, *([1] * (len(x.shape) - 1))))
    return where(is_there, found, empty)


@named
def bincount(x: TensorLike, weights: TensorLike | None = None, *, minlength: int = 0) -> Tensor:
    """How often each number from 0 up occurs, or the sums of the weights of each.

    Args:
        x: one dimension, not negative, integer.
        weights: one for each element, numeric.
        minlength: the least number of counts.

    Raises:
        ShapeError: x has not one dimension, or weights another size.
        DTypeError: x is not integer.
        IndexRangeError: a number is negative.

    Source:
        NumPy, ``numpy.bincount``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.bincount(tl.tensor([1, 3, 1])).tolist()
        [0, 2, 0, 1]
    """
    x, least = as_tensor(x), integer("bincount", "minlength", minlength)
    if len(x.shape) != 1:
        raise ShapeError(
            "must have one dimension.", op="bincount", argument="x", got=f"shape {x.shape}"
        )
    values = ones(x.shape, dtype="int64") if weights is None else as_tensor(weights)
    _, are_known = _segments("bincount", values, x, 0)
    count = int(max(x).item()) + 1 if x.shape[0] else 0
    return summed(values, x, builtins.max(count, least), are_known)
