"""Diagonals of matrices: taken, made into matrices, replaced; and the places of triangles."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..imperative import ShapeError, Tensor, TensorLike, tensor
from ..imperative.indexing import index_op
from ..ops import Reshape
from .arguments import integer, makes, named, one_op
from .arranging import as_tensor, axes_of, checked_shape, expand_dims, moveaxis
from .creation import zeros
from .generated import arange, astype, concat, equal, pad, reshape, sum, where

__all__ = [
    "block_diag",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "trace",
    "tril_indices",
    "triu_indices",
]


def _matrices(call: str, x: Any, axis1: Any, axis2: Any) -> Any:
    """The tensor with two axes moved to its end."""
    if len(x.shape) < 2:
        raise ShapeError(
            "must have two dimensions or more.", op=call, argument="x", got=f"x.shape={x.shape}"
        )
    ndim = len(x.shape)
    axes = axes_of(call, (axis1, axis2), ndim)
    return x if axes == [ndim - 2, ndim - 1] else moveaxis(x, axes, (-2, -1))


def _count(rows: int, columns: int, offset: int) -> int:
    """The elements of a diagonal."""
    sides = (rows, columns - offset) if offset >= 0 else (rows + offset, columns)
    # A known one first: a size that is not known may then be equal to it.
    count = min(sorted(sides, key=lambda side: type(side) is not int))
    return builtins.max(count, 0) if type(count) is int else count


@one_op
def diagonal(x: TensorLike, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """The elements of matrices on a diagonal.

    Args:
        x: (..., m, n), any dtype.
        offset: which diagonal; 0 is the main one, above it they are positive.
        axis1: the rows.
        axis2: the columns.

    Returns:
        One tensor with as many elements in its last dimension as the diagonal has.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: x has fewer than two dimensions, or the axes are one.

    Source:
        Array API 2025.12, ``linalg.diagonal``; the axes: NumPy, ``numpy.diagonal``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.diagonal(tl.tensor([[1, 2, 3], [4, 5, 6]]), offset=1).tolist()
        [2, 6]
    """
    x = as_tensor(x)
    moved = _matrices("diagonal", x, axis1, axis2)
    rows, columns = moved.shape[-2:]
    offset = integer("diagonal", "offset", offset)
    count = _count(rows, columns, offset)
    # In rows that lie end to end, the next element is one row and one column further.
    first = offset if offset >= 0 else -offset * columns
    places = slice(first, first + (count - 1) * (columns + 1) + 1, columns + 1)
    if type(count) is int and count <= 0:
        places = slice(0)
    in_rows = (*moved.shape[:-2], rows * columns)
    if moved is x:
        return makes(Reshape(shape=in_rows), index_op((..., places)))
    return reshape(moved, in_rows)[..., places]


@named
def trace(
    x: TensorLike, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1, dtype: Any = None
) -> Tensor:
    """The sum along a diagonal.

    Args:
        x: (..., m, n), numeric.
        offset: which diagonal; 0 is the main one, above it they are positive.
        axis1: the rows.
        axis2: the columns.
        dtype: that of the sum; by default that of x, int64 for integers (uint64 without sign).

    Returns:
        One tensor, (...).

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: x has fewer than two dimensions, or the axes are one.

    Source:
        Array API 2025.12, ``linalg.trace``; the axes: NumPy, ``numpy.trace``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.trace(tl.tensor([[1, 2], [3, 4]])).item()
        5
    """
    x = _matrices("trace", as_tensor(x), axis1, axis2)
    found = diagonal(x, offset=offset)
    if dtype is None:
        return sum(found, axis=-1)
    return astype(sum(astype(found, dtype=dtype), axis=-1), dtype=dtype)


@named
def diagonal_scatter(
    x: TensorLike, value: TensorLike, *, offset: int = 0, axis1: int = -2, axis2: int = -1
) -> Tensor:
    """The matrices with the elements of a diagonal replaced.

    Args:
        x: (..., m, n), any dtype.
        value: the new elements, in the last dimension, a shape that broadcasts to that of
            ``diagonal(x)``.
        offset: which diagonal; 0 is the main one, above it they are positive.
        axis1: the rows.
        axis2: the columns.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: x has fewer than two dimensions, or the value does not fit.

    Source:
        PyTorch, ``torch.diagonal_scatter``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[1, 2], [3, 4]])
        >>> tl.functional.diagonal_scatter(x, tl.tensor([7, 8])).tolist()
        [[7, 2], [3, 8]]
    """
    x, value = as_tensor(x), as_tensor(value)
    matrices = _matrices("diagonal_scatter", x, axis1, axis2)
    offset = integer("diagonal_scatter", "offset", offset)
    count = _count(matrices.shape[-2], matrices.shape[-1], offset)
    lead = tuple(matrices.shape[:-2])
    fits = len(value.shape) <= len(lead) + 1 and all(
        size in (1, wanted)
        for size, wanted in zip(reversed(value.shape), (count, *reversed(lead)), strict=False)
    )
    if not fits:
        raise ShapeError(
            f"must broadcast to shape {(*lead, count)}.",
            op="diagonal_scatter",
            argument="value",
            got=f"value.shape={value.shape}",
        )
    found = _with_diagonal(matrices, astype(value, dtype=x.dtype), offset)
    return moveaxis(found, (-2, -1), axes_of("diagonal_scatter", (axis1, axis2), len(x.shape)))


def _with_diagonal(matrices: Any, value: Any, offset: int) -> Any:
    """The matrices with a diagonal of these elements; one element stands for all of them."""
    rows, columns = matrices.shape[-2:]
    offset = builtins.max(-rows, min(offset, columns))  # further off there is no element
    row, column = reshape(arange(rows), (rows, 1)), reshape(arange(columns), (1, columns))
    # Its elements go by rows, or by columns, whichever the first of them begins with.
    size = rows if offset >= 0 else columns
    count = value.shape[-1] if value.shape else 1
    if type(count) is int and count == 1:
        wide = value if value.shape else reshape(value, (1,))
    else:
        wide = pad(value, (0, 0) * (len(value.shape) - 1) + (0, size - count))
    wide = expand_dims(wide, -1 if offset >= 0 else -2)
    return where(equal(row + offset, column), wide, matrices)


@named
def diag_embed(x: TensorLike, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """Square matrices with the elements on a diagonal, zeros elsewhere.

    Args:
        x: (..., n), any dtype: the diagonals.
        offset: which diagonal; 0 is the main one, above it they are positive.
        axis1: where the rows stand in the result.
        axis2: where the columns stand.

    Returns:
        One tensor with a dimension more; matrices of n + abs(offset) rows.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: x has no dimension, the axes are one, or the result would be too large.

    Source:
        PyTorch, ``torch.diag_embed``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.diag_embed(tl.tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    x, offset = as_tensor(x), integer("diag_embed", "offset", offset)
    if not x.shape:
        raise ShapeError("must have a dimension.", op="diag_embed", argument="x", got="none")
    axes = axes_of("diag_embed", (axis1, axis2), len(x.shape) + 1)
    size = x.shape[-1] + builtins.abs(offset)
    shape = checked_shape("diag_embed", (*x.shape[:-1], size, size))
    found = _with_diagonal(zeros(shape, dtype=x.dtype), x, offset)
    return moveaxis(found, (-2, -1), axes)


@named
def diag(x: TensorLike, *, offset: int = 0) -> Tensor:
    """The matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
        x: one or two dimensions, any dtype.
        offset: which diagonal; 0 is the main one, above it they are positive.

    Raises:
        ShapeError: x has another number of dimensions, or the result would be too large.

    Source:
        PyTorch, ``torch.diag``; NumPy, ``numpy.diag``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.diag(tl.tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    x = as_tensor(x)
    if len(x.shape) not in (1, 2):
        raise ShapeError(
            "must have one or two dimensions.", op="diag", argument="x", got=f"x.shape={x.shape}"
        )
    make = diag_embed if len(x.shape) == 1 else diagonal
    return make(x, offset=offset)


@named
def diagflat(x: TensorLike, *, offset: int = 0) -> Tensor:
    """The matrix with all elements, in C order, on a diagonal.

    Args:
        x: any shape, any dtype.
        offset: which diagonal; 0 is the main one, above it they are positive.

    Raises:
        ShapeError: the result would be too large.

    Source:
        PyTorch, ``torch.diagflat``; NumPy, ``numpy.diagflat``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.diagflat(tl.tensor([[1], [2]])).tolist()
        [[1, 0], [0, 2]]
    """
    return diag_embed(reshape(as_tensor(x), (-1,)), offset=offset)


@named
def block_diag(*xs: TensorLike) -> Tensor:
    """The matrix with matrices along its diagonal, zeros elsewhere.

    Args:
        xs: two dimensions at most, any dtype; a vector is one row.

    Raises:
        ShapeError: a tensor has more dimensions, or there is none.

    Source:
        PyTorch, ``torch.block_diag``; SciPy, ``scipy.linalg.block_diag``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.block_diag(tl.tensor([[1, 2]]), tl.tensor([3])).tolist()
        [[1, 2, 0], [0, 0, 3]]
    """
    blocks = [as_tensor(x) for x in xs]
    if not blocks or builtins.max(len(x.shape) for x in blocks) > 2:
        shapes = ", ".join(str(x.shape) for x in blocks)
        raise ShapeError(
            "there must be tensors of two dimensions at most.",
            op="block_diag",
            got=f"{shapes or 'none'}",
        )
    blocks = [reshape(x, (1, -1)) if len(x.shape) < 2 else x for x in blocks]
    width, before, rows = builtins.sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(pad(x, (0, 0, before, width - before - x.shape[1])))
        before += x.shape[1]
    return concat(rows, axis=0)


def _places(call: str, rows: int, columns: int | None, k: int, *, is_lower: bool) -> Tensor:
    rows = integer(call, "rows", rows, least=0)
    columns = rows if columns is None else integer(call, "columns", columns, least=0)
    checked_shape(call, (rows, columns))
    k = builtins.max(-rows - 1, min(integer(call, "k", k), columns + 1))
    make = np.tril if is_lower else np.triu
    return tensor(np.stack(np.nonzero(make(np.ones((rows, columns), bool), k))))


@named
def tril_indices(rows: int, columns: int | None = None, *, k: int = 0) -> Tensor:
    """The places of the elements of a lower triangle, in C order.

    Args:
        rows: the rows of the matrix.
        columns: its columns; None is as many.
        k: the last diagonal that belongs to it; 0 is the main one, above it they are positive.

    Returns:
        One tensor of int64, (2, elements): the row and the column of each.

    Raises:
        ParameterError: a size is negative.

    Source:
        PyTorch, ``torch.tril_indices``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.tril_indices(2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _places("tril_indices", rows, columns, k, is_lower=True)


@named
def triu_indices(rows: int, columns: int | None = None, *, k: int = 0) -> Tensor:
    """The places of the elements of an upper triangle, in C order.

    Args:
        rows: the rows of the matrix.
        columns: its columns; None is as many.
        k: the first diagonal that belongs to it; 0 is the main one, above it they are positive.

    Returns:
        One tensor of int64, (2, elements): the row and the column of each.

    Raises:
        ParameterError: a size is negative.

    Source:
        PyTorch, ``torch.triu_indices``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.triu_indices(2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _places("triu_indices", rows, columns, k, is_lower=False)
