"""Pools whose windows are taken one by one: parts of unequal size, long windows, few of them, whole
lines and images; against the definition in float64, on drawn geometries."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.threads import by_threads

import tensorlike as tl
import tensorlike.functional as F

Array = np.ndarray[Any, Any]


def drawn(seed: int) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The shape of x, and how windows lie."""
    random = np.random.default_rng(seed)
    ndim = int(random.integers(1, 4))
    most = {1: 700, 2: 40, 3: 12}[ndim]
    sizes = tuple(int(n) for n in random.integers(1, most, ndim))
    planes = (int(random.integers(0, 3)), int(random.integers(1, 4)))
    if seed % 3 == 0:
        return (*planes, *sizes), {
            "output_size": tuple(int(random.integers(1, n + 1)) for n in sizes)
        }
    kernel = tuple(n if random.random() < 0.4 else int(random.integers(1, n + 1)) for n in sizes)
    stride = tuple(int(random.integers(1, k + 2)) for k in kernel)
    if seed % 5 == 0:
        stride = kernel
    padding = tuple(int(random.integers(0, k // 2 + 1)) * (seed % 2) for k in kernel)
    return (*planes, *sizes), {
        "kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": seed % 4 == 0,
    }  # fmt: skip


def windows(shape: tuple[int, ...], out: tuple[int, ...], how: dict[str, Any]) -> Any:
    """For each window: its place in the result, the slices that it covers, and how many elements
    it has with the padding that counts."""
    for at in product(*(range(n) for n in out)):
        seen, count = [], 1
        for dim, i in enumerate(at):
            n = shape[2 + dim]
            if "output_size" in how:
                begin, end = i * n // out[dim], -(-(i + 1) * n // out[dim])
                count *= end - begin
            else:
                k, pad = how["kernel_size"][dim], how["padding"][dim]
                first = i * how["stride"][dim] - pad
                count *= min(first + k, n + pad) - first
                begin, end = max(first, 0), min(first + k, n)
            seen.append(slice(begin, end))
        yield (slice(None), slice(None), *at), (slice(None), slice(None), *seen), count


def toward(shape: tuple[int, ...], dtype: str) -> Array:
    return np.random.default_rng(5).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(60))
def test_means_are_what_the_definition_gives(seed: int, dtype: str) -> None:
    shape, how = drawn(seed)
    x = tl.tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype), requires_grad=True)
    y = F.avg_pool(x, **how)
    dy = toward(tuple(y.shape), dtype)
    y.backward(tl.tensor(dy))
    wanted, slope = np.zeros(y.shape), np.zeros(shape)
    whole = np.asarray(x.detach()).astype(np.float64)
    for place, seen, count in windows(shape, tuple(y.shape[2:]), how):
        axes = tuple(range(2, len(shape)))
        wanted[place] = whole[seen].sum(axis=axes) / count
        slope[seen] += dy[place].reshape(*shape[:2], *[1] * len(axes)) / count
    unit = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(np.asarray(y.detach()), wanted, 8 * unit, 8 * unit)
    np.testing.assert_allclose(np.asarray(x.grad), slope, 60 * unit, 60 * unit)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("seed", range(60))
def test_maxima_are_the_first_of_each_window(seed: int, dtype: str) -> None:
    shape, how = drawn(seed)
    random = np.random.default_rng(seed)
    whole = random.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)
    if dtype.startswith("float"):  # with equal ones, infinities and NaN
        whole = np.where(random.random(shape) < 0.02, -np.inf, whole - 4).astype(dtype)
        whole = np.where(random.random(shape) < 0.002, np.nan, whole).astype(dtype)
    is_floating = dtype.startswith("float")
    x = tl.tensor(whole, requires_grad=is_floating)
    y = F.max_pool(x, **how)
    wanted = np.zeros(y.shape, dtype)
    slope = np.zeros(shape)
    dy = toward(tuple(y.shape), "float64").round(1)
    for place, seen, _ in windows(shape, tuple(y.shape[2:]), how):
        if whole[seen].size == 0:
            continue
        rows = whole[seen].reshape(*shape[:2], -1)
        first = rows.argmax(axis=-1)  # NaN is the largest
        wanted[place] = np.take_along_axis(rows, first[..., None], -1)[..., 0]
        for image, channel in np.ndindex(*shape[:2]):
            corner = np.unravel_index(first[image, channel], whole[seen].shape[2:])
            at = tuple(s.start + c for s, c in zip(seen[2:], corner, strict=True))
            slope[(image, channel, *at)] += dy[(image, channel, *place[2:])]
    np.testing.assert_array_equal(np.asarray(y.detach()), wanted)
    if is_floating:
        y.backward(tl.tensor(dy.astype(dtype)))
        np.testing.assert_allclose(np.asarray(x.grad), slope, 1e-2 if dtype == "float16" else 1e-5,
                                   1e-2 if dtype == "float16" else 1e-5)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("seed", range(60))
def test_places_are_those_of_the_first_maxima(seed: int, dtype: str) -> None:
    shape, how = drawn(seed)
    if "output_size" in how:
        return
    whole = np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)
    pool = getattr(F, f"max_pool{len(shape) - 2}d_with_indices")
    y, places = pool(tl.tensor(whole), **how)
    numbers = np.broadcast_to(np.arange(np.prod(shape[2:])).reshape(shape[2:]), shape)
    wanted = np.zeros(y.shape, np.int64)
    for place, seen, _ in windows(shape, tuple(y.shape[2:]), how):
        if whole[seen].size == 0:
            continue
        first = whole[seen].reshape(*shape[:2], -1).argmax(axis=-1)[..., None]
        inside = numbers[seen].reshape(*shape[:2], -1)
        wanted[place] = np.take_along_axis(inside, first, -1)[..., 0]
    np.testing.assert_array_equal(np.asarray(places), wanted)


def test_places_are_counted_beyond_what_a_float_counts() -> None:
    x = np.zeros((1, 1, 2**24 + 9), np.float32)
    x[..., -2] = 1
    _, places = F.max_pool1d_with_indices(tl.tensor(x), x.shape[-1])
    assert places.item() == 2**24 + 7


def test_long_means_keep_what_is_small() -> None:
    x = np.full((1, 1, 300, 300), 0.1, np.float32)
    x[0, 0, 0, 0] = 4096
    for size in (1, 2, (1, 7), (7, 1)):
        wide = np.asarray(F.adaptive_avg_pool2d(tl.tensor(x.astype(np.float64)), size))
        np.testing.assert_allclose(
            np.asarray(F.adaptive_avg_pool2d(tl.tensor(x), size)), wide, 3e-7
        )


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    def run() -> list[bytes]:
        made = []
        for seed in range(60):
            shape, how = drawn(seed)
            for pool in (F.avg_pool, F.max_pool):
                values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
                x = tl.tensor(values, requires_grad=True)
                y = pool(x, **how)
                y.backward(tl.tensor(toward(tuple(y.shape), "float32")))
                made += [np.asarray(y.detach()).tobytes(), np.asarray(x.grad).tobytes()]
        return made

    found = by_threads(run)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape",
    [
        (2, 3, 7, 9),
        (2, 3, 23, 23),
        (3, 5, 29, 29),
        (1, 2, 125, 130),
        (2, 3, 8, 28, 27),
        (1, 2, 7001),
    ],
)
def test_the_mean_of_a_whole_image_is_close(shape: tuple[int, ...], dtype: str) -> None:
    """Far from 0 too, where sums lose digits, and where sums of few elements are too large."""
    numbers = np.random.default_rng(2).normal(size=shape)
    pool = {3: F.adaptive_avg_pool1d, 4: F.adaptive_avg_pool2d, 5: F.adaptive_avg_pool3d}
    long = np.prod(shape[2:]) > 512  # others are summed as they are
    ulps = 0.75 if long and dtype == "float32" else 4 if dtype == "float32" else 64
    huge = np.where(numbers > 0, 1.0, 0.99) * float(np.finfo("float32").max)
    for x in (numbers + 100, *([huge] if long else [])):
        x = x.astype(dtype)
        exact = x.astype(np.longdouble).mean(axis=tuple(range(2, len(shape))), keepdims=True)
        first, *others = by_threads(lambda x=x: np.asarray(pool[len(shape)](x, 1)))
        rtol = ulps * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(first.astype(np.longdouble), exact, rtol=rtol)
        for found in others:
            np.testing.assert_array_equal(found, first)


def test_what_is_not_finite_stays_so_in_the_mean_of_a_whole_image() -> None:
    for value in (np.inf, -np.inf, np.nan):
        x = np.ones((1, 1, 30, 30), "float32")
        x[0, 0, 17, 3] = value
        np.testing.assert_array_equal(F.adaptive_avg_pool2d(x, 1), np.full((1, 1, 1, 1), value))
