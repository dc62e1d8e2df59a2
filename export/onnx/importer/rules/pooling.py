"""Pooling: by our ops where their padding is that of ONNX, else over windows put side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..... import _C
from ..... import functional as F
from .....imperative import Size
from ..attribute_functions import is_symmetric, limit, ones_like, window_pads
from ..element_types import converted
from ..rule_table import bounded, rule


class Places(NamedTuple):
    """Where windows read: arrays of (*outputs, window).

    Attributes:
        flat: the place among the spatial elements; 0 outside.
        inside: whether it is an element.
        padded: whether it is an element or padding, and not beyond both.
    """

    flat: Any
    inside: Any
    padded: Any
    shape: tuple[int, ...]


def places_of(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
    pads: Sequence[int], ceil_mode: int,
) -> Places:  # fmt: skip
    """The places of all windows."""
    count = len(sizes)
    axes: list[Any] = []
    outs: list[int] = []
    for i, size in enumerate(sizes):
        wide = (kernel[i] - 1) * dilations[i] + 1
        room = size + pads[i] + pads[i + count] - wide
        out = (-(-room // strides[i]) if ceil_mode else room // strides[i]) + 1
        if ceil_mode and (out - 1) * strides[i] >= size + pads[i]:
            out -= 1  # a window must begin within the elements or the padding before them
        if out < 1:
            raise _C.ShapeError("windows must fit", op="pool", got=f"{kernel} in {tuple(sizes)}")
        bounded("pool", out, kernel[i])
        starts = np.arange(out) * strides[i] - pads[i]
        bounded("pool", *outs, out, *kernel)
        axes.append(starts[:, None] + np.arange(kernel[i]) * dilations[i])
        outs.append(out)
    flat: Any = 0
    inside: Any = True
    padded: Any = True
    for i, (at, size) in enumerate(zip(axes, sizes, strict=True)):
        shape = [1] * (2 * count)
        shape[i], shape[count + i] = at.shape
        own = at.reshape(shape)
        is_in = (own >= 0) & (own < size)
        flat = flat * size + np.where(is_in, own, 0)
        inside = inside & is_in
        padded = padded & (own >= -pads[i]) & (own < size + pads[i + count])
    whole = (*outs, *kernel)
    final = (*outs, int(np.prod(kernel)))
    spread = [np.broadcast_to(a, whole).reshape(final) for a in (flat, inside, padded)]
    return Places(spread[0] * spread[1], spread[1], spread[2], tuple(outs))


def _windows(x: Any, places: Places) -> Any:
    """The elements of all windows, (images, channels, *outputs, window)."""
    rows = F.reshape(x, (x.shape[0], x.shape[1], math.prod(x.shape[2:])))
    return F.take(rows, F.asarray(places.flat.astype(np.int64)), axis=2)


def _settings(
    x: Any, auto_pad: str, pads: Any, kernel_shape: Any, strides: Any, dilations: Any
) -> tuple[Any, ...]:
    count = len(x.shape) - 2
    if kernel_shape is None or len(kernel_shape) != count:
        raise _C.ShapeError(
            f"must be {count} sizes", op="pool", argument="kernel_shape", got=str(kernel_shape)
        )
    strides, dilations = ones_like(strides, count), ones_like(dilations, count)
    around = window_pads(auto_pad, pads, x.shape[2:], kernel_shape, strides, dilations)
    return tuple(kernel_shape), strides, dilations, around


def _is_usual(around: Sequence[int], kernel: Sequence[int]) -> bool:
    """Whether our ops pad so: the same on both sides, by at most half of the window."""
    half = all(2 * n <= k for n, k in zip(around, kernel, strict=False))
    return is_symmetric(around) and half


def _refuse_unknown(x: Any, op: str) -> None:
    if any(isinstance(size, Size) for size in x.shape[2:]):
        raise _C.ShapeError(
            "sizes must be known where windows are padded so", op=op, got=str(x.shape)
        )


_WITH_PLACES = {
    1: F.max_pool1d_with_indices,
    2: F.max_pool2d_with_indices,
    3: F.max_pool3d_with_indices,
}


def _planes(x: Any, count: int) -> Any:
    """How many elements stand before each channel of each image."""
    planes = F.arange(x.shape[0] * x.shape[1]) * math.prod(x.shape[2:])
    return F.reshape(planes, (x.shape[0], x.shape[1], *[1] * count))


@rule
def max_pool(
    x: Any, *, auto_pad: str, pads: Any, kernel_shape: Any, strides: Any, dilations: Any,
    ceil_mode: int, storage_order: int, outputs: int,
) -> Any:  # fmt: skip
    """The largest of each window, and where it is."""
    kernel, strides, dilations, around = _settings(
        x, auto_pad, pads, kernel_shape, strides, dilations
    )
    count = len(kernel)
    if outputs == 1 and _is_usual(around, kernel):
        return F.max_pool(
            x, kernel_size=kernel, stride=strides, padding=around[:count], dilation=dilations,
            ceil_mode=bool(ceil_mode),
        )  # fmt: skip
    is_open = any(isinstance(size, Size) for size in x.shape[2:])
    if is_open and _is_usual(around, kernel) and x.dtype.kind == "floating" and not storage_order:
        largest, own = _WITH_PLACES[count](
            x, kernel, stride=strides, padding=around[:count], dilation=dilations,
            ceil_mode=bool(ceil_mode),
        )  # fmt: skip
        return largest, own + _planes(x, count)
    _refuse_unknown(x, "MaxPool")
    places = places_of(x.shape[2:], kernel, strides, dilations, around, ceil_mode)
    least = float("-inf") if x.dtype.kind == "floating" else limit(x.dtype, "lowest")
    values = F.where(F.asarray(places.inside), _windows(x, places), least)
    largest = converted(F.max(values, axis=-1), x.dtype)
    if outputs == 1:
        return largest
    flat = places.flat
    if storage_order:
        sizes = tuple(x.shape[2:])
        flat = np.ravel_multi_index(np.unravel_index(flat, sizes)[::-1], sizes[::-1])
    chosen = F.argmax(values, axis=-1, keepdims=True)
    table = F.broadcast_to(F.asarray(flat.astype(np.int64)), values.shape)
    own = F.squeeze(F.take_along_axis(table, chosen, axis=-1), axis=-1)
    return largest, own + _planes(x, count)


@rule
def average_pool(
    x: Any, *, auto_pad: str, pads: Any, kernel_shape: Any, strides: Any, dilations: Any,
    ceil_mode: int, count_include_pad: int,
) -> Any:  # fmt: skip
    """The mean of each window."""
    kernel, strides, dilations, around = _settings(
        x, auto_pad, pads, kernel_shape, strides, dilations
    )
    if _is_usual(around, kernel) and set(dilations) <= {1}:
        return F.avg_pool(
            x, kernel_size=kernel, stride=strides, padding=around[: len(kernel)],
            ceil_mode=bool(ceil_mode), count_include_pad=bool(count_include_pad),
        )  # fmt: skip
    _refuse_unknown(x, "AveragePool")
    places = places_of(x.shape[2:], kernel, strides, dilations, around, ceil_mode)
    counted = places.padded if count_include_pad else places.inside
    counts = converted(F.asarray(counted.sum(-1)), x.dtype)
    values = F.where(F.asarray(places.inside), _windows(x, places), 0)
    return F.sum(values, axis=-1) / counts


@rule
def lp_pool(
    x: Any, *, auto_pad: str, pads: Any, kernel_shape: Any, strides: Any, dilations: Any,
    ceil_mode: int, p: int,
) -> Any:  # fmt: skip
    """The p-norm of each window."""
    kernel, strides, dilations, around = _settings(
        x, auto_pad, pads, kernel_shape, strides, dilations
    )
    _refuse_unknown(x, "LpPool")
    places = places_of(x.shape[2:], kernel, strides, dilations, around, ceil_mode)
    values = F.where(F.asarray(places.inside), F.pow(F.abs(_windows(x, places)), p), 0)
    return F.pow(F.sum(values, axis=-1), 1 / p)


@rule
def max_unpool(
    x: Any, indices: Any, wanted: Any, *, kernel_shape: Any, pads: Any, strides: Any
) -> Any:
    """What max_pool gave, at the places where it was, and zeros."""
    count = len(x.shape) - 2
    strides = ones_like(strides, count)
    around = (0,) * (2 * count) if pads is None else pads
    sizes = [
        (size - 1) * stride - around[i] - around[i + count] + kernel
        for i, (size, stride, kernel) in enumerate(
            zip(x.shape[2:], strides, kernel_shape, strict=True)
        )
    ]
    inferred = (*x.shape[:2], *sizes)
    empty = F.full((int(np.prod(inferred)),), 0, dtype=x.dtype)
    found = F.scatter_set(empty, F.reshape(x, (-1,)), F.reshape(indices, (-1,)), axes=(0,))
    image = F.reshape(found, inferred)
    if wanted is None or tuple(wanted) == tuple(inferred):
        return image
    # The places are those of the smaller image, which lies at the beginning of the larger one.
    widths = [n for a, b in zip(inferred, wanted, strict=True) for n in (0, b - a)]
    return F.pad(image, widths)
