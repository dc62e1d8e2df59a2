"""Equations with matrices, inverses and determinants."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...imperative import Tensor, TensorBase, TensorLike
from .. import generated as ops
from ..algebra import matrix_transpose
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


def pinv(x: TensorLike, /, *, rtol: float | TensorLike | None = None) -> Tensor:
    """The pseudo-inverse of Moore and Penrose, for matrices of any shape and rank.

    Args:
        x: (..., m, n), floating-point, finite.
        rtol: singular values below it, relative to the largest, count as 0; the precision of the
            dtype times max(m, n) by default. A tensor has one for each matrix.

    Returns:
        One tensor, (..., n, m). It has gradients where the rank stays the same; where rtol is a
        tensor, the singular values must differ for that.

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ParameterError: rtol is negative.
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2025.12, ``linalg.pinv``.

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
    if rtol is None or isinstance(rtol, (int, float)):
        return ops.lstsq(x, eye(rows, dtype=x.dtype), rtol=rtol)[0]
    u, s, vh = ops.svd(x, full_matrices=False)
    is_kept = ops.greater(s, largest_of(s) * expand_dims(as_tensor(rtol), -1))
    inverse = ops.where(is_kept, 1 / ops.where(is_kept, s, 1), 0)
    left = matrix_transpose(ops.conj(vh)) * expand_dims(inverse, -2)
    return ops.matmul(left, matrix_transpose(ops.conj(u)))


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
