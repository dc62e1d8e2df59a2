"""Equations whose matrix is factored already, and equations between tensors of more dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...imperative import ShapeError, Tensor, TensorLike
from .. import generated as ops
from ..algebra import matrix_transpose
from ..arguments import integer, named
from ..arranging import as_tensor, axis_of, expand_dims
from ..creation import eye
from .factors import LUResult
from .norms import matrix_shape
from .packed import LUFactorResult, lu_unpack


def _adjoint(x: Any) -> Any:
    return matrix_transpose(ops.conj(x) if x.dtype.kind == "complex" else x)


def _as_columns(x: Any) -> Any:
    """A vector, which is one right side, as a matrix of one column."""
    return expand_dims(x, -1) if len(x.shape) == 1 else x


def _like(found: Tensor, x2: Any) -> Tensor:
    """The solution of a right side that was a vector, as a vector."""
    return found[..., 0] if len(x2.shape) == 1 else found


@named
def cholesky_solve(x1: TensorLike, x2: TensorLike, /, *, upper: bool = False) -> Tensor:
    """The solution x of L L^H x = x2, with the factor L that `cholesky` gives.

    Args:
        x1: (..., n, n), floating-point, a triangular factor; its other triangle is not read.
        x2: (n,), one right side, or (..., n, k), k of them; batches broadcast.
        upper: x1 is U of U^H U.

    Returns:
        One tensor, (..., n) or (..., n, k).

    Raises:
        MatrixError: there is a 0 on the diagonal of x1.
        ShapeError: x1 is not square, or x2 does not fit it.

    Source:
        PyTorch's ``cholesky_solve``, SciPy's ``linalg.cho_solve``.

    Example:
        >>> import tensorlike as tl
        >>> factor = tl.linalg.cholesky(tl.tensor([[4.0, 2.0], [2.0, 5.0]]))
        >>> tl.linalg.cholesky_solve(factor, tl.tensor([8.0, 12.0])).tolist()
        [1.0, 2.0]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    matrix_shape("cholesky_solve", x1)
    first, second = (_adjoint(x1), x1) if upper else (x1, _adjoint(x1))
    inner = ops.solve_triangular(first, _as_columns(x2), upper=False)
    return _like(ops.solve_triangular(second, inner, upper=True), x2)


@named
def cholesky_inverse(x: TensorLike, /, *, upper: bool = False) -> Tensor:
    """The inverse of L L^H, with the factor L that `cholesky` gives.

    Args:
        x: (..., n, n), floating-point, a triangular factor; its other triangle is not read.
        upper: x is U of U^H U.

    Returns:
        One tensor of the shape of x.

    Raises:
        MatrixError: there is a 0 on the diagonal of x.
        ShapeError: x is not square.

    Source:
        PyTorch's ``cholesky_inverse``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.cholesky_inverse(tl.tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [[0.25, 0.0], [0.0, 1.0]]
    """
    x = as_tensor(x)
    rows, _ = matrix_shape("cholesky_inverse", x)
    return cholesky_solve(x, eye(rows, dtype=x.dtype), upper=upper)


@named
def lu_solve(
    factors: LUResult | LUFactorResult,
    x2: TensorLike,
    /,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Tensor:
    """The solution x of P L U x = x2, with the factors that `lu` or `lu_factor` gives.

    Args:
        factors: P, L and U of a square matrix, each (..., n, n); or the packed factors and pivots.
        x2: (n,), one right side, or (..., n, k), k of them; batches broadcast.
        left: the matrix stands left of x; otherwise x P L U = x2, where x2 is (..., k, n).
        adjoint: the matrix is the adjoint of P L U.

    Returns:
        One tensor, (..., n) or (..., n, k).

    Raises:
        MatrixError: there is a 0 on the diagonal of U.
        ShapeError: the factors are not square, or x2 does not fit them.

    Source:
        SciPy's ``linalg.lu_solve``, PyTorch's ``linalg.lu_solve``.

    Example:
        >>> import tensorlike as tl
        >>> factors = tl.linalg.lu(tl.tensor([[1.0, 3.0], [2.0, 4.0]]))
        >>> tl.linalg.lu_solve(factors, tl.tensor([7.0, 10.0])).tolist()
        [1.0, 2.0]
    """
    x2 = as_tensor(x2)
    if not left:  # both sides' adjoints
        if len(x2.shape) == 1:
            x2 = ops.conj(x2) if x2.dtype.kind == "complex" else x2
            found = lu_solve(factors, x2, adjoint=not adjoint)
            return ops.conj(found) if found.dtype.kind == "complex" else found
        return _adjoint(lu_solve(factors, _adjoint(x2), adjoint=not adjoint))
    parts = lu_unpack(*factors) if len(factors) == 2 else factors
    p, lower, upper = (as_tensor(factor) for factor in parts)
    if adjoint:
        inner = ops.solve_triangular(_adjoint(upper), _as_columns(x2), upper=False)
        outer = ops.solve_triangular(_adjoint(lower), inner, upper=True, unitriangular=True)
        return _like(ops.matmul(p, outer), x2)
    ordered = ops.matmul(matrix_transpose(p), _as_columns(x2))
    inner = ops.solve_triangular(lower, ordered, upper=False, unitriangular=True)
    return _like(ops.solve_triangular(upper, inner, upper=True), x2)


@named
def tensorinv(x: TensorLike, /, *, ind: int = 2) -> Tensor:
    """The inverse of a tensor: tensordot(tensorinv(x, ind=ind), x, axes=ind) is an identity.

    Args:
        x: floating-point; the product of its first `ind` sizes is that of the others.
        ind: how many dimensions stand for the rows, 1 or more.

    Returns:
        One tensor whose shape is that of x with both groups of dimensions exchanged.

    Raises:
        MatrixError: x has no inverse.
        ShapeError: ind is less than 1, or the sizes do not match.

    Source:
        ``numpy.linalg.tensorinv``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.tensorinv(tl.reshape(tl.eye(6), (6, 2, 3)), ind=1).shape
        (2, 3, 6)
    """
    x, count = as_tensor(x), integer("tensorinv", "ind", ind)
    rows, columns = tuple(x.shape[:count]), tuple(x.shape[count:])
    size = math.prod(rows)
    if count < 1 or size != math.prod(columns):
        raise ShapeError(
            "the product of the first ind sizes must be that of the others.",
            op="tensorinv",
            got=f"x.shape={x.shape}, ind={count}",
        )
    return ops.reshape(ops.inv(ops.reshape(x, (size, size))), (*columns, *rows))


@named
def tensorsolve(x1: TensorLike, x2: TensorLike, /, *, axes: Sequence[int] | None = None) -> Tensor:
    """The solution x of tensordot(x1, x, axes=x.ndim) = x2.

    Args:
        x1: floating-point, of shape x2.shape + x.shape, where both parts have one number of
            elements.
        x2: any shape.
        axes: dimensions of x1 that are moved to its end before.

    Returns:
        One tensor of the shape of x1 behind that of x2.

    Raises:
        IndexRangeError: an axis is out of range.
        MatrixError: x1 has no inverse.
        ShapeError: the shapes do not match.

    Source:
        ``numpy.linalg.tensorsolve``.

    Example:
        >>> import tensorlike as tl
        >>> a = tl.reshape(2 * tl.eye(6), (2, 3, 6))
        >>> tl.linalg.tensorsolve(a, tl.ones((2, 3))).tolist()
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    ndim = len(x1.shape)
    if axes is not None:
        last = [axis_of("tensorsolve", axis, ndim) for axis in axes]
        x1 = ops.permute_dims(x1, (*(i for i in range(ndim) if i not in last), *last))
    outer, inner = tuple(x1.shape[: len(x2.shape)]), tuple(x1.shape[len(x2.shape) :])
    size = math.prod(inner)
    if math.prod(outer) != size or math.prod(x2.shape) != size:
        raise ShapeError(
            "x1.shape must be as many elements as x2 has, and as many behind.",
            op="tensorsolve",
            got=f"x1.shape={x1.shape}, x2.shape={x2.shape}",
        )
    found = ops.solve(ops.reshape(x1, (size, size)), ops.reshape(x2, (size,)))
    return ops.reshape(found, inner)
