"""Ops that read images between their elements: grids, deformed windows; and columns of windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..... import _C
from ..... import functional as F
from ..attribute_functions import is_symmetric, ones_like
from ..element_types import converted
from ..rule_table import bounded, rule


@rule
def grid_sample(x: Any, grid: Any, *, align_corners: int, mode: str, padding_mode: str) -> Any:
    """The elements of images at the places of a grid."""
    names = {"bilinear": "linear", "bicubic": "cubic"}
    mode = names.get(mode, mode)
    count = len(x.shape) - 2
    places = []
    for i in range(count):
        size = x.shape[2 + i]
        own = grid[..., count - 1 - i]  # the last axis first
        whole = size - 1 if align_corners else size  # from -1 to 1
        at = (own + 1) * (whole / 2) - (0.0 if align_corners else 0.5)
        if padding_mode == "reflection":
            first, last = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
            if mode != "cubic":
                at = _reflected(at, first, last)
        if padding_mode == "border" and mode != "cubic":
            at = F.minimum(F.maximum(at, 0), size - 1)
        places.append(at)
    return sampled(x, places, mode, padding_mode, align_corners)


def _reflected(at: Any, first: float, last: float) -> Any:
    length = last - first
    if length <= 0:
        return at * 0
    away = F.abs(at - first)
    turns = F.floor(away / length)
    rest = away - turns * length
    is_even = F.remainder(turns, 2) == 0
    return F.where(is_even, rest + first, last - rest)


def sampled(
    x: Any, places: Sequence[Any], mode: str, padding: str = "zeros", align_corners: int = 0
) -> Any:
    """Elements of (images, channels, *spatial) at places, one tensor for each spatial axis.

    Places are (images, *outputs); what lies outside is 0, or as the padding says.
    """
    if mode not in ("linear", "nearest", "cubic"):
        raise _C.ArgumentError(
            "must be linear, nearest or cubic", op="GridSample", argument="mode", got=repr(mode)
        )
    taps = [_taps(at, mode, x.dtype) for at in places]
    rows = F.reshape(x, (x.shape[0], x.shape[1], -1))
    total: Any = None
    for chosen in product(*taps):
        flat: Any = 0
        share: Any = None
        for (index, weight), size in zip(chosen, x.shape[2:], strict=True):
            if mode == "cubic" and padding == "reflection":
                first, last = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
                index = _reflected(index, first, last)
            inside = (index >= 0) & (index <= size - 1)
            own = weight if padding != "zeros" else F.where(inside, weight, 0)
            at = converted(F.minimum(F.maximum(F.round(index), 0), size - 1), "int64")
            flat = flat * size + at
            share = own if share is None else share * own
        found = _picked(rows, flat) * F.expand_dims(share, 1)
        total = found if total is None else total + found
    return converted(total, x.dtype)


def _taps(at: Any, mode: str, dtype: Any) -> list[tuple[Any, Any]]:
    """Indices, not rounded into the image yet, with their weights."""
    if mode == "nearest":
        near = F.round(at)
        return [(near, F.ones_like(near))]
    low = F.floor(at)
    rest = at - low
    if mode == "linear":
        return [(low, 1 - rest), (low + 1, rest)]
    a = -0.75
    found = []
    for k in (-1, 0, 1, 2):
        distance = F.abs(rest - k)
        if k in (0, 1):
            weight = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        else:
            weight = ((distance - 5) * distance + 8) * distance * a - 4 * a
        found.append((low + k, weight))
    return found


def _picked(rows: Any, flat: Any) -> Any:
    """(images, channels, *outputs) of (images, channels, elements), by (images, *outputs)."""
    at = F.reshape(flat, (flat.shape[0], 1, -1))
    at = F.broadcast_to(at, (flat.shape[0], rows.shape[1], at.shape[2]))
    found = F.take_along_axis(rows, at, axis=2)
    return F.reshape(found, (rows.shape[0], rows.shape[1], *flat.shape[1:]))


@rule
def deformable_convolution(
    x: Any, w: Any, offset: Any, b: Any, mask: Any, *, pads: Any, strides: Any, dilations: Any,
    group: int, offset_group: int, kernel_shape: Any,
) -> Any:  # fmt: skip
    """A convolution whose windows read at places moved by offsets, weighed by a mask."""
    count = len(x.shape) - 2
    strides, dilations = ones_like(strides, count), ones_like(dilations, count)
    around = (0,) * (2 * count) if pads is None else pads
    kernel = tuple(w.shape[2:])
    outs = tuple(offset.shape[2:])
    taps = int(np.prod(kernel))
    images, channels = x.shape[:2]
    moved = F.reshape(offset, (images, offset_group, taps, count, *outs))
    each = channels // offset_group
    columns = []
    for g in range(offset_group):
        own = x[:, g * each : (g + 1) * each]
        for tap, k in enumerate(np.ndindex(*kernel)):
            places = []
            for i in range(count):
                shape = [1] * count
                shape[i] = outs[i]
                base = np.arange(outs[i]) * strides[i] - around[i] + k[i] * dilations[i]
                start = converted(F.asarray(base.reshape(shape)), x.dtype)
                places.append(moved[:, g, tap, i] + start)
            found = sampled(own, places, "linear")
            if mask is not None:
                shown = F.reshape(mask, (images, offset_group, taps, *outs))[:, g, tap]
                found = found * F.expand_dims(shown, 1)
            columns.append(found)
    parts = [F.stack(columns[g * taps : (g + 1) * taps], axis=2) for g in range(offset_group)]
    whole = F.concat(parts, axis=1)  # (images, channels, taps, *outs)
    size = int(np.prod(outs))
    rows = F.reshape(whole, (images, group, channels // group * taps, size))
    weight = F.reshape(w, (1, group, w.shape[0] // group, -1))
    y = F.reshape(F.matmul(weight, rows), (images, w.shape[0], *outs))
    return y if b is None else y + F.reshape(b, (1, -1, *[1] * count))


@rule
def column_to_image(
    x: Any, image_shape: Any, block_shape: Any, *, dilations: Any, pads: Any, strides: Any
) -> Any:
    """Windows put back where they lay, summed where they overlap."""
    count = len(image_shape)
    dilations, strides = ones_like(dilations, count), ones_like(strides, count)
    around = (0,) * (2 * count) if pads is None else pads
    if count == 2 and is_symmetric(around):
        return F.fold(
            x, image_shape, block_shape, dilation=tuple(dilations), padding=tuple(around[:count]),
            stride=tuple(strides),
        )  # fmt: skip
    taps = int(np.prod(block_shape))
    channels = x.shape[1] // taps
    wide = [n + around[i] + around[i + count] for i, n in enumerate(image_shape)]
    outs = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(wide, block_shape, dilations, strides, strict=True)
    ]
    bounded("Col2Im", *outs, *block_shape)
    flat: Any = 0
    for i in range(count):
        at = (
            np.arange(outs[i])[None, :] * strides[i]
            + np.arange(block_shape[i])[:, None] * dilations[i]
        )
        shape = [1] * (2 * count)
        shape[i], shape[count + i] = at.shape
        flat = flat * wide[i] + at.reshape(shape)
    index = F.asarray(np.broadcast_to(flat, (*block_shape, *outs)).reshape(-1).astype(np.int64))
    rows = F.moveaxis(F.reshape(x, (x.shape[0], channels, -1)), 2, 0)
    empty = F.full((int(np.prod(wide)), x.shape[0], channels), 0, dtype=x.dtype)
    summed = F.moveaxis(F.scatter_add(empty, rows, index, axes=(0,)), 0, 2)
    image = F.reshape(summed, (x.shape[0], channels, *wide))
    items = [slice(None), slice(None)]
    items += [slice(around[i], around[i] + n) for i, n in enumerate(image_shape)]
    return image[tuple(items)]
