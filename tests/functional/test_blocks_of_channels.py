"""Depthwise convolutions and their gradients, by blocks of channels: random windows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

Array = np.ndarray[Any, Any]


def by_taps(
    x: Array, w: Array, dy: Array | None, stride: Any, padding: Any, dilation: Any
) -> tuple[Array, Array, Array]:
    """The result and, given its cotangent, both gradients, by their definition."""
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((n, n) for n in padding)])
    sizes = [
        max((n - (k - 1) * d - 1) // s + 1, 0)
        for n, k, s, d in zip(wide.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    y = np.zeros((*x.shape[:2], *sizes))
    dwide, dw = np.zeros(wide.shape), np.zeros(w.shape)
    for taps in product(*(range(k) for k in w.shape[2:])):
        parts = (
            slice(t * d, t * d + (n - 1) * s + 1, s) if n else slice(0, 0)
            for t, d, n, s in zip(taps, dilation, sizes, stride, strict=True)
        )
        seen = (slice(None), slice(None), *parts)
        weight = w[(slice(None), 0, *taps)].astype(np.float64).reshape(-1, *[1] * len(sizes))
        y += wide[seen] * weight
        if dy is not None:
            dwide[seen] += dy * weight
            spatial = tuple(range(2, dy.ndim))
            dw[(slice(None), 0, *taps)] = (wide[seen] * dy).sum((0, *spatial))
    inner = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True))
    return y, dwide[(slice(None), slice(None), *inner)], dw


def drawn(random: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Channels and images, sizes, kernel, stride, padding, dilation."""
    ndim = int(random.choice([1, 2, 2, 3]))
    kernel, stride, padding, dilation = (
        tuple(int(n) for n in random.choice(values, ndim))
        for values in ([1, 2, 3, 5, 7], [1, 1, 2, 3, 9], [0, 1, 2, 6], [1, 1, 2, 3])
    )
    largest = 34 if ndim < 3 else 9
    sizes = tuple(
        max(int(random.integers(1, largest)), (k - 1) * d + 1 - 2 * p)
        for k, d, p in zip(kernel, dilation, padding, strict=True)
    )
    images, channels = int(random.choice([1, 2, 3])), int(random.choice([1, 3, 9, 16, 17, 33]))
    return (images, channels), sizes, kernel, stride, padding, dilation


@pytest.mark.parametrize("seed", range(60))
def test_depthwise_results_and_gradients_are_those_of_their_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    (images, channels), sizes, kernel, stride, padding, dilation = drawn(random)
    dtype = "float32" if seed % 2 else "float64"
    x, w = (
        random.standard_normal(shape).astype(dtype)
        for shape in ((images, channels, *sizes), (channels, 1, *kernel))
    )
    b = random.standard_normal(channels).astype(dtype)
    like = by_taps(x, w, None, stride, padding, dilation)[0]
    dy = random.standard_normal(like.shape).astype(dtype)
    y, dx, dw = by_taps(x, w, dy, stride, padding, dilation)
    y += b.reshape(-1, *[1] * len(sizes))

    def call() -> list[Array]:
        ours = [tl.tensor(z, requires_grad=True) for z in (x, w, b)]
        found = F.convolution(
            *ours, stride=stride, padding=padding, dilation=dilation, groups=channels
        )
        found.backward(tl.tensor(dy))
        return [np.asarray(z) for z in (found.detach(), *(z.grad for z in ours))]

    found = call()
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    db = dy.sum((0, *range(2, dy.ndim)), dtype=np.float64)
    for ours, wanted in zip(found, (y, dx, dw, db), strict=True):
        scale = max(float(np.abs(wanted).max(initial=0)), 1)
        np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance * scale)
    threads = tl.num_threads()
    try:
        tl.set_num_threads(1)
        for one, several in zip(call(), found, strict=True):
            np.testing.assert_array_equal(one, several)
    finally:
        tl.set_num_threads(threads)


def test_infinite_weights_see_no_padding_above_and_below() -> None:
    x = np.ones((1, 16, 3, 3), np.float32)
    w = np.zeros((16, 1, 3, 1), np.float32)
    w[:, 0, 0] = np.inf
    y = np.asarray(F.conv2d(tl.tensor(x), tl.tensor(w), padding=(1, 0), groups=16))
    np.testing.assert_array_equal(y[:, :, 0], 0)
    assert np.isinf(y[:, :, 1:]).all()
