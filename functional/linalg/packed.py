"""Triangular factors in one matrix, with the exchanges of rows, as LAPACK has them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...imperative import DTypeError, ShapeError, Tensor, TensorLike, isdtype
from .. import generated as ops
from ..algebra import matrix_transpose
from ..arguments import named
from ..arranging import as_tensor, expand_dims
from ..creation import eye, zeros
from ..picking import tril, triu
from .factors import LUResult, lu
from .norms import matrix_shape


class LUFactorResult(NamedTuple):
    """L without its ones and U in one matrix; the row that each row was exchanged with, from 1."""

    LU: Tensor
    pivots: Tensor


@named
def lu_factor(x: TensorLike, /, *, pivot: bool = True) -> LUFactorResult:
    """The factors of x = P L U as one matrix, and the exchanges of rows that P is made of.

    Args:
        x: (..., m, n), floating-point.
        pivot: exchange rows, so that L has no element above 1 in size.

    Returns:
        A matrix of the shape of x, with U in its upper triangle and L, without its ones, below; and
        (..., k), int32, where k is min(m, n): row i was exchanged with row pivots[i] - 1.

    Raises:
        MatrixError: a pivot is 0, which `pivot` would have exchanged.
        ShapeError: x has fewer than two dimensions.

    Source:
        LAPACK, ``getrf``; PyTorch, ``torch.linalg.lu_factor``.

    Example:
        >>> import tensorlike as tl
        >>> packed, pivots = tl.linalg.lu_factor(tl.tensor([[1.0, 3.0], [2.0, 4.0]]))
        >>> (packed.tolist(), pivots.tolist())
        ([[2.0, 4.0], [0.5, 1.0]], [2, 2])
    """
    x = as_tensor(x)
    rows, columns = matrix_shape("lu_factor", x)
    p, lower, upper = lu(x, pivot=pivot)
    batch: Any = ((0, 0),) * (len(x.shape) - 2)
    beside: Any = (*batch, (0, 0), (0, max(0, columns - rows)))
    below: Any = (*batch, (0, max(0, rows - columns)), (0, 0))
    lower, upper = ops.pad(lower, beside), ops.pad(upper, below)
    numbers = expand_dims(ops.arange(rows), -1)
    order = ops.sum(ops.where(ops.equal(p, 1), numbers, 0), axis=-2)
    return LUFactorResult(tril(lower, k=-1) + upper, _exchanges(order, min(rows, columns)))


@named
def lu_unpack(packed: TensorLike, pivots: TensorLike, /) -> LUResult:
    """P, L and U of the factors that `lu_factor` gives.

    Args:
        packed: (..., m, n), L without its ones below U.
        pivots: (..., min(m, n)), integer: the row that each row was exchanged with, from 1.

    Returns:
        P (..., m, m), L (..., m, k) and U (..., k, n), where k is min(m, n).

    Raises:
        DTypeError: pivots are not integer.
        ShapeError: pivots do not fit.

    Source:
        PyTorch, ``torch.lu_unpack``.

    Example:
        >>> import tensorlike as tl
        >>> p, l, u = tl.linalg.lu_unpack(*tl.linalg.lu_factor(tl.tensor([[1.0, 3.0], [2.0, 4.0]])))
        >>> (p @ l @ u).tolist()
        [[1.0, 3.0], [2.0, 4.0]]
    """
    packed, pivots = as_tensor(packed), as_tensor(pivots)
    rows, columns = matrix_shape("lu_unpack", packed)
    count = min(rows, columns)
    if not isdtype(pivots.dtype, "integral"):
        raise DTypeError(
            "must be integer.", op="lu_unpack", argument="pivots", got=pivots.dtype.name
        )
    if tuple(pivots.shape) != (*packed.shape[:-2], count):
        raise ShapeError(
            f"must be (..., {count}) for a matrix of {rows} by {columns}.",
            op="lu_unpack",
            argument="pivots",
            got=f"{pivots.shape} for {packed.shape}",
        )
    places = ops.one_hot(_order(pivots, rows), depth=rows)
    lower = tril(packed[..., :count], k=-1) + eye(rows, count, dtype=packed.dtype)
    p = matrix_transpose(ops.astype(places, dtype=packed.dtype))
    return LUResult(p, lower, triu(packed[..., :count, :]))


def _exchanged(order: Any, i: int, at: Any) -> Any:
    """The order with what stands at i and at `at`, (..., 1), exchanged."""
    number = ops.arange(order.shape[-1])
    other = ops.take_along_axis(order, at, axis=-1)
    return ops.where(number == i, other, ops.where(number == at, order[..., i : i + 1], order))


def _order(pivots: Any, rows: int) -> Any:
    """The order of the rows that exchanges one after the other give."""
    places = ops.astype(pivots, dtype="int64") - 1
    order = ops.broadcast_to(ops.arange(rows), (*pivots.shape[:-1], rows))
    for i in range(pivots.shape[-1]):
        order = _exchanged(order, i, places[..., i : i + 1])
    return order


def _exchanges(order: Any, count: int) -> Any:
    """The exchanges that give an order: each brings the right row to its place."""
    rows = order.shape[-1]
    now = ops.broadcast_to(ops.arange(rows), tuple(order.shape))
    found = []
    for i in range(count):
        at = expand_dims(ops.argmax(now == order[..., i : i + 1], axis=-1), -1)
        found.append(at + 1)
        now = _exchanged(now, i, at)
    empty = zeros((*order.shape[:-1], 0), dtype="int64")
    return ops.astype(ops.concat(found, axis=-1) if found else empty, dtype="int32")
