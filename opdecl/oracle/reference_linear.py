"""Oracles for factors of matrices and what they solve: NumPy's, in float64 whatever comes in.

Signs of real singular vectors are nobody's promise; these are LAPACK's for the transposed matrix,
as the kernel asks for them. Phases of complex vectors are the kernels' own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


def _wide(x: Array) -> Array:
    import numpy as np

    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _hermitian(x: Array) -> Array:
    import numpy as np

    wide = _wide(x)
    return (wide + np.conj(np.swapaxes(wide, -1, -2))) / 2


def _cholesky(x: Array, upper: bool) -> Array:
    import numpy as np

    lower = np.linalg.cholesky(_hermitian(x))
    return np.conj(np.swapaxes(lower, -1, -2)) if upper else lower


def _turns(vectors: Array) -> Array:
    """What makes the first of the largest elements of each column real and positive."""
    import numpy as np

    sizes = np.abs(vectors) ** 2
    first = np.argmax(sizes >= 0.998 * sizes.max(-2, keepdims=True), axis=-2, keepdims=True)
    chosen = np.take_along_axis(vectors, first, -2)
    return np.conj(chosen) / np.abs(chosen)


def _svd(x: Array, full_matrices: bool = True, compute_vectors: bool = True) -> Any:
    import numpy as np

    wide = _wide(x)
    vectors, values, others = np.linalg.svd(np.swapaxes(wide, -1, -2), full_matrices)
    u, vh = np.swapaxes(others, -1, -2), np.swapaxes(vectors, -1, -2)
    k = values.shape[-1]
    if wide.dtype.kind == "c" and k:
        turns = _turns(u[..., :k])
        u[..., :k] *= turns
        vh[..., :k, :] *= np.swapaxes(np.conj(turns), -1, -2)
    return (u, values, vh) if compute_vectors else values


def _eigh(x: Array, compute_vectors: bool = True) -> Any:
    import numpy as np

    values, vectors = np.linalg.eigh(_hermitian(x))
    if vectors.dtype.kind == "c" and vectors.size:
        vectors = vectors * _turns(vectors)
    return (values, vectors) if compute_vectors else values


def _eig(x: Array, compute_vectors: bool = True) -> Any:
    import numpy as np

    values, vectors = (part.astype(np.complex128) for part in np.linalg.eig(_wide(x)))
    if vectors.size:
        vectors *= _turns(vectors)
    return (values, vectors) if compute_vectors else values


def _determinant(x: Array, mode: str = "value") -> Any:
    import numpy as np

    if mode == "cofactors":
        return _cofactor(x)
    return np.linalg.det(_wide(x)) if mode == "value" else tuple(np.linalg.slogdet(_wide(x)))


def _lu(x: Array) -> tuple[Array, ...]:
    """By elimination, with the largest element of a column as pivot."""
    import numpy as np

    u = _wide(x)
    batch, (m, n) = u.shape[:-2], u.shape[-2:]
    k = min(m, n)
    factors = np.empty((*batch, m, n), u.dtype)
    orders = np.empty((*batch, m), np.int64)
    for place in np.ndindex(*batch):
        a, order = u[place].copy(), np.arange(m)
        for i in range(k):
            pivot = i + int(np.argmax(np.abs(a[i:, i])))
            a[[i, pivot]], order[[i, pivot]] = a[[pivot, i]], order[[pivot, i]]
            if a[i, i] != 0:
                a[i + 1 :, i] /= a[i, i]
            a[i + 1 :, i + 1 :] -= np.outer(a[i + 1 :, i], a[i, i + 1 :])
        factors[place], orders[place] = a, order
    lower = np.tril(factors[..., :k], -1) + np.eye(m, k)
    return orders, lower, np.triu(factors[..., :k, :])


def _cofactor(x: Array) -> Array:
    """Determinants of the matrix without a row and a column."""
    import numpy as np

    wide = _wide(x)
    found = np.empty_like(wide)
    n = wide.shape[-1]
    for i, j in np.ndindex(n, n):
        minor = np.delete(np.delete(wide, i, -2), j, -1)
        found[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return np.conj(found)


def _sides(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Runs what takes right sides as matrices."""
    import numpy as np

    a, b = _wide(a), _wide(b)
    return function(a, b[:, None])[..., 0] if np.ndim(b) == 1 else function(a, b)


def _solve(a: Array, b: Array) -> Array:
    import numpy as np

    return _sides(np.linalg.solve, a, b)


def _solve_triangular(
    a: Array, b: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    import numpy as np

    a, b = _wide(a), _wide(b)
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        ones = np.eye(a.shape[-1])
        a = a * (1 - ones) + ones
    if left:
        return _solve(a, b)
    if np.ndim(b) == 1:
        return _solve(np.swapaxes(a, -1, -2), b)
    return np.swapaxes(_solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def _lstsq(a: Array, b: Array, rtol: float | None = None) -> tuple[Array, ...]:
    import numpy as np

    precision = np.finfo(np.float32 if np.asarray(a).dtype == np.float32 else np.float64).eps
    cut = precision * max(np.shape(a)[-2:]) if rtol is None else rtol
    inverse = np.linalg.pinv(_wide(a), cut)
    values = np.linalg.svd(_wide(a), compute_uv=False)
    rank = np.count_nonzero(values > cut * values.max(-1, keepdims=True, initial=0), axis=-1)
    batch = np.broadcast_shapes(np.shape(a)[:-2], np.shape(b)[:-2])
    return (
        _sides(np.matmul, inverse, b),
        np.broadcast_to(np.asarray(rank, np.int64), batch),
        np.broadcast_to(values, (*batch, values.shape[-1])),
    )


def _matrix_exp(x: Array) -> Array:
    """By its series, of a matrix that was halved until it is small; squares lose digits."""
    import numpy as np

    given = _wide(x)
    wide = given.astype(np.clongdouble if given.dtype.kind == "c" else np.longdouble)
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(wide).sum(-2).max(initial=0), 1e-9)))) + 3)
    small = wide / 2.0**halvings
    term = total = np.zeros_like(wide) + np.eye(wide.shape[-1])
    for k in range(1, 19):
        term = term @ small / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total.astype(given.dtype)


def _of(name: str) -> Callable[..., Any]:
    """NumPy's function of that name, of wide numbers."""

    def call(x: Array, **attrs: Any) -> Any:
        import numpy as np

        found = getattr(np.linalg, name)(_wide(x), **attrs)
        return tuple(found) if isinstance(found, tuple) else found

    return call


LINEAR: Mapping[str, Callable[..., Any]] = {
    "Cholesky": _cholesky,
    "QR": _of("qr"),
    "SVD": _svd,
    "Eigh": _eigh,
    "Eig": _eig,
    "LU": _lu,
    "Determinant": _determinant,
    "Inverse": _of("inv"),
    "Solve": _solve,
    "SolveTriangular": _solve_triangular,
    "LeastSquares": _lstsq,
    "MatrixExp": _matrix_exp,
}
