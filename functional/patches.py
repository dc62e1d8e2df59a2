"""Calls that move blocks of images: windows in columns and back, channels into space and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..imperative import ShapeError, Size, Tensor, TensorLike
from .arguments import divides, integer, named, several
from .arranging import as_tensor, checked_shape, moveaxis
from .creation import zeros
from .generated import arange, pad, permute_dims, reshape, scatter_add
from .picking import take

__all__ = ["channel_shuffle", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]

_Size = int | Sequence[int]


def _per_dimension(call: str, name: str, given: _Size, count: int, least: int) -> tuple[int, ...]:
    sizes = tuple(integer(call, name, value) for value in several(call, name, given, count))
    if any(size < least for size in sizes):
        raise ShapeError(
            f"must be at least {least}.", op=call, argument=name, got=f"{name}={given}"
        )
    return sizes


def _windows(
    call: str,
    sizes: Sequence[int],
    kernel_size: _Size,
    dilation: _Size,
    padding: _Size,
    stride: _Size,
    columns: Sequence[int] | None = None,
) -> tuple[Any, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Places in the padded image of (offsets in the window, windows), as one number each.

    `columns` is the shape of what is to be put there, checked before there are any places.
    """
    count = len(sizes)
    kernel = _per_dimension(call, "kernel_size", kernel_size, count, 1)
    dilations = _per_dimension(call, "dilation", dilation, count, 1)
    paddings = _per_dimension(call, "padding", padding, count, 0)
    strides = _per_dimension(call, "stride", stride, count, 1)
    padded = tuple(n + 2 * p for n, p in zip(sizes, paddings, strict=True))
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    if any(n < span for n, span in zip(padded, spans, strict=True)):
        raise ShapeError("the window must fit.", op=call, got=f"a span of {spans} in {padded}")
    elements = math.prod(kernel)
    windows = math.prod((n - m) // s + 1 for n, m, s in zip(padded, spans, strides, strict=True))
    if columns is not None and (
        len(columns) != 3 or columns[2] != windows or not divides(call, elements, columns[1])
    ):
        raise ShapeError(
            f"must be (images, channels * {elements}, {windows}).",
            op=call,
            argument="x",
            got=f"x.shape={columns}",
        )
    is_known = not any(isinstance(n, Size) for n in padded)
    places: Any = np.zeros((1, 1), np.int64) if is_known else zeros((1, 1), dtype="int64")
    for n, k, d, s, span in zip(padded, kernel, dilations, strides, spans, strict=True):
        steps = np.arange((n - span) // s + 1) if is_known else arange((n - span) // s + 1)
        along = np.arange(k)[:, None] * d + steps * s
        apart = places[:, None, :, None] * n + along[None, :, None, :]
        places = apart.reshape(apart.shape[0] * k, apart.shape[2] * apart.shape[3])
    return places, padded, kernel, paddings


@named
def unfold(
    x: TensorLike,
    kernel_size: _Size,
    *,
    dilation: _Size = 1,
    padding: _Size = 0,
    stride: _Size = 1,
) -> Tensor:
    """The windows of images as columns.

    Args:
        x: (images, channels, *spatial), any dtype.
        kernel_size: the size of the window, for each dimension or for all.
        dilation: the distance between elements of the window.
        padding: zeros on either side.
        stride: the step of the window.

    Returns:
        One tensor of shape (images, channels * elements of a window, windows).

    Raises:
        ShapeError: x has no spatial dimensions, or the window does not fit.

    Source:
        PyTorch, ``torch.nn.functional.unfold``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.unfold(tl.tensor([[[1.0, 2.0, 3.0]]]), 2).tolist()
        [[[1.0, 2.0], [2.0, 3.0]]]
    """
    x = as_tensor(x)
    if len(x.shape) < 3:
        raise ShapeError(
            "must be (images, channels, *spatial).",
            op="unfold",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    images, channels, *sizes = x.shape
    places, padded, _, paddings = _windows("unfold", sizes, kernel_size, dilation, padding, stride)
    checked_shape("unfold", [images, channels, *places.shape])
    if any(paddings):
        x = pad(x, (0, 0, 0, 0, *(p for p in paddings for _ in range(2))))
    flat = reshape(x, (images, channels, math.prod(padded)))
    elements, windows = places.shape
    return reshape(take(flat, places, axis=2), (images, channels * elements, windows))


@named
def fold(
    x: TensorLike,
    output_size: Sequence[int],
    kernel_size: _Size,
    *,
    dilation: _Size = 1,
    padding: _Size = 0,
    stride: _Size = 1,
) -> Tensor:
    """Images as sums of windows that are given as columns: the transpose of `unfold`.

    Args:
        x: (images, channels * elements of a window, windows), numeric.
        output_size: the spatial dimensions of the images.
        kernel_size: the size of the window, for each dimension or for all.
        dilation: the distance between elements of the window.
        padding: what is cut off on either side.
        stride: the step of the window.

    Returns:
        One tensor of shape (images, channels, *output_size).

    Raises:
        ShapeError: x does not have as many windows, or elements of them.

    Source:
        PyTorch, ``torch.nn.functional.fold``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.fold(tl.tensor([[[1.0, 2.0], [2.0, 3.0]]]), (3,), 2).tolist()
        [[[1.0, 4.0, 3.0]]]
    """
    x = as_tensor(x)
    given = several("fold", "output_size", output_size)
    sizes = _per_dimension("fold", "output_size", given, len(given), 1)
    places, padded, _, paddings = _windows(
        "fold", sizes, kernel_size, dilation, padding, stride, x.shape
    )
    elements, windows = places.shape
    images, channels = x.shape[0], x.shape[1] // elements
    columns = permute_dims(reshape(x, (images, channels, elements, windows)), (2, 3, 0, 1))
    nothing = zeros((math.prod(padded), images, channels), dtype=x.dtype)
    summed = moveaxis(scatter_add(nothing, columns, places, axes=(0,)), 0, -1)
    whole = reshape(summed, (images, channels, *padded))
    inner = [slice(p, p + n) for p, n in zip(paddings, sizes, strict=True)]
    key = (slice(None), slice(None), *inner)
    return whole[key] if any(paddings) else whole


@named
def pixel_shuffle(x: TensorLike, upscale_factor: int) -> Tensor:
    """Channels moved into space: images that are larger by a factor, with fewer channels.

    Args:
        x: (..., channels, height, width), any dtype.
        upscale_factor: the factor; its square divides the channels.

    Raises:
        ShapeError: x has fewer than three dimensions, or channels are not divided.
        ParameterError: the factor is not positive.

    Source:
        Shi et al. 2016, https://arxiv.org/abs/1609.05158.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[[1]], [[2]], [[3]], [[4]]])
        >>> tl.functional.pixel_shuffle(x, 2).tolist()
        [[[1, 2], [3, 4]]]
    """
    x, r = as_tensor(x), integer("pixel_shuffle", "upscale_factor", upscale_factor, least=1)
    if len(x.shape) < 3 or not divides("pixel_shuffle", r * r, x.shape[-3]):
        raise ShapeError(
            f"must be (..., channels, height, width) of channels that {r * r} divides.",
            op="pixel_shuffle",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    *lead, channels, height, width = x.shape
    apart = reshape(x, (*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return reshape(permute_dims(apart, order), (*lead, channels // (r * r), height * r, width * r))


@named
def pixel_unshuffle(x: TensorLike, downscale_factor: int) -> Tensor:
    """Space moved into channels: the inverse of `pixel_shuffle`.

    Args:
        x: (..., channels, height, width), any dtype.
        downscale_factor: the factor, which divides height and width.

    Raises:
        ShapeError: x has fewer than three dimensions, or height or width is not divided.
        ParameterError: the factor is not positive.

    Source:
        Shi et al. 2016, https://arxiv.org/abs/1609.05158.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.pixel_unshuffle(tl.tensor([[[1, 2], [3, 4]]]), 2).tolist()
        [[[1]], [[2]], [[3]], [[4]]]
    """
    x, r = as_tensor(x), integer("pixel_unshuffle", "downscale_factor", downscale_factor, least=1)
    sides = x.shape[-2:]
    if len(x.shape) < 3 or not all(divides("pixel_unshuffle", r, n) for n in sides):
        raise ShapeError(
            f"must be (..., channels, height, width) of sizes that {r} divides.",
            op="pixel_unshuffle",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    *lead, channels, height, width = x.shape
    apart = reshape(x, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return reshape(permute_dims(apart, order), (*lead, channels * r * r, height // r, width // r))


@named
def channel_shuffle(x: TensorLike, groups: int) -> Tensor:
    """The channels of groups taken in turn: the first of each group, the second of each, and on.

    Args:
        x: (images, channels, ...), any dtype.
        groups: the number of groups, which divides the channels.

    Raises:
        ShapeError: x has fewer than two dimensions, or the channels are not divided.
        ParameterError: groups is not positive.

    Source:
        Zhang et al. 2017, https://arxiv.org/abs/1707.01083.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.channel_shuffle(tl.tensor([[1, 2, 3, 4]]), 2).tolist()
        [[1, 3, 2, 4]]
    """
    x, groups = as_tensor(x), integer("channel_shuffle", "groups", groups, least=1)
    if len(x.shape) < 2 or not divides("channel_shuffle", groups, x.shape[1]):
        raise ShapeError(
            f"must be (images, channels, ...) of channels that {groups} divides.",
            op="channel_shuffle",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    images, channels, *rest = x.shape
    apart = reshape(x, (images, groups, channels // groups, *rest))
    order = (0, 2, 1, *range(3, 3 + len(rest)))
    return reshape(permute_dims(apart, order), tuple(x.shape))
