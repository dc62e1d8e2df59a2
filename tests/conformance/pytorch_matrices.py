"""Our calls for PyTorch's functions of matrices, in PyTorch's order of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike import functional as F

from .pytorch_calls import axes_or_all

L = tl.linalg


def _svd(x: Any, some: bool = True, compute_uv: bool = True) -> Any:
    u, s, vh = L.svd(x, full_matrices=not some)
    return u, s, F.conj(F.matrix_transpose(vh))


def _norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = x if dtype is None else F.astype(x, dtype=dtype)
    if p == "nuc":
        axes = (-2, -1) if dim is None else dim
        return L.norm(x, ord="nuc", axis=axes, keepdims=keepdim)
    order = 2 if p in ("fro", None) else p
    return L.vector_norm(x, axis=axes_or_all(dim), keepdims=keepdim, ord=order)


def _vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    x = x if dtype is None else F.astype(x, dtype=dtype)
    return L.vector_norm(x, axis=axes_or_all(dim), keepdims=keepdim, ord=ord)


def _matrix_norm(
    x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    x = x if dtype is None else F.astype(x, dtype=dtype)
    return L.norm(x, ord=ord, axis=tuple(dim), keepdims=keepdim)


def _linalg_norm(
    x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    x = x if dtype is None else F.astype(x, dtype=dtype)
    dim = tuple(dim) if isinstance(dim, list) else dim
    return L.norm(x, ord=ord, axis=dim, keepdims=keepdim)


def _tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    if hasattr(dims, "shape"):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        dims = tuple((d,) if isinstance(d, int) else tuple(d) for d in dims)
    return F.tensordot(a, b, axes=dims)


def _cartesian(*xs: Any) -> Any:
    if len(xs) == 1:
        return xs[0]
    grid = F.meshgrid(*xs, indexing="ij")
    return F.stack([F.reshape(x, (-1,)) for x in grid], axis=-1)


def _combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    import itertools

    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    index = np.array(list(pick(range(x.shape[0]), r)), np.int64).reshape(-1, r)
    return F.take(x, index, 0) if r else F.zeros((0,), dtype=x.dtype)


def _of_three(x: Any, dim: Any) -> int:
    return list(x.shape).index(3) if dim is None else dim


def _pinv(a: Any, rcond: Any, hermitian: bool, atol: Any, rtol: Any) -> Any:
    if len(getattr(rcond, "shape", ())) > 1:  # a variant of the database: of a @ b.T
        return L.pinv(F.matmul(a, F.matrix_transpose(rcond)))
    if hermitian:
        return _triangle_of(lambda x: L.pinv(x, rtol=rtol, atol=atol, hermitian=True))(a)
    return L.pinv(a, rtol=rcond if rtol is None else rtol, atol=atol, hermitian=hermitian)


def _solve(a: Any, b: Any, *, left: bool = True) -> Any:
    if len(b.shape) > 1 and tuple(b.shape) == tuple(a.shape[:-1]):  # a batch of vectors
        found = L.solve(a, F.expand_dims(b, -1 if left else -2), left=left)
        return F.squeeze(found, -1 if left else -2)
    return L.solve(a, b, left=left)


def _triangle_of(f: Any) -> Any:
    """Of the triangle that is named, as PyTorch's UPLO does."""

    def call(a: Any, UPLO: str = "L") -> Any:
        part = F.tril(a) if UPLO == "L" else F.triu(a)
        other = F.matrix_transpose(F.tril(a, k=-1) if UPLO == "L" else F.triu(a, k=1))
        if a.dtype.kind == "complex":
            diagonal = F.diag_embed(F.diagonal(a))
            part, other = part - F.imag(diagonal) * 1j, F.conj(other)
        return f(part + other)

    return call


def _lu(a: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    found = L.lu_factor(a, pivot=pivot)
    return (*found, F.zeros(tuple(a.shape[:-2]), dtype="int32")) if get_infos else found


def _low_rank(f: Any) -> Any:
    """Of a product, as the database has it; PyTorch gives V."""

    def call(a: Any, b: Any, **k: Any) -> Any:
        u, s, vh = f(
            F.matmul(a, F.matrix_transpose(b)), **{n: v for n, v in k.items() if v is not None}
        )
        return u, s, _adjoint(vh)

    return call


def _adjoint(x: Any) -> Any:
    return F.conj(F.matrix_transpose(x)) if x.dtype.kind == "complex" else F.matrix_transpose(x)
