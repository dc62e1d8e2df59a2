"""Products of reflections I - tau v v^H, which QR is made of.

Column i of a matrix holds, below its diagonal, the elements of v behind a 1, as LAPACK has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...imperative import ShapeError, Tensor, TensorLike
from .. import generated as ops
from ..algebra import matrix_transpose
from ..arguments import named
from ..creation import eye, ones_like
from ..picking import tril
from .norms import as_floating, matrix_shape, vector_norm


class ReflectionsResult(NamedTuple):
    """R on and above the diagonal, the vectors of reflections below it, and their factors."""

    a: Tensor
    tau: Tensor


def _conj(x: Any) -> Any:
    return ops.conj(x) if x.dtype.kind == "complex" else x


def _reflected(x: Any, v: Any, tau: Any) -> Any:
    """(I - tau v v^H) x, with tau of shape (...)."""
    return x - tau[..., None, None] * ops.matmul(v, ops.matmul(matrix_transpose(_conj(v)), x))


def _reflections(call: str, x: Any, tau: Any) -> tuple[Any, int]:
    """The vectors of the reflections as columns, and how many there are."""
    rows, columns = matrix_shape(call, x)
    count = tau.shape[-1] if tau.shape else -1
    if not 0 <= count <= columns <= rows or tuple(tau.shape[:-1]) != tuple(x.shape[:-2]):
        raise ShapeError(
            "must be (..., m, n) and tau (..., k) with m >= n >= k.",
            op=call,
            argument="x",
            got=f"x.shape={x.shape} and tau.shape={tau.shape}",
        )
    return tril(x, k=-1) + eye(rows, columns, dtype=x.dtype), count


def _of_column(column: Any) -> tuple[Any, Any, Any]:
    """The reflection that takes a vector to (beta, 0, ...): v behind its 1, tau, and beta."""
    first, rest = column[..., 0], column[..., 1:]
    is_complex = column.dtype.kind == "complex"
    size = vector_norm(column, axis=-1)
    below = ops.max(ops.abs(rest), axis=-1) if rest.shape[-1] else ops.abs(first) * 0
    is_done = ops.equal(below, 0)
    if is_complex:
        is_done = ops.logical_and(is_done, ops.equal(ops.imag(first), 0))
    sign = ops.where(ops.less(ops.real(first) if is_complex else first, 0), 1, -1)
    beta = ops.where(is_done, first, ops.astype(sign * size, dtype=column.dtype))
    safe = ops.where(is_done, 1, beta)
    tau = ops.where(is_done, 0, (safe - first) / safe)
    divisor = ops.where(is_done, 1, first - beta)
    return rest / divisor[..., None], tau, beta


@named
def geqrf(x: TensorLike, /) -> ReflectionsResult:
    """The factors of x = Q R in LAPACK's form: R, and the reflections whose product is Q.

    Args:
        x: (..., m, n), floating-point.

    Returns:
        A matrix of the shape of x and the factors of the reflections, (..., min(m, n)), which
        `householder_product` and `ormqr` take.

    Raises:
        ShapeError: x has fewer than two dimensions.

    Source:
        LAPACK, ``geqrf``; PyTorch, ``torch.geqrf``.

    Example:
        >>> import tensorlike as tl
        >>> a, tau = tl.linalg.geqrf(tl.tensor([[3.0], [4.0]]))
        >>> (a.tolist(), [round(v, 4) for v in tau.tolist()])
        ([[-5.0], [0.5]], [1.6])
    """
    x = as_floating(x)
    rows, columns = matrix_shape("geqrf", x)
    steps = []
    for _ in range(min(rows, columns)):
        rest, tau, beta = _of_column(x[..., 0])
        v = ops.concat([ones_like(beta)[..., None], rest], axis=-1)[..., None]
        x = _reflected(x[..., 1:], v, _conj(tau))
        steps.append((rest, tau, beta, x[..., 0, :]))
        x = x[..., 1:, :]
    for rest, _, beta, row in reversed(steps):
        top = ops.concat([beta[..., None], row], axis=-1)[..., None, :]
        x = ops.concat([top, ops.concat([rest[..., None], x], axis=-1)], axis=-2)
    if not steps:
        return ReflectionsResult(x, ops.reshape(x, (*x.shape[:-2], 0)))
    return ReflectionsResult(x, ops.stack([tau for _, tau, _, _ in steps], axis=-1))


@named
def ormqr(
    x: TensorLike,
    tau: TensorLike,
    other: TensorLike,
    /,
    *,
    left: bool = True,
    transpose: bool = False,
) -> Tensor:
    """The product of a matrix with the square Q of the reflections that `geqrf` gives.

    Args:
        x: (..., m, n), floating-point: the vectors of the reflections.
        tau: (..., k), k at most m and n: their factors.
        other: (..., m, p), or (..., p, m) where Q stands on the right.
        left: Q stands on the left.
        transpose: take the adjoint of Q.

    Returns:
        One tensor of the shape of other.

    Raises:
        ShapeError: there are more factors than rows or columns, or other does not fit Q.

    Source:
        LAPACK, ``ormqr`` and ``unmqr``; PyTorch, ``torch.ormqr``.

    Example:
        >>> import tensorlike as tl
        >>> a, tau = tl.linalg.geqrf(tl.tensor([[3.0], [4.0]]))
        >>> q = tl.linalg.ormqr(a, tau, tl.eye(2))
        >>> [[round(v, 4) for v in row] for row in q.tolist()]
        [[-0.6, -0.8], [-0.8, 0.6]]
    """
    x, tau, y = as_floating(x), as_floating(tau), as_floating(other)
    matrix_shape("ormqr", x)
    vectors, count = _reflections("ormqr", x[..., : tau.shape[-1] if tau.shape else 0], tau)
    matrix_shape("ormqr", y)
    if y.shape[-2 if left else -1] != x.shape[-2] or tuple(y.shape[:-2]) != tuple(x.shape[:-2]):
        raise ShapeError(
            f"must be {('(..., m, p)' if left else '(..., p, m)')} with the m and the batch of x.",
            op="ormqr",
            argument="other",
            got=f"other.shape={y.shape} and x.shape={x.shape}",
        )
    if not left:
        y = _conj(matrix_transpose(y))
    is_adjoint = transpose == left
    for i in range(count) if is_adjoint else reversed(range(count)):
        factor = _conj(tau[..., i]) if is_adjoint else tau[..., i]
        y = _reflected(y, vectors[..., i : i + 1], factor)
    return y if left else _conj(matrix_transpose(y))


@named
def householder_product(x: TensorLike, tau: TensorLike, /) -> Tensor:
    """The first columns of a product of reflections, such as QR's are made of.

    ``(I - tau[0] v0 v0^H) (I - tau[1] v1 v1^H) ...``, where column i of x holds, below its
    diagonal, the elements of vi behind a 1.

    Args:
        x: (..., m, n), floating-point, n at most m.
        tau: (..., k), k at most n.

    Returns:
        One tensor of the shape of x.

    Raises:
        ShapeError: there are more columns than rows, or more factors than columns.

    Source:
        PyTorch, ``torch.linalg.householder_product``; LAPACK, ``orgqr``.

    Example:
        >>> import tensorlike as tl
        >>> x, tau = tl.tensor([[1.0], [1.0]]), tl.tensor([1.0])
        >>> tl.linalg.householder_product(x, tau).tolist()
        [[0.0], [-1.0]]
    """
    x, tau = as_floating(x), as_floating(tau)
    vectors, count = _reflections("householder_product", x, tau)
    q = ops.broadcast_to(eye(*x.shape[-2:], dtype=x.dtype), tuple(x.shape))
    for i in reversed(range(count)):
        q = _reflected(q, vectors[..., i : i + 1], tau[..., i])
    return q
