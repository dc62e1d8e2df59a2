"""Factors of matrices by name: what the ops give, as named tuples."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ...imperative import Tensor, TensorLike
from .. import generated as ops
from ..algebra import matrix_transpose
from ..arguments import named
from ..creation import eye, ones_like, zeros_like
from .norms import as_floating, matrix_shape


class QRResult(NamedTuple):
    """An orthonormal and an upper triangular factor."""

    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    """Singular vectors as columns, singular values, singular vectors as rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class EighResult(NamedTuple):
    """Real eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """Complex eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class LUResult(NamedTuple):
    """A permutation, a lower and an upper triangular factor."""

    P: Tensor
    L: Tensor
    U: Tensor


@named
def cholesky(x: TensorLike, /, *, upper: bool = False) -> Tensor:
    """The triangular factor L of x = L L^H, or U of x = U^H U.

    Args:
        x: (..., n, n), floating-point, positive definite. Only its Hermitian part counts.
        upper: give U.

    Returns:
        One tensor of the shape of x, zeros in the other triangle.

    Raises:
        MatrixError: a matrix is not positive definite.
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.cholesky``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.cholesky(tl.tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    return ops.cholesky(x, upper=upper)


@named
def qr(x: TensorLike, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """The factors of x = Q R: Q has orthonormal columns, R is upper triangular.

    Args:
        x: (..., m, n), floating-point.
        mode: 'reduced' for min(m, n) columns of Q, 'complete' for m.

    Returns:
        Q and R, whose diagonal is real, of either sign. There are gradients where the first
        min(m, n) columns of x are independent, but not for what 'complete' adds.

    Raises:
        ParameterError: the mode is another word.
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2025.12, ``linalg.qr``.

    Example:
        >>> import tensorlike as tl
        >>> q, r = tl.linalg.qr(tl.tensor([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]]))
        >>> (q.shape, r.shape)
        ((3, 2), (2, 2))
    """
    return QRResult(*ops.qr(x, mode=mode))


@named
def svd(x: TensorLike, /, *, full_matrices: bool = True) -> SVDResult:
    """The factors of x = U diag(S) Vh: U and V have orthonormal columns.

    Args:
        x: (..., m, n), floating-point, finite.
        full_matrices: make U (m, m) and Vh (n, n); else they have min(m, n) vectors.

    Returns:
        U, S, which is real and falls, and Vh. U and Vh have gradients where the singular values
        differ, but not for what `full_matrices` adds. Where x is complex, the first of the (nearly)
        largest elements of each column of U is real and positive, unless `full_matrices` added it.

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2025.12, ``linalg.svd``.

    Example:
        >>> import tensorlike as tl
        >>> u, s, vh = tl.linalg.svd(tl.tensor([[0.0, 2.0], [3.0, 0.0]]))
        >>> s.tolist()
        [3.0, 2.0]
    """
    return SVDResult(*ops.svd(x, full_matrices=full_matrices))


@named
def svdvals(x: TensorLike, /) -> Tensor:
    """The singular values, in falling order.

    Args:
        x: (..., m, n), floating-point, finite.

    Returns:
        One real tensor, (..., min(m, n)).

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2025.12, ``linalg.svdvals``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.svdvals(tl.tensor([[0.0, 2.0], [3.0, 0.0]])).tolist()
        [3.0, 2.0]
    """
    return ops.svdvals(x)


@named
def eigh(x: TensorLike, /) -> EighResult:
    """The eigenvalues and eigenvectors of Hermitian (or real symmetric) matrices.

    Args:
        x: (..., n, n), floating-point, finite. Only its Hermitian part counts.

    Returns:
        The eigenvalues, real and rising, and orthonormal eigenvectors as columns, which have
        gradients where the eigenvalues differ. Where x is complex, the first of the (nearly)
        largest elements of each vector is real and positive.

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.eigh``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.eigh(tl.tensor([[3.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
        [1.0, 3.0]
    """
    return EighResult(*ops.eigh(x))


@named
def eigvalsh(x: TensorLike, /) -> Tensor:
    """The eigenvalues of Hermitian (or real symmetric) matrices, in rising order.

    Args:
        x: (..., n, n), floating-point, finite. Only its Hermitian part counts.

    Returns:
        One real tensor, (..., n).

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.eigvalsh``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.eigvalsh(tl.tensor([[3.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 3.0]
    """
    return ops.eigvalsh(x)


@named
def eig(x: TensorLike, /) -> EigResult:
    """The eigenvalues and eigenvectors of any square matrices.

    Args:
        x: (..., n, n), floating-point, finite.

    Returns:
        Eigenvalues in no particular order and eigenvectors of length 1 as columns, both complex;
        the first of the (nearly) largest elements of each vector is real and positive. They have
        gradients where the eigenvalues differ.

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.eig``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.eig(tl.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues.tolist()
        [(2+0j), (3+0j)]
    """
    return EigResult(*ops.eig(x))


@named
def eigvals(x: TensorLike, /) -> Tensor:
    """The eigenvalues of any square matrices.

    Args:
        x: (..., n, n), floating-point, finite.

    Returns:
        One complex tensor, (..., n), in no particular order. It has gradients where the values
        differ.

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.eigvals``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.eigvals(tl.tensor([[2.0, 0.0], [0.0, 3.0]])).tolist()
        [(2+0j), (3+0j)]
    """
    return ops.eigvals(x)


@named
def lu(x: TensorLike, /, *, pivot: bool = True) -> LUResult:
    """The factors of x = P L U: a permutation, a lower triangle with ones, an upper triangle.

    Args:
        x: (..., m, n), floating-point.
        pivot: exchange rows, so that L has no element above 1 in size. Without, P is the identity.

    Returns:
        P (..., m, m), L (..., m, k) and U (..., k, n), where k is min(m, n). L and U have
        gradients where the first k columns are independent.

    Raises:
        MatrixError: a pivot is 0, which `pivot` would have exchanged.
        ShapeError: x has fewer than two dimensions.

    Source:
        SciPy's ``linalg.lu``; without pivots: PyTorch, ``torch.linalg.lu``.

    Example:
        >>> import tensorlike as tl
        >>> p, l, u = tl.linalg.lu(tl.tensor([[1.0, 3.0], [2.0, 4.0]]))
        >>> (p.tolist(), l.tolist(), u.tolist())
        ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 1.0]], [[2.0, 4.0], [0.0, 1.0]])
    """
    if not pivot:
        return _without_pivots(as_floating(x))
    order, lower, upper = ops.lu_factors(x)
    places = ops.one_hot(order, depth=order.shape[-1])
    return LUResult(matrix_transpose(ops.astype(places, dtype=lower.dtype)), lower, upper)


def _without_pivots(x: Any) -> LUResult:
    rows, columns = matrix_shape("lu", x)
    count = min(rows, columns)
    lower, upper = _halves(x[..., :count, :count])
    if rows > count:
        below = ops.solve_triangular(upper, x[..., count:, :], upper=True, left=False)
        lower = ops.concat([lower, below], axis=-2)
    if columns > count:
        beside = ops.solve_triangular(lower, x[..., count:], upper=False, unitriangular=True)
        upper = ops.concat([upper, beside], axis=-1)
    p = ops.broadcast_to(eye(rows, dtype=x.dtype), (*x.shape[:-2], rows, rows))
    return LUResult(p, lower, upper)


def _halves(x: Any) -> tuple[Any, Any]:
    """The factors of a square matrix, from those of its first half and of what that leaves."""
    size = x.shape[-1]
    if size <= 1:
        return ones_like(x), x
    half = size // 2
    lower, upper = _halves(x[..., :half, :half])
    beside = ops.solve_triangular(lower, x[..., :half, half:], upper=False, unitriangular=True)
    below = ops.solve_triangular(upper, x[..., half:, :half], upper=True, left=False)
    last_lower, last_upper = _halves(x[..., half:, half:] - ops.matmul(below, beside))
    above, under = zeros_like(beside), zeros_like(below)
    return (
        _blocks(lower, above, below, last_lower),
        _blocks(upper, beside, under, last_upper),
    )


def _blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    return ops.concat([ops.concat([a, b], axis=-1), ops.concat([c, d], axis=-1)], axis=-2)
