"""The way back from maxima to where they stood."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..imperative import ShapeError, Tensor, TensorLike
from .arguments import integer, named, several
from .arranging import as_tensor, checked_shape
from .creation import zeros
from .generated import put_along_axis, reshape

__all__ = [
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

_Size = int | Sequence[int]


def _unpooled(
    call: str,
    spatial: int,
    x: TensorLike,
    indices: TensorLike,
    kernel_size: _Size,
    stride: _Size | None,
    padding: _Size,
    output_size: Sequence[int] | None,
) -> Any:
    x, indices = as_tensor(x), as_tensor(indices)
    if len(x.shape) != spatial + 2 or tuple(indices.shape) != tuple(x.shape):
        raise ShapeError(
            f"x and indices must be (images, channels, *spatial) of {spatial + 2} "
            "dimensions, and "
            "of one shape.",
            op=call,
            got=f"x.shape={x.shape}, indices.shape={indices.shape}",
        )

    def sizes(name: str, given: _Size, least: int) -> list[int]:
        return [integer(call, name, n, least=least) for n in several(call, name, given, spatial)]

    kernel = sizes("kernel_size", kernel_size, 1)
    steps = kernel if stride is None else sizes("stride", stride, 1)
    margins = sizes("padding", padding, 0)
    images, channels, *own = x.shape
    usual = [(n - 1) * s - 2 * m + k
             for n, s, m, k in zip(own, steps, margins, kernel, strict=True)]  # fmt: skip
    size = usual
    if output_size is not None:
        given = several(call, "output_size", output_size)
        size = sizes("output_size", given[2:] if len(given) == spatial + 2 else given, 1)
    if any(not u - s < n < u + s for n, u, s in zip(size, usual, steps, strict=True)):
        raise ShapeError(
            f"must be less than a stride away from {tuple(usual)}.",
            op=call,
            argument="output_size",
            got=f"output_size={tuple(size)}",
        )
    shape = checked_shape(call, [images, channels, *size])
    flat = (images, channels, math.prod(size))
    values = put_along_axis(
        zeros(flat, dtype=x.dtype),
        reshape(indices, (images, channels, math.prod(own))),
        reshape(x, (images, channels, math.prod(own))),
        axis=-1,
    )
    return reshape(values, tuple(shape))


@named
def max_unpool1d(
    x: TensorLike,
    indices: TensorLike,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    padding: _Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima over the length put back where they stood, among zeros.

    Args:
        x: (images, channels, length), any dtype.
        indices: the places that `max_pool1d_with_indices` gave, of x's shape; of values with one
            place the last counts.
        kernel_size: the size of the window that was pooled, for each dimension or for all.
        stride: the step of that window; None is kernel_size.
        padding: what was added on either side.
        output_size: the size of the result, with images and channels or without; None takes the
            least that pools to x.

    Returns:
        One tensor of images that x may have been pooled from.

    Raises:
        ShapeError: x has other dimensions, or the output size does not pool to x.
        IndexRangeError: a place is outside of the result.

    Source:
        PyTorch, ``torch.nn.functional.max_unpool1d``.

    Example:
        >>> import tensorlike as tl
        >>> x, places = tl.tensor([[[4.0]]]), tl.tensor([[[1]]])
        >>> tl.functional.max_unpool1d(x, places, 2).tolist()
        [[[0.0, 4.0]]]
    """
    given = (x, indices, kernel_size, stride, padding, output_size)
    return _unpooled("max_unpool1d", 1, *given)


@named
def max_unpool2d(
    x: TensorLike,
    indices: TensorLike,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    padding: _Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima over height and width put back where they stood, among zeros.

    Args:
        x: (images, channels, height, width), any dtype.
        indices: the places that `max_pool2d_with_indices` gave, of x's shape; of values with one
            place the last counts.
        kernel_size: the size of the window that was pooled, for each dimension or for all.
        stride: the step of that window; None is kernel_size.
        padding: what was added on either side.
        output_size: the size of the result, with images and channels or without; None takes the
            least that pools to x.

    Returns:
        One tensor of images that x may have been pooled from.

    Raises:
        ShapeError: x has other dimensions, or the output size does not pool to x.
        IndexRangeError: a place is outside of the result.

    Source:
        PyTorch, ``torch.nn.functional.max_unpool2d``.

    Example:
        >>> import tensorlike as tl
        >>> x, places = tl.tensor([[[[4.0]]]]), tl.tensor([[[[1]]]])
        >>> tl.functional.max_unpool2d(x, places, (1, 2)).tolist()
        [[[[0.0, 4.0]]]]
    """
    given = (x, indices, kernel_size, stride, padding, output_size)
    return _unpooled("max_unpool2d", 2, *given)


@named
def max_unpool3d(
    x: TensorLike,
    indices: TensorLike,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    padding: _Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima over depth, height and width put back where they stood, among zeros.

    Args:
        x: (images, channels, depth, height, width), any dtype.
        indices: the places that `max_pool3d_with_indices` gave, of x's shape; of values with one
            place the last counts.
        kernel_size: the size of the window that was pooled, for each dimension or for all.
        stride: the step of that window; None is kernel_size.
        padding: what was added on either side.
        output_size: the size of the result, with images and channels or without; None takes the
            least that pools to x.

    Returns:
        One tensor of images that x may have been pooled from.

    Raises:
        ShapeError: x has other dimensions, or the output size does not pool to x.
        IndexRangeError: a place is outside of the result.

    Source:
        PyTorch, ``torch.nn.functional.max_unpool3d``.

    Example:
        >>> import tensorlike as tl
        >>> x, places = tl.tensor([[[[[4.0]]]]]), tl.tensor([[[[[1]]]]])
        >>> tl.functional.max_unpool3d(x, places, (1, 1, 2)).tolist()
        [[[[[0.0, 4.0]]]]]
    """
    given = (x, indices, kernel_size, stride, padding, output_size)
    return _unpooled("max_unpool3d", 3, *given)
