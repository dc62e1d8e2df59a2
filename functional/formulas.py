"""Calls that work out a formula or a rule over tensors: products of pairs, interpolation."""

from __future__ import annotations

import math
from typing import Any

from ..imperative import DTypeError, ParameterError, ShapeError, Tensor, TensorLike, isdtype
from .arguments import integer, named
from .arranging import as_tensor
from .creation import asarray
from .generated import (
    astype,
    clip_between,
    isnan,
    lgamma,
    matmul,
    permute_dims,
    reshape,
    searchsorted,
    where,
)
from .picking import take

__all__ = ["bilinear", "interp", "kron", "mvlgamma"]

_MOST_DIMENSIONS = 10_000  # of the matrices that the multivariate gamma function is about


@named
def kron(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The Kronecker product: a copy of x2, multiplied, in place of each element of x1.

    Args:
        x1: any shape, numeric.
        x2: any shape, numeric; the one with fewer dimensions gets leading ones of size 1.

    Source:
        NumPy, ``numpy.kron``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.kron(tl.tensor([1, 10]), tl.tensor([1, 2])).tolist()
        [1, 2, 10, 20]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    ndim = max(len(x1.shape), len(x2.shape))
    big = (1,) * (ndim - len(x1.shape)) + tuple(x1.shape)
    small = (1,) * (ndim - len(x2.shape)) + tuple(x2.shape)
    apart = [size for n in big for size in (n, 1)], [size for n in small for size in (1, n)]
    product = reshape(x1, tuple(apart[0])) * reshape(x2, tuple(apart[1]))
    return reshape(product, tuple(n * m for n, m in zip(big, small, strict=True)))


@named
def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    *,
    left: float | None = None,
    right: float | None = None,
) -> Tensor:
    """Values between given ones, on straight lines.

    Args:
        x: where, any shape, real floating-point.
        xp: the places of given values, one dimension, increasing.
        fp: the given values, as many.
        left: the value before all places; None is the first one.
        right: the value after all places; None is the last one.

    Raises:
        ShapeError: xp and fp are not of one dimension and one size, or are empty.
        DTypeError: a tensor is complex.

    Source:
        NumPy, ``numpy.interp``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.interp(tl.tensor([0.5, 5.0]), [0.0, 1.0], [10.0, 30.0]).tolist()
        [20.0, 30.0]
    """
    x, xp, fp = (_real(asarray(each)) for each in (x, xp, fp))
    if len(xp.shape) != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ShapeError(
            "xp and fp must have one dimension of one size, which is not 0.",
            op="interp",
            got=f"{xp.shape} and {fp.shape}",
        )
    last = xp.shape[0] - 1
    after = clip_between(searchsorted(xp, x, side="right"), min(1, last), last)
    before = after - min(1, last)
    low, high = take(xp, before), take(xp, after)
    start, end = take(fp, before), take(fp, after)
    width = high - low
    share = where(width == 0, 0, (x - low) / where(width == 0, 1, width))
    value = start + share * (end - start)
    value = where(x < xp[0], fp[0] if left is None else left, value)
    value = where(x > xp[last], fp[last] if right is None else right, value)
    return where(isnan(x), x, value)


def _real(x: Any) -> Any:
    if isdtype(x.dtype, "complex floating"):
        raise DTypeError("tensors must be real.", op="interp", got=x.dtype.name)
    return x if isdtype(x.dtype, "real floating") else astype(x, dtype="float32")


@named
def bilinear(
    x1: TensorLike, x2: TensorLike, weight: TensorLike, bias: TensorLike | None = None
) -> Tensor:
    """Products of the features of two tensors, weighed and summed.

    ``x1 @ weight[o] @ x2 + bias[o]`` for each feature o of the result.

    Args:
        x1: (..., features 1), numeric.
        x2: (..., features 2); leading dimensions broadcast.
        weight: (out features, features 1, features 2).
        bias: (out features,); None is 0.

    Returns:
        One tensor of shape (..., out features).

    Raises:
        ShapeError: the features are not those of the weight.

    Source:
        PyTorch, ``torch.nn.functional.bilinear``.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2, weight = tl.tensor([2.0]), tl.tensor([3.0]), tl.tensor([[[4.0]]])
        >>> tl.functional.bilinear(x1, x2, weight).tolist()
        [24.0]
    """
    x1, x2, weight = as_tensor(x1), as_tensor(x2), as_tensor(weight)
    fits = len(weight.shape) == 3 and len(x1.shape) >= 1 and len(x2.shape) >= 1
    if not fits or (x1.shape[-1], x2.shape[-1]) != tuple(weight.shape[1:]):
        raise ShapeError(
            "must be (out features, features of x1, features of x2).",
            op="bilinear",
            argument="weight",
            got=f"x1.shape={x1.shape}, x2.shape={x2.shape}, weight.shape={weight.shape}",
        )
    out, first, second = weight.shape
    if bias is not None and tuple(as_tensor(bias).shape) != (out,):
        raise ShapeError(
            f"bias.shape must be ({out},).", op="bilinear", got=f"{as_tensor(bias).shape}"
        )
    columns = reshape(permute_dims(weight, (1, 0, 2)), (first, out * second))
    rows = matmul(x1, columns)
    pairs = reshape(rows, (*rows.shape[:-1], out, second))
    y = matmul(pairs, reshape(x2, (*x2.shape, 1)))
    y = reshape(y, tuple(y.shape[:-1]))
    return y if bias is None else y + as_tensor(bias)


@named
def mvlgamma(x: TensorLike, p: int) -> Tensor:
    """The logarithms of the multivariate gamma function.

    ``p * (p - 1) / 4 * log(pi) + sum(lgamma(x - j / 2) for j in range(p))``.

    Args:
        x: any shape, real floating-point, above (p - 1) / 2; NaN elsewhere.
        p: the dimension, 1 or more.

    Raises:
        ParameterError: p is not positive.

    Source:
        PyTorch, ``torch.mvlgamma``; SciPy, ``scipy.special.multigammaln``.

    Example:
        >>> import tensorlike as tl
        >>> round(tl.functional.mvlgamma(tl.tensor(2.0), 2).item(), 4)
        0.4516
    """
    x, p = as_tensor(x), integer("mvlgamma", "p", p, least=1)
    if p > _MOST_DIMENSIONS:
        raise ParameterError(
            f"must be at most {_MOST_DIMENSIONS}.", op="mvlgamma", argument="p", got=f"p={p}"
        )
    total: Any = lgamma(x)
    for j in range(1, p):
        total = total + lgamma(x - j / 2)
    total = total + p * (p - 1) / 4 * math.log(math.pi)
    return where(x > (p - 1) / 2, total, math.nan)
