"""Ops of detection: suppression of boxes, regions of interest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..... import functional as F
from ..element_types import converted
from ..rule_table import rule


@rule
def non_max_suppression(
    boxes: Any, scores: Any, most: int | None, overlap: float | None, least: float | None, *,
    center_point_box: int,
) -> Any:  # fmt: skip
    """The boxes that no better one of their class overlaps too much: (image, class, box)."""
    corners, values = np.asarray(boxes), np.asarray(scores)
    if center_point_box:
        centre, half = corners[..., :2], corners[..., 2:] / 2
        low, high = centre - half, centre + half
    else:
        low = np.minimum(corners[..., :2], corners[..., 2:])
        high = np.maximum(corners[..., :2], corners[..., 2:])
    areas = np.prod(high - low, axis=-1)
    found = []
    for image in range(values.shape[0]):
        for kind in range(values.shape[1]):
            order = np.argsort(-values[image, kind], kind="stable")
            if least is not None:
                order = order[values[image, kind][order] > least]
            kept = _kept(order, low[image], high[image], areas[image], overlap or 0.0, most or 0)
            found += [(image, kind, box) for box in kept]
    return F.asarray(np.array(found, dtype=np.int64).reshape(-1, 3))


def _kept(order: Any, low: Any, high: Any, areas: Any, overlap: float, most: int) -> list[int]:
    kept: list[int] = []
    for box in order:
        if len(kept) >= most:
            break
        if kept:
            sides = np.minimum(high[box], high[kept]) - np.maximum(low[box], low[kept])
            shared = np.prod(np.maximum(sides, 0), axis=-1)
            union = areas[box] + areas[kept] - shared
            with np.errstate(divide="ignore", invalid="ignore"):
                if np.any(np.where(union > 0, shared / union, 0) > overlap):
                    continue
        kept.append(int(box))
    return kept


@rule
def roi_align(
    x: Any, rois: Any, images: Any, *, coordinate_transformation_mode: str, mode: str,
    output_height: int, output_width: int, sampling_ratio: int, spatial_scale: float,
) -> Any:  # fmt: skip
    """Regions of interest in one size, by bilinear samples in each of their parts."""
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    found = []
    for i in range(rois.shape[0]):
        left, top, right, bottom = (float(n) * spatial_scale - shift for n in rois[i].tolist())
        width, height = right - left, bottom - top
        if not shift:
            width, height = max(width, 1.0), max(height, 1.0)
        image = x[int(images[i].item())]
        rows = _taps(top, height, output_height, sampling_ratio, x.shape[2])
        columns = _taps(left, width, output_width, sampling_ratio, x.shape[3])
        found.append(_region(image, rows, columns, mode, (output_height, output_width)))
    shape = (0, x.shape[1], output_height, output_width)
    return F.stack(found) if found else F.full(shape, 0, dtype=x.dtype)


def _taps(first: float, length: float, out: int, ratio: int, size: int) -> tuple[Any, Any, int]:
    """Indices and weights of all samples along an axis, two for each."""
    count = ratio if ratio > 0 else max(int(np.ceil(length / out)), 0)
    step = length / out
    at = first + (np.arange(out)[:, None] + (np.arange(count) + 0.5) / max(count, 1)) * step
    at = at.reshape(-1)
    inside = (at >= -1) & (at <= size)
    at = np.clip(at, 0, None)
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    rest = np.where(low >= size - 1, 0.0, at - low)
    return (
        np.stack([low, high]),
        np.stack([(1 - rest) * inside, rest * inside]),
        count,
    )


def _region(image: Any, rows: Any, columns: Any, mode: str, out: tuple[int, int]) -> Any:
    (y_at, y_share, y_count), (x_at, x_share, x_count) = rows, columns
    parts = []
    for i in range(2):
        for j in range(2):
            picked = F.take(F.take(image, F.asarray(y_at[i]), axis=1), F.asarray(x_at[j]), axis=2)
            share = y_share[i][:, None] * x_share[j][None, :]
            parts.append(picked * converted(F.asarray(share), image.dtype))
    shape = (image.shape[0], out[0], y_count, out[1], x_count)
    if mode == "max":
        largest = parts[0]
        for one in parts[1:]:
            largest = F.maximum(largest, one)
        return F.max(F.reshape(largest, shape), axis=(2, 4))
    total = parts[0] + parts[1] + parts[2] + parts[3]
    return F.mean(F.reshape(total, shape), axis=(2, 4))


@rule
def max_roi_pool(x: Any, rois: Any, *, pooled_shape: Any, spatial_scale: float) -> Any:
    """The largest of each part of regions of interest."""
    found = []
    for roi in rois.tolist():
        image = x[int(roi[0])]
        first = [round(roi[2] * spatial_scale), round(roi[1] * spatial_scale)]
        last = [round(roi[4] * spatial_scale), round(roi[3] * spatial_scale)]
        rows = []
        for i in range(pooled_shape[0]):
            columns = []
            for j in range(pooled_shape[1]):
                items = [slice(None)]
                for axis, k in ((0, i), (1, j)):
                    length = max(last[axis] - first[axis] + 1, 1) / pooled_shape[axis]
                    size = image.shape[axis + 1]
                    low = int(np.floor(k * length)) + first[axis]
                    high = int(np.ceil((k + 1) * length)) + first[axis]
                    items.append(slice(min(max(low, 0), size), min(max(high, 0), size)))
                part = image[tuple(items)]
                is_empty = 0 in part.shape
                zero = F.full((image.shape[0],), 0, dtype=x.dtype)
                columns.append(zero if is_empty else F.max(part, axis=(1, 2)))
            rows.append(F.stack(columns, axis=-1))
        found.append(F.stack(rows, axis=-2))
    return F.stack(found)
