"""Calls that give dimensions another form: joined, parted, exchanged, turned, seen in windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..imperative import ShapeError, Tensor, TensorLike
from ..imperative.indexing import index_op
from ..ops import Reshape, Transpose
from .arguments import divides, integer, makes, named, one_op, several
from .arranging import as_tensor, axes_of, axis_of, checked_shape, flip, moveaxis
from .generated import arange
from .picking import take

__all__ = [
    "flatten",
    "rot90",
    "sliding_window_view",
    "swapaxes",
    "unflatten",
]


@one_op
def flatten(x: TensorLike, *, start_axis: int = 0, end_axis: int = -1) -> Tensor:
    """The tensor with neighbouring dimensions as one, in C order.

    Args:
        x: any shape, any dtype.
        start_axis: the first of the dimensions.
        end_axis: the last one.

    Returns:
        One tensor; one dimension where x has none.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: the last one stands before the first.

    Source:
        PyTorch, ``torch.flatten``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.flatten(tl.tensor([[1, 2], [3, 4]])).tolist()
        [1, 2, 3, 4]
    """
    shape = as_tensor(x).shape
    ndim = len(shape)
    if ndim == 0:
        axes_of("flatten", (start_axis,), 1)
        return index_op(None)
    first, last = axis_of("flatten", start_axis, ndim), axis_of("flatten", end_axis, ndim)
    if first > last:
        raise ShapeError(
            "must not stand behind end_axis.",
            op="flatten",
            argument="start_axis",
            got=f"{start_axis} and {end_axis}",
        )
    size = math.prod(shape[first : last + 1])
    return makes(Reshape(shape=(*shape[:first], size, *shape[last + 1 :])))


@one_op
def unflatten(x: TensorLike, axis: int, sizes: Sequence[int]) -> Tensor:
    """The tensor with a dimension as several, in C order.

    Args:
        x: at least one dimension, any dtype.
        axis: the dimension.
        sizes: the sizes in its place; one may be -1.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: the sizes do not make up that of the dimension.

    Source:
        PyTorch, ``torch.unflatten``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.unflatten(tl.tensor([1, 2, 3, 4]), 0, (2, -1)).tolist()
        [[1, 2], [3, 4]]
    """
    shape = as_tensor(x).shape
    at = axis_of("unflatten", axis, len(shape))
    given = [integer("unflatten", "sizes", size) for size in several("unflatten", "sizes", sizes)]
    known = math.prod(size for size in given if size != -1)
    is_open = given.count(-1) == 1 and min(given) == -1
    if is_open and known > 0 and divides("unflatten", known, shape[at]):
        given[given.index(-1)] = shape[at] // known
    elif not given or min(given) < 0 or math.prod(given) != shape[at]:
        raise ShapeError(
            f"must make up {shape[at]} elements.",
            op="unflatten",
            argument="sizes",
            got=f"sizes={tuple(sizes)}",
        )
    return makes(Reshape(shape=(*shape[:at], *given, *shape[at + 1 :])))


@one_op
def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """The tensor with two dimensions exchanged.

    Args:
        x: at least one dimension, any dtype.
        axis1: one of them.
        axis2: the other.

    Raises:
        IndexRangeError: an axis is out of range.

    Source:
        NumPy, ``numpy.swapaxes``; PyTorch, ``torch.transpose``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.swapaxes(tl.tensor([[1, 2], [3, 4]]), 0, 1).tolist()
        [[1, 3], [2, 4]]
    """
    ndim = len(as_tensor(x).shape)
    first, second = (axis_of("swapaxes", axis, ndim) for axis in (axis1, axis2))
    order = list(range(ndim))
    order[first], order[second] = second, first
    return makes(Transpose(axes=tuple(order)))


@named
def rot90(x: TensorLike, *, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """The tensor turned by right angles in a plane, from the first axis towards the second.

    Args:
        x: at least two dimensions, any dtype.
        k: how many right angles.
        axes: the two dimensions of the plane.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there are not two axes, or they are one.

    Source:
        NumPy, ``numpy.rot90``; PyTorch, ``torch.rot90``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.rot90(tl.tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    x, turns = as_tensor(x), integer("rot90", "k", k) % 4
    plane = axes_of("rot90", several("rot90", "axes", axes, 2), len(x.shape))
    if turns == 0:
        return +x
    if turns == 2:
        return flip(x, plane)
    if turns == 1:
        return swapaxes(flip(x, plane[1]), *plane)
    return flip(swapaxes(x, *plane), plane[1])


@named
def sliding_window_view(
    x: TensorLike,
    window_shape: int | Sequence[int],
    *,
    axis: int | Sequence[int] | None = None,
    step: int | Sequence[int] = 1,
) -> Tensor:
    """All windows of a size, each a view's worth of neighbours.

    Args:
        x: any shape, any dtype.
        window_shape: the size of the windows along each axis.
        axis: the axes they move along; None is all.
        step: how far from one window to the next.

    Returns:
        One tensor: along the axes the windows, and the elements of each in new dimensions behind.

    Raises:
        IndexRangeError: an axis is out of range.
        ParameterError: a step is not positive.
        ShapeError: a window is larger than x, or there is not one size for each axis.

    Source:
        NumPy, ``numpy.lib.stride_tricks.sliding_window_view``; the step: PyTorch,
        ``torch.Tensor.unfold``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.sliding_window_view(tl.tensor([1, 2, 3]), 2).tolist()
        [[1, 2], [2, 3]]
    """
    call = "sliding_window_view"
    x = as_tensor(x)
    axes = axes_of(call, axis, len(x.shape))
    sizes = several(call, "window_shape", window_shape, len(axes))
    steps = several(call, "step", step, len(axes))
    for at, given, far in zip(axes, sizes, steps, strict=True):
        size = integer(call, "window_shape", given, least=0)
        far = integer(call, "step", far, least=1)
        if size > x.shape[at]:
            raise ShapeError(
                "windows must not be larger than x.",
                op=call,
                got=f"{size} for dimension {at} of size {x.shape[at]}",
            )
        count = x.shape[at] - size + 1
        first = (np.arange(count) if type(count) is int else arange(count))[::far]
        checked_shape(call, (*x.shape[:at], first.shape[0], *x.shape[at + 1 :], size))
        x = moveaxis(take(x, first[:, None] + np.arange(size), at), at + 1, -1)
    return x
