"""Calls of the Array API that work out how a few ops fit together: products, differences, sets.

Like those of `arranging`, they choose between ops or work out attributes from shapes.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Sequence

from ..imperative import DTypeError, ShapeError, Tensor, TensorLike, dtype
from ..ops import Elemwise
from .arguments import makes, named, one_op_on
from .arranging import as_tensor, axes_of, axis_of
from .generated import (
    astype,
    concat,
    equal,
    logical_not,
    matmul,
    minimum,
    not_equal,
    permute_dims,
    reshape,
    searchsorted,
    sort,
    subtract,
)
from .picking import take
from .promotion import result_type

__all__ = [
    "clip",
    "diff",
    "isin",
    "matrix_transpose",
    "tensordot",
]


@functools.cache
def _beside_number(of: dtype, is_whole: bool) -> dtype:
    return result_type(of, 0 if is_whole else 0.0)


def _beside(x: Tensor, bound: TensorLike) -> dtype:
    """The dtype of both; that of a plain number is asked once for each kind of it."""
    if type(bound) is int or type(bound) is float:
        return _beside_number(x.dtype, type(bound) is int)
    return result_type(x, bound)


@one_op_on(1, beside=2)
def clip(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """The elements, those beyond a bound replaced by it.

    Args:
        x: any shape, real numeric.
        min: the lower bound, broadcast against x; None for none.
        max: the upper bound, which wins where it lies below the lower one.

    Returns:
        One tensor of the dtype of x.

    Raises:
        DTypeError: a bound would change the dtype of x.

    Source:
        Array API 2025.12, ``clip``.

    Example:
        >>> import tensorlike as tl
        >>> tl.clip(tl.tensor([1, 5, 9]), 2, 7).tolist()
        [2, 5, 7]
    """
    x = as_tensor(x)
    for bound in (min, max):
        if bound is not None and (found := _beside(x, bound)) is not x.dtype:
            raise DTypeError(
                f"must fit {x.dtype.name}.",
                op="clip",
                argument="bounds",
                got=f"what needs {found.name}",
            )
    if min is None and max is None:
        return +x
    both = "clip_between"
    return makes(Elemwise(mode="maximum" if max is None else "minimum" if min is None else both))


@named
def matrix_transpose(x: TensorLike) -> Tensor:
    """The last two dimensions exchanged.

    Args:
        x: (..., rows, columns), any dtype.

    Raises:
        ShapeError: x has fewer than two dimensions.

    Source:
        Array API 2025.12, ``matrix_transpose``.

    Example:
        >>> import tensorlike as tl
        >>> tl.matrix_transpose(tl.tensor([[1, 2], [3, 4]])).tolist()
        [[1, 3], [2, 4]]
    """
    x = as_tensor(x)
    ndim = len(x.shape)
    if ndim < 2:
        raise ShapeError(
            "must have two dimensions or more.",
            op="matrix_transpose",
            argument="x",
            got=f"{x.shape}",
        )
    return permute_dims(x, (*range(ndim - 2), ndim - 1, ndim - 2))


@named
def tensordot(
    x1: TensorLike, x2: TensorLike, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Products summed over several dimensions.

    Args:
        x1: any shape, numeric.
        x2: any shape, numeric.
        axes: the dimensions of x1 and of x2 that are multiplied with each other; a number means
            as many at the end of x1 and at the start of x2.

    Returns:
        One tensor: the other dimensions of x1, then those of x2.

    Raises:
        ShapeError: the sizes, or the numbers of axes, differ.
        IndexRangeError: an axis is out of range.

    Source:
        Array API 2025.12, ``tensordot``.

    Example:
        >>> import tensorlike as tl
        >>> tl.tensordot(tl.tensor([[1, 2], [3, 4]]), tl.tensor([5, 6]), axes=1).tolist()
        [17, 39]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if isinstance(axes, Sequence):
        first, second = (
            axes_of("tensordot", part, len(x.shape)) for part, x in zip(axes, (x1, x2), strict=True)
        )
    else:
        count = operator.index(axes)
        if not 0 <= count <= builtins.min(len(x1.shape), len(x2.shape)):
            raise ShapeError(
                f"must be in [0, {builtins.min(len(x1.shape), len(x2.shape))}] for "
                f"shapes {x1.shape} "
                f"and {x2.shape}.",
                op="tensordot",
                argument="axes",
                got=f"{count}",
            )
        first, second = list(range(len(x1.shape) - count, len(x1.shape))), list(range(count))
    sizes = [x1.shape[i] for i in first]
    if sizes != [x2.shape[i] for i in second]:
        raise ShapeError(
            "the sizes of the axes must agree.",
            op="tensordot",
            got=f"{x1.shape} along {first} and {x2.shape} along {second}",
        )
    kept1 = [i for i in range(len(x1.shape)) if i not in first]
    kept2 = [i for i in range(len(x2.shape)) if i not in second]
    shape1, shape2 = [x1.shape[i] for i in kept1], [x2.shape[i] for i in kept2]
    a = reshape(permute_dims(x1, (*kept1, *first)), (math.prod(shape1), math.prod(sizes)))
    b = reshape(permute_dims(x2, (*second, *kept2)), (math.prod(sizes), math.prod(shape2)))
    return reshape(matmul(a, b), (*shape1, *shape2))


@named
def diff(
    x: TensorLike,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Tensor:
    """The differences of neighbours along an axis; for booleans, whether they differ.

    Args:
        x: at least one dimension, any dtype.
        axis: the dimension.
        n: how often differences are taken.
        prepend: what is put before x along the axis first.
        append: what is put behind it.

    Returns:
        One tensor, by n shorter along the axis.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: n is negative, or what is put before or behind does not fit.

    Source:
        Array API 2025.12, ``diff``.

    Example:
        >>> import tensorlike as tl
        >>> tl.diff(tl.tensor([1, 4, 9])).tolist()
        [3, 5]
    """
    x = as_tensor(x)
    at = axis_of("diff", axis, len(x.shape))
    if operator.index(n) < 0:
        raise ShapeError("must not be negative.", op="diff", argument="n", got=f"{n}")
    if n == 0:
        return x
    parts = [as_tensor(part) for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=at) if len(parts) > 1 else x
    before = (slice(None),) * at
    step = not_equal if x.dtype.name == "bool" else subtract
    size = x.shape[at]
    for _ in range(builtins.min(n, size) if type(size) is int else n):
        later, earlier = (*before, slice(1, None)), (*before, slice(None, -1))
        x = step(x[later], x[earlier])
    return x


@named
def isin(x1: TensorLike, x2: TensorLike, *, invert: bool = False) -> Tensor:
    """Whether elements are among others.

    Args:
        x1: any shape, real.
        x2: any shape, real: what to look for; NaN is equal to nothing.
        invert: whether they are not.

    Returns:
        One tensor of booleans, of the shape of x1.

    Source:
        Array API 2025.12, ``isin``.

    Example:
        >>> import tensorlike as tl
        >>> tl.isin(tl.tensor([1, 2, 3]), tl.tensor([3, 1])).tolist()
        [True, False, True]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not math.prod(x2.shape):
        found = not_equal(x1, x1) if x1.dtype.name == "bool" else x1 < x1
    else:
        wanted = result_type(x1, x2)
        x1, x2 = astype(x1, wanted), sort(reshape(astype(x2, wanted), (-1,)))
        place = minimum(searchsorted(x2, x1), x2.shape[0] - 1)
        found = equal(take(x2, place), x1)
    return logical_not(found) if invert else found
