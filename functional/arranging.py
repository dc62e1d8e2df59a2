"""Calls that arrange elements, composed of a few ops that do.

They choose between ops, or work out their attributes from shapes, which a declaration cannot say;
what they do on a tensor-like, gradients included, is what those ops do there. Most make views.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from ..imperative import (
    IndexRangeError,
    ParameterError,
    ShapeError,
    Size,
    Tensor,
    TensorBase,
    TensorLike,
    tensor,
)
from ..imperative.arrays import steady
from ..imperative.indexing import index_op
from ..imperative.sizes import as_size
from ..ops import Fill, Transpose
from .arguments import integer, makes, named, one_op
from .generated import (
    arange,
    broadcast_to,
    concat,
    gather,
    remainder,
    reshape,
)

__all__ = [
    "expand_dims",
    "flip",
    "moveaxis",
    "roll",
    "squeeze",
    "tile",
    "unstack",
]

_MOST = 2**58  # elements, as in the core
_MOST_DIMENSIONS = 64  # the same
_FEW_TIMES = 4  # that a tensor is written one by one
_WHOLE = slice(None)
_BACKWARDS = slice(None, None, -1)


def as_tensor(x: TensorLike) -> Any:
    """A tensor-like as it is, and anything else as a tensor.

    What a tensor-like written in Python says of itself is checked by the core here, once: callers
    read its shape and dtype.
    """
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, TensorBase):
        return tensor(x)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        Tensor(x).ndim  # noqa: B018  # raises unless they are a shape and a dtype
    return x


def axis_of(call: str, axis: Any, ndim: int) -> int:
    """The axis as a position from the front."""
    given = integer(call, "axis", axis)
    if not ndim:
        raise IndexRangeError(
            "a zero-dimensional tensor has no axis.", op=call, got=f"axis={given}"
        )
    if not -ndim <= given < ndim:
        raise IndexRangeError(
            f"must be in [{-ndim}, {ndim - 1}].", op=call, argument="axis", got=f"axis={given}"
        )
    return given % ndim


def is_several(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a sequence; an integer, as most are, is told apart soonest."""
    return type(value) is not int and isinstance(value, Sequence)


def dims_of(shape: Any) -> tuple[int, ...]:
    """The dimensions of a shape, which may be given as one size."""
    if type(shape) is int:
        return (shape,)
    if type(shape) is tuple and {*map(type, shape)} <= {int}:
        return shape
    is_text = isinstance(shape, bytes | bytearray | memoryview)  # whose items are integers, too
    dims = tuple(shape) if is_several(shape) and not is_text else (shape,)
    try:
        return tuple(as_size(dim) for dim in dims)
    except TypeError:
        got = ", ".join(type(dim).__name__ for dim in dims[:4])
        raise ParameterError("shape must be an integer or several.", got=got) from None


def filled(shape: Any, value: int, dtype: Any, device: str | None) -> Any:
    """The op that makes a tensor of one number; float32, where nothing is said."""
    wanted = "float32" if dtype is None else dtype
    return makes(Fill(shape=dims_of(shape), fill_value=value, dtype=wanted, device=device))


def axes_of(call: str, axis: Any, ndim: int) -> list[int]:
    """Several axes, or all for None, each once."""
    if type(axis) is int:
        return [axis_of(call, axis, ndim)]
    if axis is None:
        return list(range(ndim))
    given = axis if is_several(axis) else (axis,)
    axes = [axis_of(call, one, ndim) for one in given]
    if len(axes) > 1 and len(set(axes)) != len(axes):
        raise ShapeError("must differ.", op=call, argument="axes", got=f"{tuple(given)}")
    return axes


@one_op
def expand_dims(x: TensorLike, axis: int | Sequence[int] = 0) -> Tensor:
    """The tensor with new dimensions of size 1.

    Args:
        x: any shape, any dtype.
        axis: the positions of the new dimensions in the result.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: an axis is given twice.

    Source:
        Array API 2024.12, ``expand_dims``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.expand_dims(tl.tensor([1, 2]), axis=-1).shape
        (2, 1)
    """
    ndim = as_tensor(x).ndim + (len(axis) if is_several(axis) else 1)
    return index_op(_with_new(ndim, *axes_of("expand_dims", axis, ndim)))


@functools.cache
def _with_new(ndim: int, *axes: int) -> tuple[slice | None, ...]:
    """The key that adds these of so many dimensions."""
    return tuple(None if i in axes else _WHOLE for i in range(ndim))


@one_op
def squeeze(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without dimensions of size 1.

    Args:
        x: any shape, any dtype.
        axis: the dimensions to leave out; None leaves out all of size 1.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: a dimension is not of size 1, or named twice.

    Source:
        Array API 2024.12, ``squeeze``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.squeeze(tl.tensor([[[1], [2]]]), axis=0).shape
        (2, 1)
    """
    shape = as_tensor(x).shape
    axes = axes_of("squeeze", axis, len(shape))
    if axis is None:
        axes = [i for i in axes if shape[i] == 1]
    for i in axes:
        if shape[i] != 1:
            raise ShapeError(f"dimension {i} must have size 1.", op="squeeze", got=f"shape {shape}")
    return index_op(tuple([0 if i in axes else _WHOLE for i in range(len(shape))]))


@one_op
def moveaxis(
    x: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor:
    """The tensor with some dimensions in other places, the rest in their order.

    Args:
        x: any shape, any dtype.
        source: the dimensions to move.
        destination: where each of them goes.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: an axis is named twice, or the numbers of axes differ.

    Source:
        Array API 2024.12, ``moveaxis``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.moveaxis(tl.tensor([[[1, 2, 3]]]), 2, 0).shape
        (3, 1, 1)
    """
    ndim = len(as_tensor(x).shape)
    sources = axes_of("moveaxis", source, ndim)
    targets = axes_of("moveaxis", destination, ndim)
    if len(sources) != len(targets):
        raise ShapeError(
            "source and destination must be equally many.",
            op="moveaxis",
            got=f"{len(sources)} and {len(targets)}",
        )
    order = [i for i in range(ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return makes(Transpose(axes=tuple(order)))


@one_op
def flip(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """The elements in reverse order along dimensions.

    Args:
        x: any shape, any dtype.
        axis: the dimensions to reverse; None reverses all.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: an axis is named twice.

    Source:
        Array API 2024.12, ``flip``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.flip(tl.tensor([1, 2, 3])).tolist()
        [3, 2, 1]
    """
    key = [_WHOLE] * len(as_tensor(x).shape)
    for i in axes_of("flip", axis, len(key)):
        key[i] = _BACKWARDS
    return index_op(tuple(key))


@named
def roll(
    x: TensorLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None
) -> Tensor:
    """The elements moved along dimensions; those that leave at the end enter at the front.

    Args:
        x: any shape, any dtype.
        shift: by how many places, for each axis or for all.
        axis: the dimensions, which may be named repeatedly; None rolls the elements in C order.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there are not as many shifts as axes.

    Source:
        Array API 2024.12, ``roll``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.roll(tl.tensor([1, 2, 3]), shift=1).tolist()
        [3, 1, 2]
    """
    x = as_tensor(x)
    if axis is None:
        if isinstance(shift, Sequence):
            raise ShapeError("several shifts need as many axes.", op="roll", got="axis=None")
        return reshape(roll(reshape(x, (-1,)), shift, 0), tuple(x.shape))
    if type(axis) is int and type(shift) is int:
        return _rolled(x, shift, axis_of("roll", axis, len(x.shape)))
    axes = list(axis) if isinstance(axis, Sequence) else [axis]
    shifts = list(shift) if isinstance(shift, Sequence) else [shift] * len(axes)
    if len(axes) == 1:
        axes *= len(shifts)
    if len(shifts) != len(axes):
        raise ShapeError(
            "shift and axis must be equally many.", op="roll", got=f"{len(shifts)} and {len(axes)}"
        )
    total: dict[int, int] = {}
    for places, one in zip(shifts, axes, strict=True):
        i = axis_of("roll", one, len(x.shape))
        total[i] = total.get(i, 0) + as_size(places)
    for i, places in total.items():
        x = _rolled(x, places, i)
    return x


def _rolled(x: Any, places: int, axis: int) -> Any:
    size = x.shape[axis]
    if type(size) is not int:  # where the cut is, only a run knows
        index = remainder(arange(size) - places, size)
        return moveaxis(gather(x, index, axes=(axis,)), 0, axis)
    cut = (size - places) % size if size else 0
    if not cut:
        return x
    before = (_WHOLE,) * axis
    tail, head = (*before, slice(cut, None)), (*before, slice(None, cut))
    return concat([x[tail], x[head]], axis=axis)


def counts_of(call: str, counts: Any) -> list[int]:
    if type(counts) is tuple and all(type(count) is int and count >= 0 for count in counts):
        return list(counts)
    items = tuple(counts) if isinstance(counts, Sequence) else (counts,)
    if any(isinstance(count, Size) for count in items):
        return [integer(call, "repetitions", count, least=0) for count in items]
    given = np.asarray(steady(counts))
    if given.dtype.kind not in "iu" and given.size > 0:
        raise ShapeError("must be integers.", op=call, argument="repetitions", got=f"{given.dtype}")
    numbers = [int(count) for count in given.reshape(-1)]
    if any(count < 0 for count in numbers):
        raise ShapeError(
            "must not be negative.", op=call, argument="repetitions", got=f"{min(numbers)}"
        )
    return numbers


@named
def tile(x: TensorLike, repetitions: int | Sequence[int]) -> Tensor:
    """The tensor repeated as a whole, side by side.

    Args:
        x: any shape, any dtype.
        repetitions: how often along each dimension, the last ones where there are fewer.

    Raises:
        ShapeError: a number is negative, or the result would be too large.

    Source:
        Array API 2024.12, ``tile``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.tile(tl.tensor([1, 2]), 2).tolist()
        [1, 2, 1, 2]
    """
    x = as_tensor(x)
    counts = counts_of("tile", repetitions)
    if len(counts) > _MOST_DIMENSIONS:
        raise ShapeError(
            f"must be at most {_MOST_DIMENSIONS} numbers.", op="tile", argument="repetitions",
            got=f"{len(counts)}",
        )  # fmt: skip
    ndim = len(x.shape)
    are_known = not any(isinstance(count, Size) for count in counts)
    is_along_one = len(counts) == ndim and are_known and counts.count(1) == ndim - 1
    if is_along_one and 2 <= max(counts) <= _FEW_TIMES:
        return concat([x] * max(counts), axis=counts.index(max(counts)))
    ndim = max(ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
    sizes = [1] * (ndim - len(x.shape)) + list(x.shape)
    result = checked_shape("tile", [n * size for n, size in zip(counts, sizes, strict=True)])
    apart = [size for pair in zip(counts, sizes, strict=True) for size in pair]
    single = [size for i, size in enumerate(apart) for size in ([1] if i % 2 == 0 else [size])]
    return reshape(broadcast_to(reshape(x, tuple(single)), tuple(apart)), result)


def checked_shape(call: str, shape: Sequence[int]) -> tuple[int, ...]:
    if math.prod(size for size in shape if isinstance(size, int) and size) > _MOST:
        raise ShapeError("the result must not be too large.", op=call, got=f"shape {tuple(shape)}")
    return tuple(shape)


@named
def unstack(x: TensorLike, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of a tensor along an axis.

    Args:
        x: at least one dimension, any dtype.
        axis: the dimension that the results have no more.

    Raises:
        IndexRangeError: the axis is out of range.

    Source:
        Array API 2024.12, ``unstack``.

    Example:
        >>> import tensorlike as tl
        >>> [part.tolist() for part in tl.functional.unstack(tl.tensor([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    x = as_tensor(x)
    at = axis_of("unstack", axis, len(x.shape))
    before = (slice(None),) * at
    keys = [(*before, i) for i in range(x.shape[at])]
    return tuple(x[key] for key in keys)
