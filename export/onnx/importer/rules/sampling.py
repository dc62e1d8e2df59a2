"""Deformed windows, which read images between their elements; and columns of windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..... import functional as F
from ..attribute_functions import is_symmetric, ones_like
from ..element_types import converted
from ..rule_table import bounded, rule


def sampled(x: Any, places: Sequence[Any]) -> Any:
    """Elements of (images, channels, *spatial) between places, one tensor for each spatial axis.

    Places are (images, *outputs); what lies outside is 0.
    """
    taps = [((low := F.floor(at)), at - low) for at in places]
    rows = F.reshape(x, (x.shape[0], x.shape[1], -1))
    total: Any = None
    for chosen in product((0, 1), repeat=len(places)):
        flat: Any = 0
        share: Any = None
        for step, (low, rest), size in zip(chosen, taps, x.shape[2:], strict=True):
            index = low + step
            inside = (index >= 0) & (index <= size - 1)
            own = F.where(inside, rest if step else 1 - rest, 0)
            flat = flat * size + converted(F.minimum(F.maximum(index, 0), size - 1), "int64")
            share = own if share is None else share * own
        found = _picked(rows, flat) * F.expand_dims(share, 1)
        total = found if total is None else total + found
    return converted(total, x.dtype)


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
            found = sampled(own, places)
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
