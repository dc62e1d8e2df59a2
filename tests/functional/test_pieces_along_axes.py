"""Concatenation, padding, rolls and repeats of tensors that are larger than a band
(cpu/arrays.cpp), held against NumPy: odd layouts, dtypes that differ, empty pieces, threads."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

DTYPES = ("uint8", "float16", "int32", "float32", "float64", "complex128")


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = tl.num_threads()
    yield
    tl.set_num_threads(before)


def shape_of(random: Random) -> list[int]:
    shapes = ([300, 700], [7, 211, 301], [1, 40, 6, 900], [3, 1, 70000], [2, 0, 5], [50000, 3])
    shape = list(random.choice(shapes))
    if random.random() < 0.3:
        random.shuffle(shape)
    return shape


def laid_out(random: Random, x: np.ndarray) -> tuple[Any, np.ndarray]:
    """The same elements in a layout of any kind, here and there."""
    match random.choice(("plain", "turned", "backwards", "steps", "repeated")):
        case "turned":
            return tl.tensor(np.ascontiguousarray(x.T)).T, x
        case "backwards":
            back = (slice(None, None, -1),) * x.ndim
            return tl.tensor(np.ascontiguousarray(x[back]))[back], x
        case "steps":
            return tl.tensor(np.repeat(x, 2, axis=-1))[..., ::2], x
        case "repeated" if x.shape[0] > 0:
            same = np.broadcast_to(x[:1], x.shape)
            return F.broadcast_to(tl.tensor(x[:1]), x.shape), same
    return tl.tensor(x), x


def numbers(random: Random, shape: list[int], dtype: str) -> np.ndarray:
    generator = np.random.default_rng(random.randrange(1000))
    return generator.integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("seed", range(40))
def test_pieces_that_follow_each_other_along_an_axis(seed: int) -> None:
    random = Random(seed)
    shape = shape_of(random)
    axis = random.randrange(len(shape))
    dtypes = random.sample(DTYPES, 2) if random.random() < 0.3 else [random.choice(DTYPES)] * 2
    pieces = []
    for i in range(random.choice((1, 2, 3, 5))):
        own = list(shape)
        own[axis] = random.choice((shape[axis], shape[axis], 0, 1, shape[axis] // 2 + 1))
        pieces.append(laid_out(random, numbers(random, own, dtypes[i % 2])))
    wanted = np.concatenate([there for _, there in pieces], axis)
    for threads in (1, 2, 5):
        tl.set_num_threads(threads)
        found = F.concat([here for here, _ in pieces], axis=axis)
        np.testing.assert_array_equal(np.asarray(found.astype("complex128")), wanted)


@pytest.mark.parametrize("seed", range(40))
def test_one_tensor_padded_rolled_and_repeated(seed: int) -> None:
    random = Random(seed)
    shape = shape_of(random)
    axis = random.randrange(len(shape))
    x, there = laid_out(random, numbers(random, shape, random.choice(DTYPES)))
    widths = [(0, 0)] * len(shape)
    widths[axis] = random.choice(((1, 2), (0, 3), (700, 0), (0, 0)))
    if random.random() < 0.3:
        widths[random.randrange(len(shape))] = (2, 1)
    times = [1] * len(shape)
    times[axis] = random.choice((2, 3, 5, 0))
    shift = random.choice((3, -1, 1000, 0))
    for threads in (1, 2, 5):
        tl.set_num_threads(threads)
        padded = np.pad(there, widths, constant_values=7)
        np.testing.assert_array_equal(np.asarray(F.pad(x, widths, value=7)), padded)
        rolled = np.roll(there, shift, axis)
        np.testing.assert_array_equal(np.asarray(F.roll(x, shift, axis=axis)), rolled)
        np.testing.assert_array_equal(np.asarray(F.tile(x, times)), np.tile(there, times))


@pytest.mark.parametrize("apart", [0, 1, 8, 24, 63, 64, 65, 4000])
@pytest.mark.parametrize("bytes_of_run", [4095, 4096, 4097, 70001])
def test_long_runs_whose_addresses_are_alike(apart: int, bytes_of_run: int) -> None:
    x = np.random.default_rng(0).integers(0, 255, (9, bytes_of_run + apart)).astype("uint8")
    ours = tl.tensor(x)
    np.testing.assert_array_equal(np.asarray(ours[:, apart:].copy()), x[:, apart:])
    np.testing.assert_array_equal(np.asarray(F.roll(ours, apart, axis=1)), np.roll(x, apart, 1))
