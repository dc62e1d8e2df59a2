"""Sizes of vectors and matrices: norms, ranks, condition numbers. They are compositions."""

from __future__ import annotations

import math
from typing import Any

from ...imperative import ParameterError, ShapeError, Tensor, TensorLike
from .. import generated as ops
from ..arguments import named
from ..arranging import as_tensor, axes_of, axis_of, expand_dims
from ..creation import zeros
from ..distances import dtype_of_squares


def as_floating(x: TensorLike) -> Any:
    """Integers and booleans become float32."""
    x = as_tensor(x)
    is_floating = x.dtype.name.startswith(("float", "bfloat", "complex"))
    return x if is_floating else ops.astype(x, dtype="float32")


def matrix_shape(call: str, x: Any) -> tuple[int, int]:
    """The last two sizes of a tensor that must have them."""
    if len(x.shape) < 2:
        raise ShapeError(
            "must have two dimensions or more.", op=call, argument="x", got=f"x.shape={x.shape}"
        )
    return x.shape[-2], x.shape[-1]


def largest_of(values: Any) -> Tensor:
    """The largest along the last axis, which is kept; 0 where there is none."""
    if not values.shape[-1]:
        return zeros((*values.shape[:-1], 1), dtype=values.dtype)
    return ops.max(values, axis=-1, keepdims=True)


def _largest_size(sizes: Any, axis: Any, keepdims: bool) -> Any:
    """The largest of what is not negative; 0 of nothing, which is its sum."""
    reduce = ops.max if math.prod(sizes.shape) else ops.sum
    return reduce(sizes, axis=axis, keepdims=keepdims)


def _root(total: Any, order: float) -> Any:
    """total ** (1 / order), whose gradient is 0 where the total is."""
    is_zero = ops.equal(total, 0)
    safe = ops.where(is_zero, 1, total)
    root = ops.sqrt(safe) if order == 2 else ops.pow(safe, 1 / order)
    return ops.where(is_zero, math.inf if order < 0 else 0, root)


@named
def vector_norm(
    x: TensorLike,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Tensor:
    """The norm of vectors: the sum of abs(x) ** ord, to the power of 1 / ord.

    Args:
        x: any shape, floating-point.
        axis: the dimensions of a vector; None takes all elements for one.
        keepdims: keep these dimensions with size 1.
        ord: any number; infinity for the largest element, minus infinity for the smallest, 0 for
            the number of elements that are not 0.

    Returns:
        One real tensor. Its gradient at 0 is 0.

    Raises:
        IndexRangeError: an axis is out of range.
        ParameterError: ord is no number.
        ShapeError: a vector without elements has no smallest one.

    Source:
        Array API 2025.12, ``linalg.vector_norm``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.vector_norm(tl.tensor([3.0, -4.0])).item()
        5.0
    """
    x = as_floating(x)
    axes_of("vector_norm", axis, len(x.shape))
    if isinstance(ord, bool) or not isinstance(ord, (int, float)) or math.isnan(ord):
        raise ParameterError("must be a number.", op="vector_norm", argument="ord", got=repr(ord))
    if ord == 2:
        return _euclidean(x, axis, keepdims)
    size = ops.abs(x)
    if ord == 0:
        is_counted = ops.astype(ops.not_equal(x, 0), dtype=size.dtype)
        return ops.sum(is_counted, axis=axis, keepdims=keepdims)
    if math.isinf(ord):
        reduce = _largest_size if ord > 0 else ops.min
        return reduce(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return ops.sum(size, axis=axis, keepdims=keepdims)
    powers = ops.pow(ops.astype(size, dtype=dtype_of_squares(size)), ord)
    total = ops.sum(powers, axis=axis, keepdims=keepdims)
    found = _root(total, ord) if ord > 0 else ops.pow(total, 1 / ord)
    return ops.astype(found, dtype=size.dtype)


def _euclidean(x: Any, axis: Any, keepdims: bool) -> Any:
    """The root of the sum of squares: not of sizes, whose slopes at 0 would be lost."""
    parts = [ops.real(x), ops.imag(x)] if x.dtype.name.startswith("complex") else [x]
    wide = dtype_of_squares(parts[0])
    sums = [ops.sumsq(part, axis=axis, keepdims=keepdims, dtype=wide) for part in parts]
    total = sums[0] if len(sums) == 1 else sums[0] + sums[1]
    return ops.astype(_root(total, 2), dtype=parts[0].dtype)


@named
def matrix_norm(
    x: TensorLike, /, *, keepdims: bool = False, ord: float | str | None = "fro"
) -> Tensor:
    """The norm of matrices.

    Args:
        x: (..., m, n), floating-point.
        keepdims: keep the last two dimensions with size 1.
        ord: 'fro', the root of the sum of squares; 'nuc', the sum of the singular values; 1 and
            infinity, the largest sum of a column, of a row; 2, the largest singular value; the same
            numbers with a minus, the smallest. None is 'fro'.

    Returns:
        One real tensor, (...) without `keepdims`.

    Raises:
        MatrixError: singular values are wanted of NaN or an infinity.
        ParameterError: ord is something else.
        ShapeError: x has fewer than two dimensions, or no elements where the smallest is wanted.

    Source:
        Array API 2025.12, ``linalg.matrix_norm``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.matrix_norm(tl.tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1).item()
        6.0
    """
    x = as_floating(x)
    matrix_shape("matrix_norm", x)
    if ord is None or ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, bool) or ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise ParameterError(
            "must be 'fro', 'nuc', 1, 2 or infinity, or these numbers with a minus.",
            op="matrix_norm",
            argument="ord",
            got=repr(ord),
        )
    if ord == "nuc":
        found = ops.sum(ops.svdvals(x), axis=-1)
    else:
        is_largest = float(ord) > 0
        reduce = _largest_size if is_largest else ops.min
        if abs(float(ord)) == 2:
            sizes = ops.svdvals(x)
        else:
            sizes = ops.sum(ops.abs(x), axis=-2 if abs(float(ord)) == 1 else -1)
        found = reduce(sizes, axis=-1, keepdims=False)
    return expand_dims(found, (-2, -1)) if keepdims else found


@named
def norm(
    x: TensorLike,
    /,
    ord: float | str | None = None,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The norm of vectors where one axis is given, of matrices where two are.

    Args:
        x: any shape, floating-point.
        ord: as `vector_norm` or `matrix_norm` takes it; None is the root of the sum of squares.
        axis: the dimensions of a vector, or of a matrix. None takes all: a matrix where x has two
            dimensions and ord is given, else one vector.
        keepdims: keep these dimensions with size 1.

    Returns:
        One real tensor.

    Raises:
        IndexRangeError: an axis is out of range.
        ParameterError: ord is not one for a vector, or for a matrix.
        ShapeError: there are more than two axes, and ord is given.

    Source:
        ``numpy.linalg.norm``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[3.0, -4.0], [0.0, 12.0]])
        >>> (tl.linalg.norm(x).item(), tl.linalg.norm(x, 1, axis=0).tolist())
        (13.0, [3.0, 16.0])
    """
    x = as_floating(x)
    ndim = len(x.shape)
    given = axis if isinstance(axis, (tuple, list)) else range(ndim) if axis is None else (axis,)
    axes = tuple(axis_of("norm", one, ndim) for one in given)
    if ord is None:
        return vector_norm(x, axis=axes if ndim else None, keepdims=keepdims)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)  # type: ignore[arg-type]
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError("with an ord, axis must be one or two axes.", op="norm", got=f"{axes}")
    rest = tuple(i for i in range(ndim) if i not in axes)
    found = matrix_norm(ops.permute_dims(x, (*rest, *axes)), ord=ord)
    return expand_dims(found, axes) if keepdims else found


@named
def matrix_rank(
    x: TensorLike,
    /,
    *,
    rtol: float | TensorLike | None = None,
    atol: float | TensorLike | None = None,
) -> Tensor:
    """How many singular values are not 0.

    Args:
        x: (..., m, n), floating-point, finite.
        rtol: values up to it, relative to the largest, count as 0; the precision of the dtype times
            max(m, n) by default, 0 where atol is given. A tensor has one for each matrix.
        atol: values up to it count as 0, whatever the largest is.

    Returns:
        One tensor of int64, (...).

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2025.12, ``linalg.matrix_rank``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.matrix_rank(tl.tensor([[1.0, 2.0], [2.0, 4.0]])).item()
        1
    """
    x = as_floating(x)
    rows, columns = matrix_shape("matrix_rank", x)
    values = ops.svdvals(x)
    if rtol is None and atol is not None:
        bound: Any = 0.0
    elif rtol is None:
        precision = 2.0**-52 if values.dtype.name == "float64" else 2.0**-23
        bound = largest_of(values) * (precision * max(rows, columns))
    else:
        bound = largest_of(values) * _per_matrix(rtol)
    if atol is not None:
        bound = ops.maximum(bound, _per_matrix(atol))
    return ops.count_nonzero(ops.greater(values, bound), axis=-1)


def _per_matrix(tolerance: Any) -> Any:
    """One number, or one for each matrix, beside its singular values."""
    return (
        tolerance if isinstance(tolerance, (int, float)) else expand_dims(as_tensor(tolerance), -1)
    )


@named
def cond(x: TensorLike, p: float | str | None = None) -> Tensor:
    """The condition number: how much relative errors may grow when equations with x are solved.

    Args:
        x: (..., m, n), floating-point, finite; square unless p is None, 2 or -2.
        p: the norm, as `matrix_norm` takes it; None is 2.

    Returns:
        One real tensor, (...); infinite for singular matrices where p is None or 2.

    Raises:
        MatrixError: a matrix has NaN or an infinity, or is singular where p needs its inverse.
        ParameterError: p is no norm.
        ShapeError: x has fewer than two dimensions or no elements, or is not square where p needs
            its inverse.

    Source:
        ``numpy.linalg.cond``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.cond(tl.tensor([[4.0, 0.0], [0.0, 2.0]])).item()
        2.0
    """
    x = as_floating(x)
    if p is None or p in (2, -2):
        values = ops.svdvals(x)
        if not values.shape[-1]:
            raise ShapeError("a matrix must have elements.", op="cond", got=f"x.shape={x.shape}")
        largest, smallest = ops.max(values, axis=-1), ops.min(values, axis=-1)
        if p == -2:
            return smallest / largest
        is_singular = ops.equal(smallest, 0)
        return ops.where(is_singular, math.inf, largest / ops.where(is_singular, 1, smallest))
    return matrix_norm(x, ord=p) * matrix_norm(ops.inv(x), ord=p)
