"""What a convolution and its gradients are, by their definition."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def windows(
    x: Array, w: Array, stride: Any, padding: Any, dilation: Any, groups: int
) -> tuple[Array, tuple[int, ...], list[Any]]:
    """x in float64 with zeros around, the result's shape, and for each group and tap: what windows
    see of x, where the weights lie, and the channels of the result."""
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((n, n) for n in padding)])
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(wide.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    inner, outer = w.shape[1], w.shape[0] // groups
    places = []
    for taps in product(*(range(k) for k in w.shape[2:])):
        seen = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(taps, dilation, sizes, stride, strict=True)
        )
        for group in range(groups):
            rows = slice(group * outer, (group + 1) * outer)
            columns = slice(group * inner, (group + 1) * inner)
            places.append(((slice(None), columns, *seen), (rows, slice(None), *taps), rows))
    return wide, (x.shape[0], w.shape[0], *sizes), places


def convolved(
    x: Array, w: Array, b: Array, stride: Any, padding: Any, dilation: Any, groups: int
) -> Array:
    """The result, tap by tap."""
    wide, shape, places = windows(x, w, stride, padding, dilation, groups)
    y = np.zeros(shape) + b.reshape(-1, *[1] * (len(shape) - 2))
    for seen, weight, rows in places:
        y[:, rows] += np.einsum("bi...,oi->bo...", wide[seen], w[weight].astype(np.float64))
    return y


def gradients(
    x: Array, w: Array, dy: Array, stride: Any, padding: Any, dilation: Any, groups: int
) -> tuple[Array, Array]:
    """By the image and by the weights."""
    wide, _, places = windows(x, w, stride, padding, dilation, groups)
    summed = (0, *range(2, x.ndim))
    dwide, dw, dy = np.zeros(wide.shape), np.zeros(w.shape), dy.astype(np.float64)
    for seen, weight, rows in places:
        dwide[seen] += np.einsum("bo...,oi->bi...", dy[:, rows], w[weight].astype(np.float64))
        dw[weight] += np.tensordot(dy[:, rows], wide[seen], (summed, summed))
    inner = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True))
    return dwide[(..., *inner)], dw
