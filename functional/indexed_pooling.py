"""Maxima of windows, and where they stand.

Places count the elements of an image's channel in C order, as PyTorch's indices do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..imperative import Tensor, TensorLike
from .arguments import named
from .arranging import as_tensor
from .generated import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    arange,
    astype,
    broadcast_to,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_select,
    reshape,
)

__all__ = [
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d_with_indices",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
]

_Size = int | Sequence[int]
_MOST_OF_FLOAT32 = 2**24  # counted exactly
_NARROW = ("float16", "bfloat16", "float32")


def _with_places(pool: Callable[..., Any], x: TensorLike, **attrs: Any) -> Any:
    """The maxima, and where in its channel each of them stands."""
    x = as_tensor(x)
    y = pool(x, **attrs)
    size = math.prod(x.shape[2:])
    # In the dtype that is compared in: doubles count exactly further than any memory reaches.
    is_small = isinstance(size, int) and size <= _MOST_OF_FLOAT32
    dtype = "float32" if is_small and x.dtype.name in _NARROW else "float64"
    places = reshape(arange(0, size, dtype=dtype), (1, 1, *x.shape[2:]))
    found = max_pool_select(x, broadcast_to(places, tuple(x.shape)), **attrs)
    return y, astype(found, dtype="int64")


@named
def max_pool1d_with_indices(
    x: TensorLike,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maximum of each window over the length, and where it stands.

    Args:
        x: (images, channels, length), real floating-point.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: what is added on either side and never the maximum.
        dilation: the distance between elements of the window.
        ceil_mode: keep a last window that is partly outside.

    Returns:
        The maxima, and the places of the first of each in its channel, int64.

    Raises:
        ShapeError: x has other dimensions, or the window does not fit.

    Source:
        PyTorch, ``torch.nn.functional.max_pool1d_with_indices``.

    Example:
        >>> import tensorlike as tl
        >>> y, places = tl.functional.max_pool1d_with_indices(tl.tensor([[[3.0, 4.0]]]), 2)
        >>> y.tolist(), places.tolist()
        ([[[4.0]]], [[[1]]])
    """
    return _with_places(
        max_pool1d, x,
        kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
        ceil_mode=ceil_mode,
    )  # fmt: skip


@named
def adaptive_max_pool1d_with_indices(x: TensorLike, output_size: _Size) -> tuple[Tensor, Tensor]:
    """The maxima of parts of nearly the same size over the length, and where they stand.

    Args:
        x: (images, channels, length), real floating-point.
        output_size: the number of parts, for each dimension or for all.

    Returns:
        The maxima, and the places of the first of each in its channel, int64.

    Raises:
        ShapeError: x has other dimensions.

    Source:
        PyTorch, ``torch.nn.functional.adaptive_max_pool1d_with_indices``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[[3.0, 4.0]]])
        >>> [part.tolist() for part in tl.functional.adaptive_max_pool1d_with_indices(x, 1)]
        [[[[4.0]]], [[[1]]]]
    """
    return _with_places(adaptive_max_pool1d, x, output_size=output_size)


@named
def max_pool2d_with_indices(
    x: TensorLike,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maximum of each window over height and width, and where it stands.

    Args:
        x: (images, channels, height, width), real floating-point.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: what is added on either side and never the maximum.
        dilation: the distance between elements of the window.
        ceil_mode: keep a last window that is partly outside.

    Returns:
        The maxima, and the places of the first of each in its channel, int64.

    Raises:
        ShapeError: x has other dimensions, or the window does not fit.

    Source:
        PyTorch, ``torch.nn.functional.max_pool2d_with_indices``.

    Example:
        >>> import tensorlike as tl
        >>> y, places = tl.functional.max_pool2d_with_indices(tl.tensor([[[[3.0, 4.0]]]]), (1, 2))
        >>> y.tolist(), places.tolist()
        ([[[[4.0]]]], [[[[1]]]])
    """
    return _with_places(
        max_pool2d, x,
        kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
        ceil_mode=ceil_mode,
    )  # fmt: skip


@named
def adaptive_max_pool2d_with_indices(x: TensorLike, output_size: _Size) -> tuple[Tensor, Tensor]:
    """The maxima of parts of nearly the same size over height and width, and where they stand.

    Args:
        x: (images, channels, height, width), real floating-point.
        output_size: the number of parts, for each dimension or for all.

    Returns:
        The maxima, and the places of the first of each in its channel, int64.

    Raises:
        ShapeError: x has other dimensions.

    Source:
        PyTorch, ``torch.nn.functional.adaptive_max_pool2d_with_indices``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[[[3.0, 4.0]]]])
        >>> [part.tolist() for part in tl.functional.adaptive_max_pool2d_with_indices(x, 1)]
        [[[[[4.0]]]], [[[[1]]]]]
    """
    return _with_places(adaptive_max_pool2d, x, output_size=output_size)


@named
def max_pool3d_with_indices(
    x: TensorLike,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    padding: _Size = 0,
    dilation: _Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maximum of each window over depth, height and width, and where it stands.

    Args:
        x: (images, channels, depth, height, width), real floating-point.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: what is added on either side and never the maximum.
        dilation: the distance between elements of the window.
        ceil_mode: keep a last window that is partly outside.

    Returns:
        The maxima, and the places of the first of each in its channel, int64.

    Raises:
        ShapeError: x has other dimensions, or the window does not fit.

    Source:
        PyTorch, ``torch.nn.functional.max_pool3d_with_indices``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[[[[3.0, 4.0]]]]])
        >>> y, places = tl.functional.max_pool3d_with_indices(x, (1, 1, 2))
        >>> y.tolist(), places.tolist()
        ([[[[[4.0]]]]], [[[[[1]]]]])
    """
    return _with_places(
        max_pool3d, x,
        kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
        ceil_mode=ceil_mode,
    )  # fmt: skip


@named
def adaptive_max_pool3d_with_indices(x: TensorLike, output_size: _Size) -> tuple[Tensor, Tensor]:
    """The maxima of nearly equal parts over depth, height and width, and where they stand.

    Args:
        x: (images, channels, depth, height, width), real floating-point.
        output_size: the number of parts, for each dimension or for all.

    Returns:
        The maxima, and the places of the first of each in its channel, int64.

    Raises:
        ShapeError: x has other dimensions.

    Source:
        PyTorch, ``torch.nn.functional.adaptive_max_pool3d_with_indices``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[[[[3.0, 4.0]]]]])
        >>> [part.tolist() for part in tl.functional.adaptive_max_pool3d_with_indices(x, 1)]
        [[[[[[4.0]]]]], [[[[[1]]]]]]
    """
    return _with_places(adaptive_max_pool3d, x, output_size=output_size)
