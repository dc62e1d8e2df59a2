"""Calls that pick elements by number or by place, composed of a few ops that do.

Like those of `arranging`, they choose between ops or work out attributes from shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..imperative import (
    DTypeError,
    IndexRangeError,
    ShapeError,
    Tensor,
    TensorLike,
    isdtype,
    stop_gradient,
)
from ..ops import Gather, Transpose
from .arguments import integer, makes, named, one_op_on, several
from .arranging import as_tensor, axis_of, checked_shape, counts_of, expand_dims, unstack
from .generated import (
    arange,
    argwhere,
    broadcast_to,
    equal,
    greater_equal,
    logical_or,
    reshape,
    where,
)

__all__ = [
    "embedding",
    "nonzero",
    "repeat",
    "take",
    "tril",
    "triu",
    "unravel_index",
]


@named
def repeat(x: TensorLike, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element, or each slice along an axis, repeated in place.

    Args:
        x: any shape, any dtype.
        repeats: how often: one number, or one for each position along the axis.
        axis: the dimension; None takes the elements in C order.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: a number is negative, there is not one for each position, or the result would
            be too large.

    Source:
        Array API 2024.12, ``repeat``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.repeat(tl.tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]
    """
    x = as_tensor(x)
    if axis is None:
        return repeat(reshape(x, (-1,)), repeats, 0)
    i = axis_of("repeat", axis, len(x.shape))
    counts = counts_of("repeat", repeats)
    size = x.shape[i]
    if len(counts) not in (1, size):
        raise ShapeError(
            f"must be one number, or one for each of the {size} positions.",
            op="repeat",
            argument="repeats",
            got=f"{len(counts)}",
        )
    before, after = tuple(x.shape[:i]), tuple(x.shape[i + 1 :])
    if len(counts) == 1:
        shape = checked_shape("repeat", [*before, size * counts[0], *after])
        wide = broadcast_to(expand_dims(x, i + 1), (*before, size, counts[0], *after))
        return reshape(wide, shape)
    checked_shape("repeat", [*before, sum(counts), *after])
    return take(x, np.repeat(np.arange(size), counts), i)


@one_op_on(2)
def take(x: TensorLike, indices: TensorLike, axis: int | None = None) -> Tensor:
    """The slices of a tensor that indices along an axis point to.

    Args:
        x: at least one dimension, any dtype.
        indices: any shape, integer; negative ones count from the end.
        axis: the dimension; its place is taken by the dimensions of the indices. None takes the
            elements in C order.

    Raises:
        IndexRangeError: an index, or the axis, is out of range.
        DTypeError: the indices are not integer.

    Source:
        Array API 2024.12, ``take``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.take(tl.tensor([10, 20, 30]), tl.tensor([2, 0])).tolist()
        [30, 10]
    """
    x = as_tensor(x)
    if axis is None:
        return take(reshape(x, (-1,)), indices, 0)
    at = axis_of("take", axis, len(x.shape))
    picks = Gather(axes=(at,))
    if at == 0:
        return makes(picks)
    count = len(as_tensor(indices).shape)
    end = count + len(x.shape) - 1
    return makes(
        picks, Transpose(axes=(*range(count, count + at), *range(count), *range(count + at, end)))
    )


@named
def embedding(indices: TensorLike, weight: TensorLike, *, padding_idx: int | None = None) -> Tensor:
    """The rows of a table that indices point to.

    Args:
        indices: any shape, integer.
        weight: (rows, ...), any dtype.
        padding_idx: a row that has no gradient from here; negative ones count from the end.

    Returns:
        One tensor of shape ``indices.shape + weight.shape[1:]``.

    Raises:
        IndexRangeError: an index, or padding_idx, is out of range.

    Source:
        PyTorch, ``torch.nn.functional.embedding``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.embedding(tl.tensor([1, 0]), tl.tensor([[1, 2], [3, 4]])).tolist()
        [[3, 4], [1, 2]]
    """
    if padding_idx is None:
        return take(weight, indices, 0)
    weight, indices = as_tensor(weight), as_tensor(indices)
    row = integer("embedding", "padding_idx", padding_idx)
    rows = weight.shape[0] if weight.shape else 0
    if not -rows <= row < rows:
        raise IndexRangeError(
            f"must be in [{-rows}, {rows - 1}].",
            op="embedding",
            argument="padding_idx",
            got=f"padding_idx={row}",
        )
    found: Any = take(weight, indices, 0)
    row %= rows
    is_padding = logical_or(equal(indices, row), equal(indices, row - rows))
    is_padding = reshape(is_padding, (*indices.shape, *([1] * (len(weight.shape) - 1))))
    return where(is_padding, stop_gradient(found), found)


@named
def unravel_index(indices: TensorLike, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """The places of elements that are numbered in C order, one tensor per dimension.

    Args:
        indices: any shape, integer.
        shape: the shape.

    Raises:
        DTypeError: the indices are not integer.
        ParameterError: a size is negative.

    Source:
        NumPy, ``numpy.unravel_index``; PyTorch, ``torch.unravel_index``.

    Example:
        >>> import tensorlike as tl
        >>> rows, columns = tl.functional.unravel_index(tl.tensor([1, 5]), (2, 3))
        >>> rows.tolist(), columns.tolist()
        ([0, 1], [1, 2])
    """
    rest: Any = as_tensor(indices)
    if not isdtype(rest.dtype, "integral"):
        raise DTypeError(
            "must be integer.", op="unravel_index", argument="indices", got=rest.dtype.name
        )
    sizes = [
        integer("unravel_index", "shape", n, least=0)
        for n in several("unravel_index", "shape", shape)
    ]
    places = []
    for size in reversed(sizes):
        places.append(rest % max(1, size))
        rest = rest // max(1, size)
    return tuple(reversed(places))


@named
def nonzero(x: TensorLike) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, one tensor of indices per dimension.

    Args:
        x: at least one dimension, any dtype.

    Raises:
        ShapeError: x has no dimensions; or its elements, which the shape of the result depends on,
            are not known.

    Source:
        Array API 2024.12, ``nonzero``.

    Example:
        >>> import tensorlike as tl
        >>> [part.tolist() for part in tl.functional.nonzero(tl.tensor([[0, 5], [6, 0]]))]
        [[0, 1], [1, 0]]
    """
    x = as_tensor(x)
    if not x.shape:
        raise ShapeError(
            "must have a dimension.", op="nonzero", argument="x", got="none", fix="use x != 0"
        )
    return unstack(argwhere(x), 1)


def _triangle(call: str, x: TensorLike, k: int, *, is_lower: bool) -> Tensor:
    x = as_tensor(x)
    if len(x.shape) < 2:
        raise ShapeError(
            "must have two dimensions or more.", op=call, argument="x", got=f"shape {x.shape}"
        )
    rows, columns = x.shape[-2:]
    k = max(-rows - 1, min(operator.index(k), columns + 1))  # further off it is all or nothing
    row, column = reshape(arange(rows), (rows, 1)), reshape(arange(columns), (1, columns))
    is_kept = greater_equal(row + k, column) if is_lower else greater_equal(column, row + k)
    return where(is_kept, x, False if x.dtype.name == "bool" else 0)


@named
def tril(x: TensorLike, *, k: int = 0) -> Tensor:
    """The lower triangles of matrices, zeros above.

    Args:
        x: (..., rows, columns), any dtype.
        k: the last diagonal to keep; 0 is the main one, above it they are positive.

    Raises:
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2024.12, ``tril``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.tril(tl.tensor([[1, 2], [3, 4]])).tolist()
        [[1, 0], [3, 4]]
    """
    return _triangle("tril", x, k, is_lower=True)


@named
def triu(x: TensorLike, *, k: int = 0) -> Tensor:
    """The upper triangles of matrices, zeros below.

    Args:
        x: (..., rows, columns), any dtype.
        k: the first diagonal to keep; 0 is the main one, above it they are positive.

    Raises:
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2024.12, ``triu``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.triu(tl.tensor([[1, 2], [3, 4]])).tolist()
        [[1, 2], [0, 4]]
    """
    return _triangle("triu", x, k, is_lower=False)
