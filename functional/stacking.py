"""Calls that join tensors by rows, columns and layers, cut them into equal parts, and bring them to
one shape."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ..imperative import ParameterError, ShapeError, Size, Tensor, TensorLike
from .arguments import integer, named, several
from .arranging import as_tensor, axis_of
from .generated import broadcast_to, concat, reshape
from .promotion import broadcast_shapes

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "chunk",
    "column_stack",
    "dstack",
    "hstack",
    "tensor_split",
    "vstack",
]

_MOST_PARTS = 2**20  # each is a tensor of its own


def _at_least(x: TensorLike, ndim: int) -> Any:
    x = as_tensor(x)
    missing = ndim - len(x.shape)
    if missing <= 0:
        return x
    # Of three dimensions a vector is the second, a matrix the first two.
    behind = 1 if ndim == 3 and x.shape else 0
    return reshape(x, ((1,) * (missing - behind) + tuple(x.shape) + (1,) * behind))


@named
def atleast_1d(x: TensorLike) -> Tensor:
    """The tensor, a number as a vector.

    Args:
        x: any shape, any dtype.

    Source:
        NumPy, ``numpy.atleast_1d``; PyTorch, ``torch.atleast_1d``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.atleast_1d(tl.tensor(3)).tolist()
        [3]
    """
    return _at_least(x, 1)


@named
def atleast_2d(x: TensorLike) -> Tensor:
    """The tensor, a vector as a matrix of one row.

    Args:
        x: any shape, any dtype.

    Source:
        NumPy, ``numpy.atleast_2d``; PyTorch, ``torch.atleast_2d``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.atleast_2d(tl.tensor([3, 4])).tolist()
        [[3, 4]]
    """
    return _at_least(x, 2)


@named
def atleast_3d(x: TensorLike) -> Tensor:
    """The tensor, a matrix (m, n) as (m, n, 1) and a vector (n,) as (1, n, 1).

    Args:
        x: any shape, any dtype.

    Source:
        NumPy, ``numpy.atleast_3d``; PyTorch, ``torch.atleast_3d``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.atleast_3d(tl.tensor([3, 4])).tolist()
        [[[3], [4]]]
    """
    return _at_least(x, 3)


def _tensors(call: str, xs: Sequence[TensorLike]) -> list[Any]:
    parts = [as_tensor(x) for x in several(call, "xs", xs)]
    if not parts:
        raise ShapeError("there must be a tensor to join.", op=call, got="none")
    return parts


@named
def hstack(xs: Sequence[TensorLike]) -> Tensor:
    """Tensors side by side: joined along the second dimension, vectors along their own.

    Args:
        xs: tensors of one shape but for that dimension.

    Raises:
        ShapeError: the shapes do not fit, or there is no tensor.

    Source:
        NumPy, ``numpy.hstack``; PyTorch, ``torch.hstack``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.hstack([tl.tensor([1, 2]), tl.tensor([3])]).tolist()
        [1, 2, 3]
    """
    parts = [_at_least(x, 1) for x in _tensors("hstack", xs)]
    return concat(parts, axis=0 if len(parts[0].shape) == 1 else 1)


@named
def vstack(xs: Sequence[TensorLike]) -> Tensor:
    """Tensors one below the other: joined along the first dimension, vectors as rows.

    Args:
        xs: tensors of one shape but for that dimension.

    Raises:
        ShapeError: the shapes do not fit, or there is no tensor.

    Source:
        NumPy, ``numpy.vstack``; PyTorch, ``torch.vstack``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.vstack([tl.tensor([1, 2]), tl.tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]
    """
    return concat([_at_least(x, 2) for x in _tensors("vstack", xs)], axis=0)


@named
def dstack(xs: Sequence[TensorLike]) -> Tensor:
    """Tensors one behind the other: joined along the third dimension.

    Args:
        xs: tensors of one shape but for that dimension.

    Raises:
        ShapeError: the shapes do not fit, or there is no tensor.

    Source:
        NumPy, ``numpy.dstack``; PyTorch, ``torch.dstack``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.dstack([tl.tensor([1, 2]), tl.tensor([3, 4])]).tolist()
        [[[1, 3], [2, 4]]]
    """
    return concat([_at_least(x, 3) for x in _tensors("dstack", xs)], axis=2)


@named
def column_stack(xs: Sequence[TensorLike]) -> Tensor:
    """Tensors side by side, vectors as columns.

    Args:
        xs: vectors, or tensors of one shape but for the second dimension.

    Raises:
        ShapeError: the shapes do not fit, or there is no tensor.

    Source:
        NumPy, ``numpy.column_stack``; PyTorch, ``torch.column_stack``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.column_stack([tl.tensor([1, 2]), tl.tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]
    """
    parts = _tensors("column_stack", xs)
    return concat([reshape(x, (-1, 1)) if len(x.shape) < 2 else x for x in parts], axis=1)


def _parts(call: str, name: str, given: Any) -> int:
    """A number of parts that can be made."""
    count = integer(call, name, given, least=1)
    if count > _MOST_PARTS:
        raise ParameterError(
            f"must be at most {_MOST_PARTS}.", op=call, argument=name, got=f"{count}"
        )
    return count


def _cut(x: Any, at: int, ends: Sequence[Any]) -> tuple[Tensor, ...]:
    """The parts of a tensor up to each place."""
    before = (slice(None),) * at
    starts = [0, *ends[:-1]]
    keys = [(*before, slice(start, end)) for start, end in zip(starts, ends, strict=True)]
    return tuple(x[key] for key in keys)


@named
def tensor_split(
    x: TensorLike, indices_or_sections: int | Sequence[int], *, axis: int = 0
) -> tuple[Tensor, ...]:
    """A tensor cut into a number of parts as equal as can be, or at places.

    Args:
        x: at least one dimension, any dtype.
        indices_or_sections: how many parts, the first ones by one longer if need be; or the places
            before which to cut.
        axis: the dimension to cut.

    Raises:
        IndexRangeError: the axis is out of range.
        ParameterError: the number of parts is not positive, or above 2**20.

    Source:
        NumPy, ``numpy.array_split``; PyTorch, ``torch.tensor_split``.

    Example:
        >>> import tensorlike as tl
        >>> [part.tolist() for part in tl.functional.tensor_split(tl.tensor([1, 2, 3]), 2)]
        [[1, 2], [3]]
    """
    x = as_tensor(x)
    at = axis_of("tensor_split", axis, len(x.shape))
    size: Any = x.shape[at]
    if isinstance(indices_or_sections, Sequence):
        places = several("tensor_split", "indices_or_sections", indices_or_sections)
        ends = [integer("tensor_split", "indices_or_sections", place) for place in places]
        return _cut(x, at, [*ends, size])
    count = _parts("tensor_split", "indices_or_sections", indices_or_sections)
    if isinstance(size, Size):  # parts whose number is all that is known of them
        parts = [(size + (count - 1 - i)) // count for i in range(count - 1)]
        return _cut(x, at, [*accumulate(parts), size])
    each, longer = divmod(size, count)
    return _cut(x, at, [each * (i + 1) + min(i + 1, longer) for i in range(count)])


@named
def chunk(x: TensorLike, chunks: int, *, axis: int = 0) -> tuple[Tensor, ...]:
    """A tensor cut into parts of one size, the last one perhaps shorter.

    Args:
        x: at least one dimension, any dtype.
        chunks: how many parts; there may come out fewer.
        axis: the dimension to cut.

    Raises:
        IndexRangeError: the axis is out of range.
        ParameterError: chunks is not positive, or above 2**20.

    Source:
        PyTorch, ``torch.chunk``.

    Example:
        >>> import tensorlike as tl
        >>> [part.tolist() for part in tl.functional.chunk(tl.tensor([1, 2, 3]), 2)]
        [[1, 2], [3]]
    """
    x, count = as_tensor(x), _parts("chunk", "chunks", chunks)
    at = axis_of("chunk", axis, len(x.shape))
    size: Any = x.shape[at]
    if size == 0:
        return _cut(x, at, [0] * count)
    step = -(-size // count)
    if isinstance(size, Size) and (count - 1) * step < size:  # which is asked of each size
        return _cut(x, at, [*(step * (i + 1) for i in range(count - 1)), size])
    return _cut(x, at, [min(end, size) for end in range(step, size + step, step)])


@named
def broadcast_arrays(*xs: TensorLike) -> tuple[Tensor, ...]:
    """Tensors stretched to the shape that they broadcast to.

    Args:
        xs: any shapes that broadcast, any dtypes.

    Raises:
        ShapeError: they do not broadcast.

    Source:
        Array API 2024.12, ``broadcast_arrays``.

    Example:
        >>> import tensorlike as tl
        >>> [x.shape for x in tl.functional.broadcast_arrays(tl.tensor([1, 2]), tl.tensor(3))]
        [(2,), (2,)]
    """
    tensors = [as_tensor(x) for x in xs]
    shape = broadcast_shapes(*(tuple(x.shape) for x in tensors))
    return tuple(broadcast_to(x, shape) for x in tensors)
