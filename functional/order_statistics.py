"""What elements in their order say: medians, quantiles, the k-th smallest, the most frequent.

All sort along an axis and pick by number, so the gradient goes to the elements that were picked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..imperative import (
    IndexRangeError,
    ParameterError,
    ShapeError,
    Tensor,
    TensorBase,
    TensorLike,
    isdtype,
    tensor,
)
from .arguments import integer, named, number
from .arranging import as_tensor, axes_of, axis_of, expand_dims, moveaxis
from .creation import ones
from .generated import (
    arange,
    argmax,
    argsort,
    astype,
    broadcast_to,
    ceil,
    clip_between,
    concat,
    count_nonzero,
    cumulative_max,
    floor,
    full,
    isnan,
    logical_not,
    maximum,
    not_equal,
    permute_dims,
    reshape,
    sort,
    take_along_axis,
    topk,
    where,
)
from .picking import take

__all__ = ["kthvalue", "median", "mode", "nanmedian", "nanquantile", "quantile"]

_Axis = int | Sequence[int] | None
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


class KthResult(NamedTuple):
    """Elements, and their positions along the axis."""

    values: Tensor
    indices: Tensor


def in_lines(call: str, x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The elements to be reduced, in one last axis; and the shape of x with size 1 in its place."""
    axes = sorted(axes_of(call, axis, len(x.shape)))
    rest = [i for i in range(len(x.shape)) if i not in axes]
    count = math.prod(x.shape[i] for i in axes)
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    lines = permute_dims(x, (*rest, *axes)) if axes != list(range(len(rest), len(x.shape))) else x
    return reshape(lines, (*(x.shape[i] for i in rest), count)), shape


def _not_empty(call: str, lines: Any, given: Any) -> None:
    if not lines.shape[-1]:
        raise ShapeError("there must be an element to choose.", op=call, got=f"shape {given.shape}")


def _in_the_middle(lines: Any, last: Any) -> Any:
    """The element in the middle of the order of each line."""
    if type(last) is int:
        return _standing_at(lines, last // 2)
    return take(sort(lines, axis=-1), full((), last, dtype="int64") // 2, axis=-1)


def _standing_at(lines: Any, place: int) -> Any:
    """The element at a place of the order of each line, which needs no sorting of the others."""
    return topk(lines, 1, axis=-1, largest=False, skip=place)[0][..., 0]


def _middle(call: str, x: TensorLike, axis: _Axis, keepdims: bool, *, skips_nan: bool) -> Tensor:
    x = as_tensor(x)
    lines, kept = in_lines(call, x, axis)
    _not_empty(call, lines, x)
    last = lines.shape[-1] - 1
    may_be_nan = isdtype(x.dtype, "real floating")
    if may_be_nan and skips_nan:
        count = count_nonzero(logical_not(isnan(lines)), axis=-1, keepdims=True)
        ordered = sort(lines, axis=-1)
        found = take_along_axis(ordered, maximum(count - 1, 0) // 2, axis=-1)[..., 0]
    else:
        found = _in_the_middle(lines, last)
        if may_be_nan:
            largest = _standing_at(lines, last)  # NaN, if there is one
            found = where(isnan(largest), largest, found)
    return reshape(found, kept) if keepdims else found


@named
def median(x: TensorLike, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The element in the middle of the order; the lower one of two.

    Args:
        x: any shape, real numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of the dtype of x, NaN where an element is. The element chosen has the gradient.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there is no element, or an axis is named twice.

    Source:
        PyTorch, ``torch.median``. For the mean of two in the middle: ``quantile(x, 0.5)``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.median(tl.tensor([4.0, 1.0, 3.0, 2.0])).item()
        2.0
    """
    return _middle("median", x, axis, keepdims, skips_nan=False)


@named
def nanmedian(x: TensorLike, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The element in the middle of the order of those that are numbers; the lower one of two.

    Args:
        x: any shape, real numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of the dtype of x, NaN where all elements are.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there is no element, or an axis is named twice.

    Source:
        PyTorch, ``torch.nanmedian``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanmedian(tl.tensor([4.0, float("nan"), 3.0])).item()
        3.0
    """
    return _middle("nanmedian", x, axis, keepdims, skips_nan=True)


def _ranks(call: str, q: Any, dtype: Any) -> Any:
    """The shares as a tensor of no or one dimension; numbers are checked, tensors are clipped."""
    if not isinstance(q, TensorBase):
        for share in q if isinstance(q, Sequence) else (q,):
            number(call, "q", share, least=0.0, most=1.0)
        q = tensor(q, dtype=dtype)
    if len(q.shape) > 1:
        raise ShapeError(
            "must have one dimension at most.", op=call, argument="q", got=f"q.shape={q.shape}"
        )
    return astype(q, dtype=dtype)


def _quantile(
    call: str, x: Any, q: Any, axis: _Axis, keepdims: bool, interpolation: str, *, skips_nan: bool
) -> Tensor:
    if interpolation not in _INTERPOLATIONS:
        words = ", ".join(repr(word) for word in _INTERPOLATIONS)
        raise ParameterError(
            f"must be one of {words}.", op=call, argument="interpolation", got=repr(interpolation)
        )
    x = as_tensor(x)
    if not isdtype(x.dtype, "real floating"):
        x = astype(x, dtype="float32")
    lines, kept = in_lines(call, x, axis)
    _not_empty(call, lines, x)
    shares = _ranks(call, q, "float64")
    ordered = sort(lines, axis=-1)
    count = count_nonzero(logical_not(isnan(lines)), axis=-1, keepdims=True)
    most = maximum(count - 1, 0) if skips_nan else ordered.shape[-1] - 1
    several = reshape(shares, (1,) * (len(lines.shape) - 1) + (-1,))
    place = clip_between(several, 0.0, 1.0) * most
    place = broadcast_to(place, (*lines.shape[:-1], several.shape[-1]))
    found = _between(ordered, place, interpolation)
    if not skips_nan:
        found = where(count < ordered.shape[-1], math.nan, found)
    found = where((several >= 0) & (several <= 1), found, math.nan)
    found = moveaxis(found, -1, 0)
    if keepdims:
        found = reshape(found, (found.shape[0], *kept))
    return found if len(shares.shape) else found[0]


def _between(ordered: Any, place: Any, interpolation: str) -> Any:
    """What stands at places that are no whole numbers, along the last axis."""
    if interpolation == "nearest":
        half = place - floor(place) == 0.5  # of two as near, the even one
        up = floor(place + 0.5) - where(half & (floor(place + 0.5) % 2 == 1), 1, 0)
        return take_along_axis(ordered, astype(up, dtype="int64"), axis=-1)
    below, above = astype(floor(place), dtype="int64"), astype(ceil(place), dtype="int64")
    if interpolation == "lower":
        return take_along_axis(ordered, below, axis=-1)
    high = take_along_axis(ordered, above, axis=-1)
    if interpolation == "higher":
        return high
    low = take_along_axis(ordered, below, axis=-1)
    share = place - floor(place) if interpolation == "linear" else where(above > below, 0.5, 0.0)
    share = astype(share, dtype=ordered.dtype)
    # From the nearer end, so that the ends come out exactly; infinite ends have no difference.
    is_flat = low == high
    width = where(is_flat, 0, high - low)
    mixed = where(share < 0.5, low + share * width, high - (1 - share) * width)
    return where(is_flat | (share == 0), low, mixed)


@named
def quantile(
    x: TensorLike,
    q: float | Sequence[float] | TensorLike,
    *,
    axis: _Axis = None,
    keepdims: bool = False,
    interpolation: str = "linear",
) -> Tensor:
    """The values below which shares of the elements lie.

    Args:
        x: any shape, real numeric; integers become float32.
        q: the shares, from 0 to 1: one number, or several in one dimension.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.
        interpolation: between two elements, "linear", "lower", "higher", "midpoint" or "nearest".

    Returns:
        One tensor, NaN where an element is; several q stand in its first dimension.

    Raises:
        IndexRangeError: an axis is out of range.
        ParameterError: a share is beyond 0 or 1, or interpolation is another word.
        ShapeError: there is no element, q has more dimensions, or an axis is named twice.

    Source:
        PyTorch, ``torch.quantile``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.quantile(tl.tensor([4.0, 1.0, 3.0, 2.0]), [0.0, 0.5]).tolist()
        [1.0, 2.5]
    """
    return _quantile("quantile", x, q, axis, keepdims, interpolation, skips_nan=False)


@named
def nanquantile(
    x: TensorLike,
    q: float | Sequence[float] | TensorLike,
    *,
    axis: _Axis = None,
    keepdims: bool = False,
    interpolation: str = "linear",
) -> Tensor:
    """The values below which shares of those elements lie that are numbers.

    Args:
        x: any shape, real numeric; integers become float32.
        q: the shares, from 0 to 1: one number, or several in one dimension.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.
        interpolation: between two elements, "linear", "lower", "higher", "midpoint" or "nearest".

    Returns:
        One tensor, NaN where all elements are; several q stand in its first dimension.

    Raises:
        IndexRangeError: an axis is out of range.
        ParameterError: a share is beyond 0 or 1, or interpolation is another word.
        ShapeError: there is no element, q has more dimensions, or an axis is named twice.

    Source:
        PyTorch, ``torch.nanquantile``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanquantile(tl.tensor([4.0, float("nan"), 3.0]), 0.5).item()
        3.5
    """
    return _quantile("nanquantile", x, q, axis, keepdims, interpolation, skips_nan=True)


def _picked(x: Any, index: Any, at: int, keepdims: bool) -> KthResult:
    """The elements of x that an index, of size 1 along the axis, points to."""
    return _found(take_along_axis(x, index, axis=at), index, at, keepdims)


def _found(values: Any, index: Any, at: int, keepdims: bool) -> KthResult:
    """Values and their positions, of size 1 along the axis."""
    if keepdims:
        return KthResult(values, index)
    first = (*(slice(None),) * at, 0)
    return KthResult(values[first], index[first])


@named
def kthvalue(x: TensorLike, k: int, *, axis: int = -1, keepdims: bool = False) -> KthResult:
    """The k-th smallest elements along an axis, and their positions.

    Args:
        x: at least one dimension, real numeric; NaN is the largest value.
        k: which one; 1 is the smallest.
        axis: the axis to reduce.
        keepdims: keep it with size 1.

    Returns:
        ``(values, indices)``; of equal elements the first ones count as smaller.

    Raises:
        IndexRangeError: the axis, or k, is out of range.

    Source:
        PyTorch, ``torch.kthvalue``.

    Example:
        >>> import tensorlike as tl
        >>> values, indices = tl.functional.kthvalue(tl.tensor([4.0, 1.0, 3.0]), 2)
        >>> values.item(), indices.item()
        (3.0, 2)
    """
    x, k = as_tensor(x), integer("kthvalue", "k", k)
    at = axis_of("kthvalue", axis, len(x.shape))
    if not 1 <= k <= x.shape[at]:
        raise IndexRangeError(
            f"must be in [1, {x.shape[at]}].", op="kthvalue", argument="k", got=f"k={k}"
        )
    values, index = topk(x, 1, axis=at, largest=False, skip=k - 1)
    return _found(values, index, at, keepdims)


@named
def mode(x: TensorLike, *, axis: int = -1, keepdims: bool = False) -> KthResult:
    """The most frequent elements along an axis, the smallest of equally many, and their positions.

    Args:
        x: at least one dimension, real numeric; NaN is the largest value, and equals no other.
        axis: the axis to reduce.
        keepdims: keep it with size 1.

    Returns:
        ``(values, indices)``; the positions are those of the last of each.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: there is no element.

    Source:
        PyTorch, ``torch.mode``.

    Example:
        >>> import tensorlike as tl
        >>> values, indices = tl.functional.mode(tl.tensor([3, 1, 3, 2]))
        >>> values.item(), indices.item()
        (3, 2)
    """
    x = as_tensor(x)
    at = axis_of("mode", axis, len(x.shape))
    lines = moveaxis(x, at, -1)
    _not_empty("mode", lines, x)
    order = argsort(lines, axis=-1)
    ordered = take_along_axis(lines, order, axis=-1)
    # How many equal ones stand before each; the run that gets longest first is the answer.
    place = arange(lines.shape[-1])
    starts = concat(
        [
            ones((*lines.shape[:-1], 1), dtype="bool"),
            not_equal(ordered[..., 1:], ordered[..., :-1]),
        ],
        axis=-1,
    )
    length = place - cumulative_max(where(starts, place, 0), axis=-1)
    best = take_along_axis(order, expand_dims(argmax(length, axis=-1), -1), axis=-1)
    return _picked(x, moveaxis(best, -1, at), at, keepdims)
