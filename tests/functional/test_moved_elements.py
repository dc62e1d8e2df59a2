"""Copies of views of every kind: permuted, in steps, backwards, repeated, of every size of element,
thin and square, against NumPy; and elementwise programs over them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

DTYPES = ["uint8", "int16", "float32", "float64", "complex128"]
SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64, 65, 130, 200)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 200, shape).astype(dtype)


def drawn_view(rng: random.Random) -> tuple[tuple[int, ...], Any]:
    """A shape, and a view of what has it."""
    ndim = rng.choice((1, 2, 2, 3, 3, 4))
    shape = [rng.choice(SIZES) for _ in range(ndim)]
    while np.prod(shape) > 40_000:
        shape[rng.randrange(ndim)] = rng.choice((1, 2, 3, 4, 5))
    axes = rng.sample(range(ndim), ndim)
    key = tuple(
        rng.choice((slice(None), slice(None), slice(None, None, -1), slice(None, None, 2),
                    slice(1, None), slice(None, None, -2), slice(None, -1, 3)))
        for _ in range(ndim)
    )  # fmt: skip
    repeats = rng.random() < 0.2

    def view(x: Any) -> Any:
        library = np if isinstance(x, np.ndarray) else F
        x = (np.transpose(x, axes) if library is np else F.permute_dims(x, axes=axes))[key]
        return library.broadcast_to(x[:, None], (x.shape[0], 3, *x.shape[1:])) if repeats else x

    return tuple(shape), view


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(6))
def test_copies_of_views_have_their_elements(seed: int, dtype: str) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        shape, view = drawn_view(rng)
        x = numbers(shape, dtype, seed)
        seen, wanted = view(tl.tensor(x)), view(x)
        np.testing.assert_array_equal(np.asarray(F.reshape(seen, (-1,))), wanted.reshape(-1))
        if wanted.ndim:
            twice = F.concat([seen, seen], axis=-1)
            np.testing.assert_array_equal(np.asarray(twice), np.concatenate([wanted] * 2, -1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 3])
def test_thin_and_square_transposes(dtype: str, threads: int) -> None:
    before = tl.num_threads()
    tl.set_num_threads(threads)
    try:
        for rows in (1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 79, 80, 81, 193):
            for columns in (1, 2, 3, 4, 6, 16, 33, 127, 128, 143, 144, 300):
                x = numbers((3, rows, columns), dtype, rows)
                found = F.reshape(F.permute_dims(tl.tensor(x), axes=(0, 2, 1)), (-1,))
                np.testing.assert_array_equal(
                    np.asarray(found), np.transpose(x, (0, 2, 1)).reshape(-1)
                )
    finally:
        tl.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rolls_by_few_places(dtype: str) -> None:
    # Source and target of the copies lie nearly a page apart.
    for columns in (100, 1000, 1024, 2048, 5000):
        x = numbers((9, columns), dtype, columns)
        for places in (1, 2, 3, 64, 999):
            found = F.roll(tl.tensor(x), places, axis=1)
            np.testing.assert_array_equal(np.asarray(found), np.roll(x, places, 1))
            found = F.roll(F.reshape(tl.tensor(x), (-1,)), places)
            np.testing.assert_array_equal(np.asarray(found), np.roll(x.reshape(-1), places))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_tiles(dtype: str) -> None:
    for shape in ((), (3,), (2, 3), (4, 1, 5), (0, 2)):
        x = numbers(shape, dtype, 1)
        for times in ((2,), (1, 3), (2, 1, 2), (1, 1, 0), (5,), (1, 9), 2):
            wanted = np.tile(x, times)
            np.testing.assert_array_equal(np.asarray(F.tile(tl.tensor(x), times)), wanted)


@pytest.mark.parametrize("mode", ["sync", "lazy"])
@pytest.mark.parametrize("columns", [100, 128, 600, 1024, 1025, 3000, 10_000])
def test_long_rows_meet_columns_rows_and_flips(columns: int, mode: str) -> None:
    x, column, row = (
        numbers(shape, "float32", columns) for shape in ((9, columns), (9, 1), (1, columns))
    )
    with tl.engine.mode(mode):
        a, b, c = (tl.tensor(each) for each in (x, column, row))
        for found, wanted in (
            (a + b, x + column),
            (b - a[::-1], column - x[::-1]),
            (a[::-1] * c + b, x[::-1] * row + column),
            (F.broadcast_to(b, (9, columns)) * 2, np.repeat(column * 2, columns, 1)),
            (a[1:, 3:] + a[:-1, :-3], x[1:, 3:] + x[:-1, :-3]),
            (F.where(a > b, a[:, ::-1], c), np.where(x > column, x[:, ::-1], row)),
        ):
            np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
@pytest.mark.parametrize("seed", range(4))
def test_results_of_turned_operands_are_the_same_numbers(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    with tl.engine.mode(mode):
        for _ in range(12):
            shape, view = drawn_view(rng)
            x, z = numbers(shape, "float32", seed), numbers(shape, "float32", seed + 1)
            a, b = view(tl.tensor(x)), view(tl.tensor(z))
            wanted = view(x) * view(z) + np.maximum(view(x), 7)
            np.testing.assert_array_equal(np.asarray(a * b + F.maximum(a, 7)), wanted)
            if wanted.ndim > 1:
                low, high = np.divmod(view(x), 13)
                np.testing.assert_array_equal(np.asarray(a // 13), low)
                np.testing.assert_array_equal(np.asarray(F.sum(a % 13, axis=0)), high.sum(0))
                np.testing.assert_array_equal(
                    np.asarray((a + b).T.astype("int16")), (view(x) + view(z)).T.astype("int16")
                )
