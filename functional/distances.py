"""Lengths, angles and distances of vectors.

The slope of a length at 0 is taken as 0: the smallest of the subgradients.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ..imperative import (
    ParameterError,
    ShapeError,
    Size,
    Tensor,
    TensorLike,
    isdtype,
    stop_gradient,
)
from .algebra import matrix_transpose
from .arguments import named, number
from .arranging import as_tensor, axis_of, checked_shape, expand_dims, moveaxis
from .control_flow import cond
from .generated import (
    abs,
    arange,
    argsort,
    astype,
    broadcast_to,
    full,
    isfinite,
    matmul,
    max,
    maximum,
    not_equal,
    pow,
    reshape,
    sqrt,
    sum,
    sumsq,
    where,
)
from .generated import min as smallest
from .picking import take
from .promotion import result_type

__all__ = ["cdist", "cosine_similarity", "normalize", "pairwise_distance", "pdist", "renorm"]

# With more vectors than this on either side, Euclidean distances come from a matrix product.
_FEW = 25


def root(x: Any) -> Any:
    """The square root, whose slope at 0 is 0."""
    return where(x > 0, sqrt(x), x)


def dtype_of_squares(x: Any) -> str:
    """A real dtype that holds the squares of the dtype of x, where there is one: else float64."""
    return "float32" if x.dtype.name == "float16" else "float64"


def _wide_length(call: str, x: Any, p: float, axis: int, keepdims: bool) -> Any:
    """The p-norms along an axis, of a dtype in which powers neither overflow nor vanish."""
    p = number(call, "p", p)
    x = abs(x) if x.dtype.kind == "complex" else x
    wide = dtype_of_squares(x)
    if p == 2:
        return root(sumsq(x, axis=axis, keepdims=keepdims, dtype=wide))
    if p == 1:
        return sum(abs(x), axis=axis, keepdims=keepdims, dtype=wide)
    if p == 0:
        return sum(astype(not_equal(x, 0), dtype=wide), axis=axis, keepdims=keepdims)
    if p == math.inf:
        return max(abs(x), axis=axis, keepdims=keepdims)
    if p == -math.inf:
        return smallest(abs(x), axis=axis, keepdims=keepdims)
    if math.isnan(p):
        raise ParameterError("must be a number.", op=call, argument="p", got=f"p={p}")
    total = sum(pow(abs(astype(x, dtype=wide)), p), axis=axis, keepdims=keepdims)
    return where(total > 0, pow(where(total > 0, total, 1), 1 / p), total)


def _as_result(found: Any, *given: Any) -> Any:
    """What was found, in the dtype of what was given; integers have become float32."""
    dtype = result_type(*given)
    return astype(found, dtype=dtype if isdtype(dtype, "real floating") else "float32")


def length(call: str, x: Any, p: float, axis: int, keepdims: bool) -> Any:
    """The p-norms of the vectors along an axis."""
    return _as_result(_wide_length(call, x, p, axis, keepdims), x)


def _unit(call: str, x: Any, p: float, axis: int, eps: float) -> Any:
    """The vectors along an axis over their lengths, which are at least eps."""
    x, eps = _in_range(call, x, p, axis, eps)
    lengths = maximum(_wide_length(call, x, p, axis, True), eps)
    if lengths.dtype.name != "float64" or x.dtype.name not in ("float32", "complex64"):
        return x / lengths
    # Divided in the dtype of x, which takes half the time: a power of two brings the lengths that
    # it cannot hold, or holds with fewer digits, into its range.
    scale = where(lengths > 2.0**126, 2.0**-64, where(lengths < 2.0**-100, 2.0**64, 1.0))
    scale = stop_gradient(scale)
    least = maximum(lengths * scale, 2.0**-126)  # less only where all elements are zero
    return x * astype(scale, dtype="float32") / astype(least, dtype="float32")


def _in_range(call: str, x: Any, p: float, axis: int, eps: Any) -> tuple[Any, Any]:
    """The vectors and their least length, divided by the largest elements where these are so large
    or small that float64, which has no wider dtype beside it, cannot hold their powers.

    The unit vectors stay as they are, and so do their gradients: the divisors are constants.
    """
    order = number(call, "p", p)
    if x.dtype.name not in ("float64", "complex128") or not x.size:
        return x, eps
    if order <= 0 or math.isinf(order):
        return x, eps
    largest = max(stop_gradient(abs(x)), axis=axis, keepdims=True)
    bound = 10.0 ** (150 / builtins.max(1.0, order / 2))
    is_fine = ((largest < bound) & (largest * bound > 1)) | ~isfinite(largest) | (largest == 0)
    scale = where(is_fine, 1, largest)
    return x / scale, eps / scale


def _repeated_like(x: Any, other: Any, axis: int) -> Any:
    """x with its one element along a (negative) axis as often as the other has elements there."""
    own, wanted = ((*[1] * -axis, *y.shape)[axis] for y in (x, other))
    if own != 1 or wanted == 1:
        return x
    shape = [*[1] * (-axis - len(x.shape)), *x.shape]
    shape[axis] = wanted
    return broadcast_to(x, tuple(shape))


@named
def pairwise_distance(
    x1: TensorLike, x2: TensorLike, *, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Tensor:
    """The distances of the vectors of two tensors along the last dimension.

    ``sum(abs(x1 - x2 + eps) ** p) ** (1 / p)``.

    Args:
        x1: (..., features), floating-point.
        x2: a shape that broadcasts with x1.
        p: the order of the norm.
        eps: added to differences, so that none is 0.
        keepdims: keep the last dimension with size 1.

    Raises:
        ShapeError: the shapes do not broadcast.

    Source:
        PyTorch, ``torch.nn.functional.pairwise_distance``.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2 = tl.tensor([[0.0, 0.0]]), tl.tensor([[3.0, 4.0]])
        >>> tl.functional.pairwise_distance(x1, x2, eps=0.0).tolist()
        [5.0]
    """
    apart = as_tensor(x1) - as_tensor(x2) + number("pairwise_distance", "eps", eps)
    return length("pairwise_distance", apart, p, -1, keepdims)


@named
def cosine_similarity(
    x1: TensorLike, x2: TensorLike, *, axis: int = 1, eps: float = 1e-8
) -> Tensor:
    """The cosines of the angles between the vectors of two tensors.

    ``x1 . x2 / (max(|x1|, eps) * max(|x2|, eps))``.

    Args:
        x1: any shape, real floating-point.
        x2: a shape that broadcasts with x1.
        axis: the dimension of the vectors.
        eps: the least length that a vector is taken to have.

    Raises:
        ShapeError: the shapes do not broadcast.
        IndexRangeError: the axis is out of range.

    Source:
        PyTorch, ``torch.nn.functional.cosine_similarity``.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2 = tl.tensor([[1.0, 0.0]]), tl.tensor([[2.0, 0.0]])
        >>> tl.functional.cosine_similarity(x1, x2).tolist()
        [1.0]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    ndim = builtins.max(len(x1.shape), len(x2.shape))
    at = axis_of("cosine_similarity", axis, ndim) - ndim
    eps = number("cosine_similarity", "eps", eps)
    vectors = _repeated_like(x1, x2, at), _repeated_like(x2, x1, at)
    units = [_unit("cosine_similarity", x, 2, at, eps) for x in vectors]
    return _as_result(sum(units[0] * units[1], axis=at), x1, x2)


@named
def normalize(x: TensorLike, *, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Tensor:
    """The vectors of a tensor divided by their lengths.

    ``x / max(sum(abs(x) ** p) ** (1 / p), eps)``.

    Args:
        x: any shape, floating-point.
        p: the order of the norm.
        axis: the dimension of the vectors.
        eps: the least length that a vector is taken to have.

    Raises:
        IndexRangeError: the axis is out of range.

    Source:
        PyTorch, ``torch.nn.functional.normalize``.

    Example:
        >>> import tensorlike as tl
        >>> [[round(v, 4) for v in row] for row in
        ...  tl.functional.normalize(tl.tensor([[3.0, 4.0]])).tolist()]
        [[0.6, 0.8]]
    """
    x = as_tensor(x)
    at, eps = axis_of("normalize", axis, len(x.shape)), number("normalize", "eps", eps)
    unit = _unit("normalize", x, p, at, eps)
    if isdtype(x.dtype, "complex floating"):
        return astype(unit, dtype=x.dtype)
    return _as_result(unit, x)


@named
def cdist(x1: TensorLike, x2: TensorLike, *, p: float = 2.0) -> Tensor:
    """The distances of all vectors of one tensor from all of another.

    ``sum(abs(x1_i - x2_j) ** p) ** (1 / p)``.

    Euclidean distances among more than 25 vectors come from a matrix product, which loses digits
    where vectors are much longer than their distance.

    Args:
        x1: (..., n, features), real floating-point.
        x2: (..., m, features); leading dimensions broadcast.
        p: the order of the norm, at least 0.

    Returns:
        One tensor of shape (..., n, m).

    Raises:
        ShapeError: the tensors have less than two dimensions, or other features.
        ParameterError: p is negative.

    Source:
        PyTorch, ``torch.cdist``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.cdist(tl.tensor([[0.0], [1.0]]), tl.tensor([[3.0]])).tolist()
        [[3.0], [2.0]]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if len(x1.shape) < 2 or len(x2.shape) < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            "x1 and x2 must be (..., vectors, features) with as many features.",
            op="cdist",
            got=f"{x1.shape} and {x2.shape}",
        )
    p = number("cdist", "p", p, least=0.0)
    if p != 2:
        return _of_all_pairs(x1, x2, p)
    counts = (x1.shape[-2], x2.shape[-2])
    if all(type(count) is int for count in counts):
        return (_by_products if max(counts) > _FEW else _of_all_pairs)(x1, x2)
    # How many there are is known in a run: the distances are those of that many at once.
    most = maximum(*(full((), count, dtype="int64") for count in counts))
    return cond(most > _FEW, lambda: _by_products(x1, x2), lambda: _of_all_pairs(x1, x2))


def _by_products(x1: Any, x2: Any) -> Any:
    own = sumsq(x1, axis=-1, keepdims=True) + matrix_transpose(sumsq(x2, axis=-1, keepdims=True))
    return root(maximum(own - 2 * matmul(x1, matrix_transpose(x2)), 0))


def _of_all_pairs(x1: Any, x2: Any, p: float = 2.0) -> Any:
    return length("cdist", expand_dims(x1, -2) - expand_dims(x2, -3), p, -1, False)


@named
def pdist(x: TensorLike, *, p: float = 2.0) -> Tensor:
    """The distances of all pairs of vectors: row i from the rows behind it, row after row.

    ``sum(abs(x_i - x_j) ** p) ** (1 / p)`` for i < j.

    Args:
        x: (n, features), real floating-point.
        p: the order of the norm, at least 0.

    Returns:
        One tensor of shape (n * (n - 1) / 2,).

    Raises:
        ShapeError: x has other dimensions.
        ParameterError: p is negative.

    Source:
        PyTorch, ``torch.nn.functional.pdist``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.pdist(tl.tensor([[0.0], [1.0], [3.0]])).tolist()
        [1.0, 3.0, 2.0]
    """
    x = as_tensor(x)
    if len(x.shape) != 2:
        raise ShapeError(
            "must be (n, features).", op="pdist", argument="x", got=f"x.shape={x.shape}"
        )
    p = number("pdist", "p", p, least=0.0)
    count = x.shape[0]
    checked_shape("pdist", [count * (count - 1) // 2, x.shape[1]])
    first, second = _pairs(count)
    return length("pdist", take(x, first, axis=0) - take(x, second, axis=0), p, -1, False)


def _pairs(count: Any) -> tuple[Any, Any]:
    """The numbers of all pairs of so many, each with those behind it."""
    if not isinstance(count, Size):
        return np.triu_indices(count, 1)
    place = arange(count * count)
    first, second = place // count, place % count
    wanted = argsort(where(first < second, place, count * count))[: count * (count - 1) // 2]
    return take(first, wanted, axis=0), take(second, wanted, axis=0)


@named
def renorm(x: TensorLike, *, p: float, axis: int, maxnorm: float) -> Tensor:
    """The slices along an axis, those longer than a bound shortened to it.

    Args:
        x: at least two dimensions, floating-point.
        p: the order of the norm, positive.
        axis: the dimension whose slices are measured.
        maxnorm: the bound, not negative.

    Raises:
        IndexRangeError: the axis is out of range.
        ParameterError: p is not positive, or maxnorm is negative.
        ShapeError: x has fewer than two dimensions.

    Source:
        PyTorch, ``torch.renorm``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[3.0, 4.0], [0.3, 0.4]])
        >>> [[round(v, 4) for v in row] for row in
        ...  tl.functional.renorm(x, p=2, axis=0, maxnorm=1.0).tolist()]
        [[0.6, 0.8], [0.3, 0.4]]
    """
    x, p = as_tensor(x), number("renorm", "p", p, above=0.0)
    bound = number("renorm", "maxnorm", maxnorm, least=0.0)
    if len(x.shape) < 2:
        raise ShapeError(
            "must have two dimensions or more.", op="renorm", argument="x", got=f"x.shape={x.shape}"
        )
    at = axis_of("renorm", axis, len(x.shape))
    rows = moveaxis(x, at, 0)
    flat = reshape(rows, (rows.shape[0], math.prod(rows.shape[1:])))
    # What keeps a bound of a length that was rounded, as in PyTorch.
    size = length("renorm", flat, p, 1, False)
    factor = where(size > bound, bound / (size + 1e-7), 1)
    return x * reshape(factor, (-1, *([1] * (len(x.shape) - at - 1))))
