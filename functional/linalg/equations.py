"""Equations with matrices, inverses and determinants."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...imperative import ParameterError, Tensor, TensorBase, TensorLike, finfo
from .. import generated as ops
from ..algebra import matrix_transpose
from ..arguments import elements, named
from ..arranging import as_tensor, expand_dims
from ..creation import eye
from .norms import as_floating, largest_of, matrix_shape


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class LstsqResult(NamedTuple):
    """The solution, its squared distances, the rank of the matrix, and its singular values."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@named
def solve(x1: TensorLike, x2: TensorLike, /, *, left: bool = True) -> Tensor:
    """The solution x of x1 @ x = x2, or of x @ x1 = x2.

    Args:
        x1: (..., n, n), floating-point, invertible.
        x2: (n,), one right side, or (..., n, k), k of them; (..., k, n) where x1 stands on the
            right. Batches broadcast.
        left: x1 stands on the left.

    Returns:
        One tensor, (..., n), (..., n, k) or (..., k, n).

    Raises:
        MatrixError: a matrix is singular.
        ShapeError: x1 is not square, or x2 does not fit it.

    Source:
        Array API 2025.12, ``linalg.solve``; from the right: PyTorch, ``torch.linalg.solve``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.solve(tl.tensor([[2.0, 1.0], [0.0, 4.0]]), tl.tensor([3.0, 4.0])).tolist()
        [1.0, 1.0]
    """
    if left:
        return ops.solve(x1, x2)
    x1, x2 = as_tensor(x1), as_tensor(x2)
    matrix_shape("solve", x1)
    if len(x2.shape) == 1:
        return ops.solve(matrix_transpose(x1), x2)
    return matrix_transpose(ops.solve(matrix_transpose(x1), matrix_transpose(x2)))


@named
def solve_triangular(
    x1: TensorLike,
    x2: TensorLike,
    /,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """The solution x of x1 @ x = x2, or of x @ x1 = x2, with a triangular x1.

    Args:
        x1: (..., n, n), floating-point; its other triangle is not read.
        x2: (n,), one right side, or (..., n, k), k of them; (..., k, n) where x1 stands on the
            right. Batches broadcast.
        upper: read the upper triangle rather than the lower one.
        left: x1 stands on the left.
        unitriangular: take the diagonal of x1 for ones.

    Returns:
        One tensor, of the shape of x2 with its batch broadcast.

    Raises:
        MatrixError: there is a 0 on the diagonal.
        ShapeError: x1 is not square, or x2 does not fit it.

    Source:
        PyTorch's ``linalg.solve_triangular``.

    Example:
        >>> import tensorlike as tl
        >>> a, b = tl.tensor([[2.0, 1.0], [0.0, 4.0]]), tl.tensor([3.0, 4.0])
        >>> tl.linalg.solve_triangular(a, b, upper=True).tolist()
        [1.0, 1.0]
    """
    return ops.solve_triangular(x1, x2, upper=upper, left=left, unitriangular=unitriangular)


@named
def lstsq(x1: TensorLike, x2: TensorLike, /, *, rtol: float | None = None) -> LstsqResult:
    """The x for which x1 @ x is nearest to x2; of several, that of least norm.

    Args:
        x1: (..., m, n), floating-point, finite, of any rank.
        x2: (m,), one right side, or (..., m, k), k of them; batches broadcast.
        rtol: singular values of x1 below it, relative to the largest, count as 0; the precision of
            the dtype times max(m, n) by default.

    Returns:
        The solution, (..., n) or (..., n, k); the squared distance of each right side; the rank of
        x1; its singular values. Solution and distances have gradients, those at a constant rank.

    Raises:
        MatrixError: x1 or x2 has NaN or an infinity.
        ParameterError: rtol is negative.
        ShapeError: x2 does not fit x1.

    Source:
        ``numpy.linalg.lstsq``.

    Example:
        >>> import tensorlike as tl
        >>> a = tl.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
        >>> found = tl.linalg.lstsq(a, tl.tensor([1.0, 4.0, 3.0]))
        >>> ([round(v, 4) for v in found.solution.tolist()], found.rank.item())
        ([1.0, 2.0], 2)
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    solution, rank, values = ops.lstsq(x1, x2, rtol=rtol)
    distance = ops.abs(ops.matmul(as_floating(x1), solution) - x2)
    axis = -1 if len(x2.shape) == 1 else -2
    return LstsqResult(solution, ops.sum(distance * distance, axis=axis), rank, values)


@named
def inv(x: TensorLike, /) -> Tensor:
    """The inverse.

    Args:
        x: (..., n, n), floating-point, invertible.

    Returns:
        One tensor of the shape of x.

    Raises:
        MatrixError: a matrix is singular.
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.inv``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.inv(tl.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    return ops.inv(x)


@named
def pinv(
    x: TensorLike,
    /,
    *,
    rtol: float | TensorLike | None = None,
    atol: float | TensorLike | None = None,
    hermitian: bool = False,
) -> Tensor:
    """The pseudo-inverse of Moore and Penrose, for matrices of any shape and rank.

    Args:
        x: (..., m, n), floating-point, finite.
        rtol: singular values below it, relative to the largest, count as 0; the precision of the
            dtype times max(m, n) by default, 0 beside atol. A tensor has one for each matrix.
        atol: singular values below it count as 0 too. A tensor has one for each matrix.
        hermitian: x is Hermitian (or real symmetric), which its eigenvalues then serve for.

    Returns:
        One tensor, (..., n, m). It has gradients where the rank stays the same; with a tensor for
        rtol, with atol or `hermitian`, the singular values must differ for that.

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ParameterError: rtol or atol is negative.
        ShapeError: x has fewer than two dimensions, or is not square where it is Hermitian.

    Source:
        Array API 2025.12, ``linalg.pinv``; atol and hermitian: PyTorch, ``torch.linalg.pinv``.

    Example:
        >>> import tensorlike as tl
        >>> inverse = tl.linalg.pinv(tl.tensor([[2.0, 0.0], [0.0, 0.0]]))
        >>> [[round(v, 4) for v in row] for row in inverse.tolist()]
        [[0.5, 0.0], [0.0, 0.0]]
    """
    x = as_floating(x)
    rows, _ = matrix_shape("pinv", x)
    if isinstance(rtol, TensorBase) and len(rtol.shape) == 0:
        rtol = rtol.item() if isinstance(rtol, Tensor) else rtol
    is_plain = atol is None and not hermitian
    if is_plain and (rtol is None or isinstance(rtol, (int, float))):
        return ops.lstsq(x, eye(rows, dtype=x.dtype), rtol=rtol)[0]
    u, sizes, right = _singular(x, hermitian)
    limit = _limit(x, largest_of(ops.abs(sizes)), rtol, atol)
    is_kept = ops.greater(ops.abs(sizes), limit)
    inverse = ops.where(is_kept, 1 / ops.where(is_kept, sizes, 1), 0)
    return ops.matmul(right * expand_dims(inverse, -2), _adjoint(u))


def _adjoint(x: Any) -> Any:
    return matrix_transpose(ops.conj(x))


def _singular(x: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """Left vectors, values and right vectors; the values of a Hermitian matrix have signs."""
    if hermitian:
        values, vectors = ops.eigh(x)
        return vectors, values, vectors
    u, values, vh = ops.svd(x, full_matrices=False)
    return u, values, _adjoint(vh)


def _limit(x: Any, largest: Any, rtol: Any, atol: Any) -> Any:
    """What singular values must be larger than."""
    for name, given in (("rtol", rtol), ("atol", atol)):
        known = given if isinstance(given, (int, float)) else elements(given)
        if known is not None and not np.all(np.asarray(known) >= 0):
            raise ParameterError(
                "must not be negative.", op="pinv", argument=name, got=f"{name}={given}"
            )
    if rtol is None:
        precision = finfo(largest.dtype).eps
        rtol = precision * max(x.shape[-2:]) if atol is None else 0.0
    limit = largest * _for_each(rtol)
    return limit if atol is None else ops.maximum(limit, _for_each(atol))


def _for_each(given: Any) -> Any:
    """A bound for each matrix, beside the values of that matrix."""
    return given if isinstance(given, (int, float)) else expand_dims(as_tensor(given), -1)


@named
def det(x: TensorLike, /) -> Tensor:
    """The determinant.

    Args:
        x: (..., n, n), floating-point.

    Returns:
        One tensor, (...). Its first two gradients are right for singular matrices too.

    Raises:
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.det``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.det(tl.tensor([[2.0, 1.0], [0.0, 3.0]])).item()
        6.0
    """
    return ops.det(x)


@named
def slogdet(x: TensorLike, /) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its absolute value, which overflow less.

    Args:
        x: (..., n, n), floating-point.

    Returns:
        The sign (a complex number of modulus 1 where x is complex), 0 for singular matrices, and
        the logarithm, then minus infinity. The logarithm has gradients where x is invertible.

    Raises:
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.slogdet``.

    Example:
        >>> import tensorlike as tl
        >>> sign, logabsdet = tl.linalg.slogdet(tl.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> (sign.item(), logabsdet.item())
        (-1.0, 0.0)
    """
    return SlogdetResult(*ops.slogdet(x))


@named
def logdet(x: TensorLike, /) -> Tensor:
    """The logarithm of the determinant.

    Args:
        x: (..., n, n), floating-point.

    Returns:
        One tensor, (...): minus infinity for singular matrices, NaN where a real determinant is
        negative. It has gradients where x is invertible.

    Raises:
        ShapeError: x is not square.

    Source:
        PyTorch, ``torch.logdet``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.logdet(tl.eye(2)).item()
        0.0
    """
    sign, size = ops.slogdet(x)
    if sign.dtype.kind == "complex":
        return ops.log(sign) + size
    return ops.where(ops.less(sign, 0), math.nan, size)
