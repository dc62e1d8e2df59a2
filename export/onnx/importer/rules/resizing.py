"""Resize: where each element of the result lies in the input, and how its neighbours weigh.

Places and weights follow from sizes and scales alone, so they are worked out with NumPy, for each
axis by itself; the ops see gathers and products. Of a size that is not known they are worked out by
our own calls, which have the names that NumPy has, and are a part of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..... import _C
from ..... import functional as F
from .....imperative import Size
from ..attribute_functions import normal_axis
from ..element_types import converted
from ..rule_table import bounded, rule


class How(NamedTuple):
    """The attributes that say how places and weights follow."""

    mode: str
    coordinates: str
    nearest: str
    cubic: float
    exclude_outside: bool
    extrapolation: float
    antialias: bool


def _coordinates(at: Any, out: Any, size: Any, scale: Any, how: How, roi: Any) -> Any:
    length = scale * size
    match how.coordinates:
        case "half_pixel":
            return (at + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (at + 0.5) / scale - 0.5 if length > 1 else at * 0 - 0.0
        case "align_corners":
            return at * (size - 1) / (length - 1) if length != 1 else at * 0
        case "asymmetric":
            return at / scale
        case "half_pixel_symmetric":
            adjustment = out / length
            centre = size / 2
            return centre * (1 - adjustment) + (at + 0.5) / scale - 0.5
        case "tf_crop_and_resize":
            first, last = roi
            if length <= 1:
                return 0.5 * (first + last) * (size - 1) + at * 0
            return first * (size - 1) + at * (last - first) * (size - 1) / (length - 1)
    raise _C.ArgumentError(
        "must be one of the standard's modes", op="Resize",
        argument="coordinate_transformation_mode", got=repr(how.coordinates),
    )  # fmt: skip


def _nearest(places: Any, mode: str, by: Any) -> Any:
    near = by.round(places * 1e9) / 1e9  # quotients that are whole are so to the last bit but one
    rules: dict[str, Callable[[Any], Any]] = {
        "round_prefer_floor": lambda x: by.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: by.floor(x + 0.5),
        "floor": by.floor,
        "ceil": by.ceil,
    }
    if mode not in rules:
        raise _C.ArgumentError(
            f"must be one of {', '.join(rules)}", op="Resize", argument="nearest_mode",
            got=repr(mode),
        )  # fmt: skip
    return rules[mode](near)


def _kernel(distance: Any, how: How, by: Any) -> Any:
    distance = by.abs(distance)
    if how.mode == "linear":
        return by.maximum(1 - distance, 0)
    a = how.cubic
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return by.where(distance <= 1, near, by.where(distance < 2, far, 0.0))


def _shares(places: Any, taps: Any, size: Any, wide: float, how: How, by: Any) -> tuple[Any, Any]:
    """The neighbours of each place, (out, taps), and how they weigh."""
    reach = (1.0 if how.mode == "linear" else 2.0) * wide
    index = by.floor(places - reach)[:, None] + 1 + taps
    share = _kernel((index - places[:, None]) / wide, how, by)
    if how.antialias:
        share = by.where(by.abs(index - places[:, None]) >= reach, 0.0, share)
    if how.exclude_outside:
        share = by.where((index < 0) | (index >= size), 0.0, share)
    if how.exclude_outside or how.antialias:
        total = by.sum(share, axis=1, keepdims=True)
        share = share / by.where(total == 0, 1, total)
    return index, share


def _taps(scale: Any, how: How) -> tuple[float, int]:
    """How wide the kernel is, and how many neighbours it may reach."""
    wide = max(1 / scale, 1.0) if how.antialias else 1.0
    return wide, math.ceil(2 * (1.0 if how.mode == "linear" else 2.0) * wide) + 1


def weights(out: int, size: int, scale: float, how: How, roi: Any) -> tuple[Any, Any, Any]:
    """Indices and weights, (out, taps), and whether a place lies outside of the input."""
    bounded("Resize", out, math.ceil(4 / min(scale, 1.0)) + 1)
    places = _coordinates(np.arange(out, dtype=np.float64), out, size, scale, how, roi)
    outside = (places < 0) | (places > size - 1)
    if how.mode == "nearest":
        index = _nearest(places, how.nearest, np)[:, None]
        return np.clip(index, 0, size - 1).astype(np.int64), np.ones(index.shape), outside
    wide, taps = _taps(scale, how)
    index, share = _shares(places, np.arange(taps), size, wide, how, np)
    kept = np.any(share != 0, axis=0)
    index, share = index[:, kept].astype(np.int64), share[:, kept]
    return np.clip(index, 0, size - 1), share, outside


def _along_open(x: Any, axis: int, out: Any, scale: Any, how: How) -> Any:
    """The same as `_along` of a size that is not known, or to one."""
    if how.coordinates == "tf_crop_and_resize" or (how.antialias and isinstance(scale, Size)):
        raise _C.ShapeError("sizes must be known", op="Resize", got=str(x.shape))
    size = x.shape[axis]
    at = F.astype(F.arange(out), "float64")
    places = _coordinates(at, out, size, scale, how, None)
    if how.mode == "nearest":
        index = _nearest(places, how.nearest, F)
        return F.take(x, converted(F.clip(index, 0, size - 1), "int64"), axis=axis)
    wide, taps = _taps(scale, how)
    index, share = _shares(places, F.arange(taps), size, wide, how, F)
    index = converted(F.clip(index, 0, size - 1), "int64")
    share = converted(share, x.dtype)
    shape: list[Any] = [1] * len(x.shape)
    shape[axis] = out
    total: Any = 0.0
    for k in range(taps):
        total = total + F.take(x, index[:, k], axis=axis) * F.reshape(share[:, k], shape)
    return converted(total, x.dtype)


def _along(x: Any, axis: int, out: Any, scale: Any, how: How, roi: Any) -> Any:
    if any(isinstance(number, Size) for number in (out, scale, x.shape[axis])):
        return _along_open(x, axis, out, scale, how)
    index, share, outside = weights(out, x.shape[axis], scale, how, roi)
    shape = [1] * len(x.shape)
    shape[axis] = out
    total: Any = None
    if share.shape[1] > 4:
        matrix = np.zeros((out, x.shape[axis]))
        np.add.at(matrix, (np.arange(out)[:, None], index), share)
        table = converted(F.asarray(matrix), x.dtype)
        moved = F.moveaxis(x, axis, -1)
        total = F.moveaxis(F.matmul(moved, F.permute_dims(table, (1, 0))), -1, axis)
    else:
        for k in range(share.shape[1]):
            one = F.take(x, F.asarray(np.ascontiguousarray(index[:, k])), axis=axis)
            if not np.all(share[:, k] == 1):
                one = one * converted(F.asarray(share[:, k].reshape(shape)), x.dtype)
            total = one if total is None else total + one
    if how.coordinates == "tf_crop_and_resize" and outside.any():
        total = F.where(F.asarray(outside.reshape(shape)), how.extrapolation, total)
    return converted(total, x.dtype)


def _sizes(
    x: Any, axes: Sequence[int], scales: Any, sizes: Any, policy: str
) -> tuple[list[Any], list[Any]]:
    """The sizes of the result and the scales along the axes."""
    old = [x.shape[axis] for axis in axes]
    if policy != "stretch" and any(isinstance(size, Size) for size in old):
        raise _C.ShapeError("sizes must be known", op="Resize", got=str(x.shape))
    if scales is not None and len(scales):
        if len(scales) != len(axes) or not all(0 < s < math.inf for s in scales):
            raise _C.ArgumentError(
                f"must be {len(axes)} positive numbers", op="Resize", argument="scales",
                got=str(tuple(scales)),
            )  # fmt: skip
        return [math.floor(n * s) for n, s in zip(old, scales, strict=True)], list(scales)
    if sizes is None or len(sizes) != len(axes):
        raise _C.ArgumentError("must be given", op="Resize", argument="scales or sizes", got="none")
    if policy != "stretch":
        ratios = [m / n for n, m in zip(old, sizes, strict=True)]
        scale = min(ratios) if policy == "not_larger" else max(ratios)
        return [math.floor(n * scale + 0.5) for n in old], [scale] * len(old)
    return list(sizes), [m / n for n, m in zip(old, sizes, strict=True)]


@rule
def resize(
    x: Any, roi: Any, scales: Any, sizes: Any, *, antialias: int, axes: Any,
    coordinate_transformation_mode: str, cubic_coeff_a: float, exclude_outside: int,
    extrapolation_value: float, keep_aspect_ratio_policy: str, mode: str, nearest_mode: str,
) -> Any:  # fmt: skip
    """A tensor in other sizes."""
    if mode not in ("nearest", "linear", "cubic"):
        raise _C.ArgumentError(
            "must be nearest, linear or cubic", op="Resize", argument="mode", got=repr(mode)
        )
    rank = len(x.shape)
    axes = list(range(rank)) if axes is None else [normal_axis(axis, rank) for axis in axes]
    if scales is not None and len(scales) == rank == len(axes):
        kept = [i for i, s in enumerate(scales) if s != 1]  # whose sizes may be unknown
        if coordinate_transformation_mode != "tf_crop_and_resize":
            axes, scales = kept, [scales[i] for i in kept]
        if not axes:
            return x
    elif sizes is not None and len(sizes) == rank == len(axes):
        kept = [i for i, n in enumerate(sizes) if not _is_same(n, x.shape[i])]
        if (
            keep_aspect_ratio_policy == "stretch"
            and coordinate_transformation_mode != "tf_crop_and_resize"
        ):
            axes, sizes = kept, [sizes[i] for i in kept]
        if not axes:
            return x
    wanted, factors = _sizes(x, axes, scales, sizes, keep_aspect_ratio_policy)
    how = How(
        mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(exclude_outside),
        extrapolation_value, bool(antialias) and mode != "nearest",
    )  # fmt: skip
    kind = x.dtype
    if mode != "nearest" and kind.kind != "floating":
        x = converted(x, "float32")
    for i, axis in enumerate(axes):
        own = None if roi is None or not len(roi) else (roi[i], roi[i + len(axes)])
        x = _along(x, axis, wanted[i], factors[i], how, own)
    return x if x.dtype == kind else converted(F.round(x), kind)


def _is_same(n: Any, m: Any) -> bool:
    if isinstance(n, Size) or isinstance(m, Size):
        return isinstance(n, Size) and isinstance(m, Size) and bool(n == m)
    return bool(n == m)


@rule
def upsample(x: Any, scales: Any, *, mode: str) -> Any:
    """The older form of resize."""
    return resize(
        x, None, scales, None, antialias=0, axes=None, coordinate_transformation_mode="asymmetric",
        cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0,
        keep_aspect_ratio_policy="stretch", mode=mode, nearest_mode="floor",
    )  # fmt: skip
