"""The largest singular values of a matrix, from its products with few vectors at random."""

from __future__ import annotations

from typing import Any

from ...imperative import Tensor, TensorLike, isdtype
from .. import generated as ops
from ..algebra import matrix_transpose
from ..arguments import integer, named
from ..arranging import as_tensor
from ..random.generator import Key
from .factors import SVDResult, qr, svd
from .norms import as_floating, matrix_shape

_MOST = 1000  # times that x is applied: far beyond what changes anything


def _adjoint(x: Any) -> Any:
    return matrix_transpose(ops.conj(x) if isdtype(x.dtype, "complex floating") else x)


@named
def svd_lowrank(
    x: TensorLike, /, *, q: int = 6, niter: int = 2, M: TensorLike | None = None, seed: int = 0
) -> SVDResult:
    """The q largest singular values of x and their vectors, nearly, without the others.

    It is exact where the rank of x is at most q; otherwise off by little where the singular values
    fall fast behind the q largest.

    Args:
        x: (..., m, n), floating-point.
        q: how many: more than are wanted make them better, at most min(m, n).
        niter: how often x and its adjoint are applied to the vectors.
        M: taken from x before, broadcasting with it; None takes nothing.
        seed: decides the vectors to begin with.

    Returns:
        U (..., m, q), S (..., q) in falling order, and Vh (..., q, n).

    Raises:
        ParameterError: q is not in [0, min(m, n)], or niter not in [0, 1000].
        ShapeError: x has fewer than two dimensions.

    Source:
        Halko, Martinsson, Tropp 2011, https://arxiv.org/abs/0909.4061, algorithms 4.4 and 5.1;
        PyTorch, ``torch.svd_lowrank``, which gives V rather than Vh.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.linalg.outer(tl.tensor([3.0, 4.0]), tl.tensor([1.0, 0.0, 0.0]))
        >>> round(tl.linalg.svd_lowrank(x, q=1).S.item(), 4)
        5.0
    """
    x = as_floating(x)
    x = x if M is None else x - as_tensor(M)
    rows, columns = matrix_shape("svd_lowrank", x)
    count = integer("svd_lowrank", "q", q, least=0, most=min(rows, columns))
    times = integer("svd_lowrank", "niter", niter, least=0, most=_MOST)
    real = ops.real(x).dtype if isdtype(x.dtype, "complex floating") else x.dtype
    start = ops.astype(Key(seed).normal((columns, count), dtype=real), dtype=x.dtype)
    vectors = qr(ops.matmul(x, start)).Q
    for _ in range(times):
        vectors = qr(ops.matmul(_adjoint(x), vectors)).Q
        vectors = qr(ops.matmul(x, vectors)).Q
    u, s, vh = svd(ops.matmul(_adjoint(vectors), x), full_matrices=False)
    return SVDResult(ops.matmul(vectors, u), s, vh)


@named
def pca_lowrank(
    x: TensorLike, /, *, q: int | None = None, center: bool = True, niter: int = 2, seed: int = 0
) -> SVDResult:
    """The q principal components of the rows of x, nearly, by `svd_lowrank`.

    Args:
        x: (..., m, n), floating-point: m samples of n features.
        q: how many, at most min(m, n); None is the least of 6, m and n.
        center: take the mean of the rows from them.
        niter: how often x and its adjoint are applied to the vectors.
        seed: decides the vectors to begin with.

    Returns:
        U (..., m, q), S (..., q) in falling order, and Vh (..., q, n), the components as rows.

    Raises:
        ParameterError: q is not in [0, min(m, n)], or niter not in [0, 1000].
        ShapeError: x has fewer than two dimensions.

    Source:
        PyTorch, ``torch.pca_lowrank``, which gives V rather than Vh.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
        >>> [round(v, 4) for v in tl.linalg.pca_lowrank(x, q=1).S.tolist()]
        [2.0]
    """
    x = as_floating(x)
    rows, columns = matrix_shape("pca_lowrank", x)
    count = min(6, rows, columns) if q is None else q
    mean: Tensor | None = ops.mean(x, axis=-2, keepdims=True) if center else None
    return svd_lowrank(x, q=count, niter=niter, M=mean, seed=seed)
