"""Elements written into a tensor by index: added, combined, or in place of what stood there."""

from __future__ import annotations

from typing import Any

from ..imperative import (
    DTypeError,
    ParameterError,
    ShapeError,
    Tensor,
    TensorLike,
    isdtype,
    stop_gradient,
)
from .arguments import named
from .arranging import as_tensor, axis_of, moveaxis
from .creation import ones_like, zeros_like
from .generated import (
    argsort,
    astype,
    broadcast_to,
    concat,
    equal,
    isinf,
    maximum,
    minimum,
    multiply,
    negative,
    put_along_axis,
    reshape,
    scatter_add,
    scatter_set,
    take_along_axis,
    where,
)
from .promotion import result_type

__all__ = ["index_add", "index_copy", "index_fill", "index_reduce", "put", "scatter_reduce"]

_MODES = ("sum", "prod", "mean", "amax", "amin")


def _indexed(call: str, x: Any, indices: Any, value: Any, axis: int) -> tuple[int, Any]:
    """The axis, and the value with its slices in front."""
    at = axis_of(call, axis, len(x.shape))
    if len(indices.shape) > 1 or not isdtype(indices.dtype, "integral"):
        raise (ShapeError if len(indices.shape) > 1 else DTypeError)(
            f"{call}: indices must be integers in one dimension; got shape {indices.shape} of "
            f"{indices.dtype.name}."
        )
    wanted = (*x.shape[:at], *indices.shape, *x.shape[at + 1 :])
    if tuple(value.shape) != wanted and value.shape:
        got = f"value.shape={value.shape}, not {wanted}"
        raise ShapeError("must have a slice for each index.", op=call, argument="value", got=got)
    if not value.shape:
        return at, broadcast_to(value, (*indices.shape, *x.shape[:at], *x.shape[at + 1 :]))
    return at, moveaxis(value, at, 0) if indices.shape else value


@named
def index_add(
    x: TensorLike, indices: TensorLike, value: TensorLike, *, axis: int, alpha: Any = 1
) -> Tensor:
    """The tensor with slices added to those that indices point to; equal ones add up.

    Args:
        x: at least one dimension, numeric.
        indices: one dimension, integer.
        value: a slice for each index, along the axis; or one number.
        axis: the dimension that the indices point into.
        alpha: what the value is multiplied by.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        DTypeError: the indices are not integer.
        IndexRangeError: an index, or the axis, is out of range.
        ShapeError: there is not one slice for each index.

    Source:
        PyTorch, ``torch.index_add``.

    Example:
        >>> import tensorlike as tl
        >>> x, indices = tl.tensor([1, 2, 3]), tl.tensor([0, 0])
        >>> tl.functional.index_add(x, indices, tl.tensor([10, 20]), axis=0).tolist()
        [31, 2, 3]
    """
    x, indices, value = as_tensor(x), as_tensor(indices), as_tensor(value)
    at, slices = _indexed("index_add", x, indices, value, axis)
    scaled = slices if isinstance(alpha, int) and alpha == 1 else slices * alpha
    return scatter_add(x, astype(scaled, dtype=x.dtype), indices, axes=(at,))


@named
def index_copy(x: TensorLike, indices: TensorLike, value: TensorLike, *, axis: int) -> Tensor:
    """The tensor with slices in place of those that indices point to; of equal ones the last.

    Args:
        x: at least one dimension, any dtype.
        indices: one dimension, integer.
        value: a slice for each index, along the axis; or one number.
        axis: the dimension that the indices point into.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        DTypeError: the indices are not integer.
        IndexRangeError: an index, or the axis, is out of range.
        ShapeError: there is not one slice for each index.

    Source:
        PyTorch, ``torch.index_copy``.

    Example:
        >>> import tensorlike as tl
        >>> x, indices = tl.tensor([1, 2, 3]), tl.tensor([2, 0])
        >>> tl.functional.index_copy(x, indices, tl.tensor([10, 20]), axis=0).tolist()
        [20, 2, 10]
    """
    x, indices, value = as_tensor(x), as_tensor(indices), as_tensor(value)
    at, slices = _indexed("index_copy", x, indices, value, axis)
    return scatter_set(x, slices, indices, axes=(at,))


@named
def index_fill(x: TensorLike, indices: TensorLike, value: TensorLike, *, axis: int) -> Tensor:
    """The tensor with one number in all slices that indices point to.

    Args:
        x: at least one dimension, any dtype.
        indices: one dimension, integer.
        value: the number.
        axis: the dimension that the indices point into.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        DTypeError: the indices are not integer.
        IndexRangeError: an index, or the axis, is out of range.
        ShapeError: the value is more than one number.

    Source:
        PyTorch, ``torch.index_fill``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.index_fill(tl.tensor([1, 2, 3]), tl.tensor([0, 2]), 7, axis=0).tolist()
        [7, 2, 7]
    """
    value = as_tensor(value)
    if value.shape:
        raise ShapeError("value must be one number.", op="index_fill", got=f"shape {value.shape}")
    return index_copy(x, indices, value, axis=axis)


@named
def index_reduce(
    x: TensorLike,
    indices: TensorLike,
    value: TensorLike,
    *,
    axis: int,
    mode: str,
    include_self: bool = True,
) -> Tensor:
    """The tensor with slices combined with those that indices point to.

    Args:
        x: at least one dimension, real numeric.
        indices: one dimension, integer.
        value: a slice for each index, along the axis.
        axis: the dimension that the indices point into.
        mode: "sum", "prod", "mean", "amax" or "amin".
        include_self: combine with what stands in x, rather than put in its place.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        DTypeError: the indices are not integer.
        IndexRangeError: an index, or the axis, is out of range.
        ParameterError: the mode is another word.
        ShapeError: there is not one slice for each index.

    Source:
        PyTorch, ``torch.index_reduce``.

    Example:
        >>> import tensorlike as tl
        >>> x, indices, value = tl.tensor([1, 2]), tl.tensor([0, 0]), tl.tensor([3, 4])
        >>> tl.functional.index_reduce(x, indices, value, axis=0, mode="prod").tolist()
        [12, 2]
    """
    x, indices, value = as_tensor(x), as_tensor(indices), as_tensor(value)
    at, slices = _indexed("index_reduce", x, indices, value, axis)
    wide = moveaxis(slices, 0, at) if indices.shape else slices
    column = (1,) * at + (-1,) + (1,) * (len(x.shape) - at - 1)
    return scatter_reduce(
        x, reshape(indices, column), wide, axis=at, mode=mode, include_self=include_self
    )


@named
def put(
    x: TensorLike, indices: TensorLike, value: TensorLike, *, accumulate: bool = False
) -> Tensor:
    """The tensor with elements, numbered in C order, replaced or added to.

    Args:
        x: any shape, any dtype.
        indices: any shape, integer; negative ones count from the end.
        value: an element for each index, or one for all.
        accumulate: add to what stands there; else of equal indices the last counts.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        DTypeError: the indices are not integer.
        IndexRangeError: an index is out of range.
        ShapeError: there is not one element for each index.

    Source:
        PyTorch, ``torch.Tensor.put``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[1, 2], [3, 4]])
        >>> tl.functional.put(x, tl.tensor([0, -1]), tl.tensor([7, 8])).tolist()
        [[7, 2], [3, 8]]
    """
    x, indices, value = as_tensor(x), as_tensor(indices), as_tensor(value)
    places, values = reshape(indices, (-1,)), reshape(value, (-1,)) if value.shape else value
    write = index_add if accumulate else index_copy
    return reshape(write(reshape(x, (-1,)), places, values, axis=0), tuple(x.shape))


@named
def scatter_reduce(
    x: TensorLike,
    indices: TensorLike,
    value: TensorLike,
    *,
    axis: int = -1,
    mode: str = "sum",
    include_self: bool = True,
) -> Tensor:
    """The tensor with elements combined with those that `take_along_axis` would pick.

    Args:
        x: at least one dimension, real numeric ("sum", "mean" and "prod": numeric).
        indices: an index along the axis for each element of the value; both broadcast.
        value: the elements, of the dtype of x.
        axis: the dimension that the indices point into.
        mode: "sum", "prod", "mean", "amax" or "amin".
        include_self: combine with what stands in x, rather than put in its place.

    Returns:
        One tensor of the shape and dtype of x. Equal extremes share the gradient; the mean of
        integers is rounded down.

    Raises:
        DTypeError: the dtype of the value does not fit.
        IndexRangeError: an index, or the axis, is out of range.
        ParameterError: the mode is another word.
        ShapeError: the shapes do not fit.

    Source:
        PyTorch, ``torch.scatter_reduce``.

    Example:
        >>> import tensorlike as tl
        >>> x, indices, value = tl.tensor([1, 2]), tl.tensor([0, 0]), tl.tensor([3, 4])
        >>> tl.functional.scatter_reduce(x, indices, value, mode="amax").tolist()
        [4, 2]
    """
    call = "scatter_reduce"
    if mode not in _MODES:
        words = ", ".join(repr(word) for word in _MODES)
        raise ParameterError(f"must be one of {words}.", op=call, argument="mode", got=repr(mode))
    x, indices, value = as_tensor(x), as_tensor(indices), as_tensor(value)
    at = axis_of(call, axis, len(x.shape))
    if result_type(x, value) is not x.dtype:
        raise DTypeError(
            f"must fit {x.dtype.name}.", op=call, argument="value", got=value.dtype.name
        )
    if mode in ("amax", "amin") and isdtype(x.dtype, "complex floating"):
        raise DTypeError(f"{mode} needs real numbers.", op=call, got=x.dtype.name)
    indices, value = _matched(x, indices, astype(value, dtype=x.dtype), at)
    return _REDUCED[mode](x, indices, value, at, include_self)


def _matched(x: Any, indices: Any, value: Any, at: int) -> tuple[Any, Any]:
    """Index and value in one shape: that of x, but for the axis."""
    if len(indices.shape) != len(x.shape):
        got = f"shape {indices.shape} and x.shape={x.shape}"
        raise ShapeError("indices must have the dimensions of x.", op="scatter_reduce", got=got)
    count = indices.shape[at]
    # A size that is not known is that of both: it is never 1 where shapes broadcast.
    if type(count) is int and count == 1 and len(value.shape) == len(x.shape):
        count = value.shape[at]
    shape = (*x.shape[:at], count, *x.shape[at + 1 :])
    return broadcast_to(indices, shape), broadcast_to(value, shape)


def _touched(x: Any, indices: Any, at: int) -> Any:
    """How often each element of x is pointed to."""
    return put_along_axis(
        zeros_like(x, dtype="int64"), indices, ones_like(indices, dtype="int64"),
        axis=at, mode="add",
    )  # fmt: skip


def _base(x: Any, indices: Any, at: int, include_self: bool) -> Any:
    return x if include_self else where(_touched(x, indices, at) > 0, 0, x)


def _sum(x: Any, indices: Any, value: Any, at: int, include_self: bool) -> Any:
    base = _base(x, indices, at, include_self)
    return put_along_axis(base, indices, value, axis=at, mode="add")


def _mean(x: Any, indices: Any, value: Any, at: int, include_self: bool) -> Any:
    count = maximum(_touched(x, indices, at) + (1 if include_self else 0), 1)
    total = _sum(x, indices, value, at, include_self)
    if isdtype(x.dtype, "integral"):
        return total // astype(count, dtype=x.dtype)
    return total / astype(count, dtype=total.dtype)


def _prod(x: Any, indices: Any, value: Any, at: int, include_self: bool) -> Any:
    """Products of runs of one index, by doubling: the last element of a run has them all."""
    order = argsort(indices, axis=at)
    ids = moveaxis(take_along_axis(indices, order, axis=at), at, -1)
    found = moveaxis(take_along_axis(value, order, axis=at), at, -1)
    count, step = ids.shape[-1], 1
    while step < count:
        is_same = equal(ids[..., step:], ids[..., :-step])
        grown = where(is_same, multiply(found[..., step:], found[..., :-step]), found[..., step:])
        found = concat([found[..., :step], grown], axis=-1)
        step *= 2
    ones = ones_like(x)
    places, found = moveaxis(ids, -1, at), moveaxis(found, -1, at)
    product = put_along_axis(ones, places, found, axis=at, mode="set")
    if include_self:
        return x * product
    return where(_touched(x, indices, at) > 0, product, x)


def _extreme(is_largest: bool) -> Any:
    def combined(x: Any, indices: Any, value: Any, at: int, include_self: bool) -> Any:
        constants = stop_gradient((x, value))
        found = _found(constants[0], constants[1], indices, at, include_self, is_largest)
        if not isdtype(x.dtype, "real floating"):
            return found
        # The elements that are the extreme, in equal parts: what the gradient goes by.
        is_it = equal(value, take_along_axis(found, indices, axis=at))
        touched = _touched(x, indices, at) > 0
        own = equal(x, found) if include_self else ~touched
        zero = zeros_like(found)
        count = put_along_axis(
            astype(own, dtype=x.dtype), indices, astype(is_it, dtype=x.dtype), axis=at, mode="add"
        )
        count = maximum(count, 1)
        mine = where(is_it, value / take_along_axis(count, indices, axis=at), 0)
        parts = put_along_axis(where(own, x / count, zero), indices, mine, axis=at, mode="add")
        # The value itself is not touched by the rounding of that division.
        same = found + (parts - stop_gradient(parts))
        return where(isinf(found), parts, same)

    return combined


def _found(x: Any, value: Any, indices: Any, at: int, include_self: bool, is_largest: bool) -> Any:
    """Written in rising order, the last one stays; NaN comes last in any case."""
    if is_largest or isdtype(value.dtype, "integral"):
        order = argsort(value, axis=at, descending=not is_largest)
    else:
        order = argsort(negative(value), axis=at)
    places = take_along_axis(indices, order, axis=at)
    ordered = take_along_axis(value, order, axis=at)
    written = put_along_axis(x, places, ordered, axis=at, mode="set")
    if not include_self:
        return written
    # Where nothing is written, it is x itself.
    return (maximum if is_largest else minimum)(written, x)


_REDUCED = {
    "sum": _sum,
    "mean": _mean,
    "prod": _prod,
    "amax": _extreme(True),
    "amin": _extreme(False),
}
