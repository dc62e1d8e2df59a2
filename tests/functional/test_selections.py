"""The first of a row, short rows that are sorted, and rows that are in order already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

Array = np.ndarray[Any, Any]
DTYPES = ["bool", "int8", "int32", "uint64", "float16", "float32", "float64"]


def drawn(rows: int, n: int, dtype: str, how: str) -> Array:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(rows, n)) * (1 if "float" in dtype else 40)
    if how == "few values":
        x = np.round(x / 20)
    x = np.abs(x).astype(dtype) if dtype.startswith(("u", "b")) else x.astype(dtype)
    if how == "rising":
        x = np.sort(x, axis=1)
    if how == "falling":
        x = np.sort(x, axis=1)[:, ::-1].copy()
    if how == "not all numbers" and x.dtype.kind == "f":
        x[:, ::3] = np.nan
        x[:, 1::5] = -0.0
        x[:, 2::5] = 0.0
    return x


def order_of(x: Array, descending: bool) -> Array:
    """Stable; NaN is the largest, zeros are equal."""
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    return x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]


HOW = ["any", "few values", "rising", "falling", "not all numbers"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_k_are_the_front_of_a_stable_order(dtype: str, how: str) -> None:
    for rows, n in (
        (1, 1),
        (9, 2),
        (3, 7),
        (1, 16),
        (5, 16),
        (2, 17),
        (2, 84),
        (2, 300),
        (1, 1500),
    ):
        x = drawn(rows, n, dtype, how)
        for k in sorted({1, 2, 5, 16, 17, n // 7, n // 3, n - 1, n} & set(range(1, n + 1))):
            for largest in (True, False):
                values, places = F.topk(tl.tensor(x), k, largest=largest)
                wanted = order_of(x, largest)[:, :k]
                np.testing.assert_array_equal(np.asarray(places), wanted)
                expected = np.take_along_axis(x, wanted, axis=1)
                np.testing.assert_array_equal(np.asarray(values), expected)


@pytest.mark.parametrize("k", [1, 30, 700])
def test_the_first_k_of_a_row_that_threads_share(k: int) -> None:
    for how in HOW:
        x = drawn(1, 300_000, "float32", how)
        _, places = F.topk(tl.tensor(x), k)
        np.testing.assert_array_equal(np.asarray(places), order_of(x, True)[:, :k])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_any_length_are_sorted(dtype: str, how: str) -> None:
    for rows, n in (
        (1, 0),
        (50, 1),
        (50, 2),
        (50, 3),
        (9, 8),
        (9, 9),
        (9, 17),
        (3, 200),
        (2, 5000),
    ):
        x = drawn(rows, n, dtype, how)
        for descending in (False, True):
            wanted = order_of(x, descending)
            found = np.asarray(F.argsort(tl.tensor(x), axis=1, descending=descending))
            np.testing.assert_array_equal(found, wanted)
            found = np.asarray(F.sort(tl.tensor(x), axis=1, descending=descending))
            expected = np.take_along_axis(x, wanted, axis=1)
            np.testing.assert_array_equal(found, expected)
            if x.dtype.kind == "f":
                numbers = ~np.isnan(expected)
                np.testing.assert_array_equal(
                    np.signbit(found)[numbers], np.signbit(expected)[numbers]
                )


TABLES = [((3, 4, 50), 2), ((7, 600), 1), ((2, 3, 5, 4), 2), ((4, 1, 9), -1), ((1, 1, 8), 2)]


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize(("shape", "axis"), TABLES)
def test_the_same_places_are_picked_from_every_table(
    shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    rng = np.random.default_rng(3)
    x = (rng.normal(size=shape) * 3).astype(dtype)
    turned = np.asfortranarray(x)
    doubled = np.repeat(x, 2, axis=0)[::2]
    for count in (0, 1, 7, 8, 9, 70, 1100):
        index = rng.integers(-shape[axis], shape[axis], count)
        for array in (x, turned, doubled):
            found = np.asarray(F.take(tl.tensor(array), tl.tensor(index), axis=axis))
            np.testing.assert_array_equal(found, np.take(array, index, axis=axis))


def test_more_indices_than_are_kept_at_a_time() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3, 1000)).astype(np.float32)
    index = rng.integers(0, 1000, 40_000)
    found = np.asarray(F.take(tl.tensor(x), tl.tensor(index), axis=1))
    np.testing.assert_array_equal(found, x[:, index])
    index[-1] = 1000
    with pytest.raises(tl.IndexRangeError, match="position 39999"):
        F.take(tl.tensor(x), tl.tensor(index), axis=1)


def test_segments_are_summed_from_zero_wherever_their_numbers_are_known() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    ids = np.array([2, 0, 2, 5])
    expected = np.zeros((7, 3), np.float32)
    np.add.at(expected, ids, x)
    found = F.segment_sum(tl.tensor(x), tl.tensor(ids), 7)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert F.segment_sum(tl.tensor(x[:0]), tl.tensor(ids[:0]), 2).tolist() == [[0, 0, 0], [0, 0, 0]]
    mapped = tl.vmap(lambda x, i: F.segment_sum(x, i, 7))(
        tl.tensor(np.stack([x, x])), tl.tensor(np.stack([ids, ids]))
    )
    np.testing.assert_array_equal(np.asarray(mapped), np.stack([expected, expected]))
    with pytest.raises(tl.IndexRangeError):
        F.segment_sum(tl.tensor(x), tl.tensor(np.array([0, 1, -1, 2])), 7)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "int64"])
def test_full_writes_its_value_into_every_element(dtype: str) -> None:
    for shape in ((), (0, 3), (1,), (5, 13), (70_001,)):
        found = np.asarray(F.full(shape, 1, dtype=dtype))
        np.testing.assert_array_equal(found, np.full(shape, 1, dtype))


@pytest.mark.parametrize("skip", [0, 1, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_places_within_short_rows_have_the_same_bits_for_any_number_of_threads(
    dtype: str, skip: int
) -> None:
    for how in HOW:
        x = drawn(3001, 9, dtype, how)
        found = []
        before = tl.num_threads()
        try:
            for threads in (1, 2, 5):
                tl.set_num_threads(threads)
                found.append([np.asarray(y) for y in F.topk(tl.tensor(x), 2, skip=skip)])
        finally:
            tl.set_num_threads(before)
        wanted = order_of(x, True)[:, skip : skip + 2]
        for values, places in found:
            np.testing.assert_array_equal(places, wanted)
            np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, axis=1))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_different_elements_of_many_and_of_few(dtype: str) -> None:
    for variety in (2, 70, 4000, 10**6):
        for n in (1, 2, 64, 65, 127, 300, 5000):
            rng = np.random.default_rng(variety + n)
            x = (rng.integers(0, variety, n) % 60_000).astype(dtype)
            if x.dtype.kind == "f":
                x[rng.random(n) < 0.2] = np.nan
                x[rng.random(n) < 0.1] = -0.0
            found = np.asarray(F.unique_values(tl.tensor(x)))
            np.testing.assert_array_equal(found, np.unique(x, equal_nan=False))


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float16", "float32", "float64"])
def test_different_elements_that_are_few_of_many(dtype: str) -> None:
    for seed, (variety, rare) in enumerate(
        ((1, 0.0), (3, 0.0), (15, 0.01), (16, 0.0), (17, 0.1), (40, 0.0), (5, 0.2))
    ):
        for n in (4095, 4096, 9000, 50_001):
            rng = np.random.default_rng([seed, n])
            x = rng.integers(0, variety, n).astype(dtype)
            at = rng.random(n) < rare
            x[at] = rng.integers(100, 60_000, n)[at].astype(dtype)
            if x.dtype.kind == "f":
                x *= rng.choice(np.array([-1, 1], dtype), n)
                x[rng.random(n) < rare / 4] = np.nan
                x[rng.random(n) < 0.001] = np.inf
            order = np.argsort(x, kind="stable")
            ordered = x[order]
            wanted = ordered[np.append(True, ~(ordered[1:] == ordered[:-1]))]
            found = np.asarray(F.unique_values(tl.tensor(x)))
            np.testing.assert_array_equal(found, wanted)
            if x.dtype.kind == "f" and (x == 0).any():  # as of few elements, which are sorted
                last = np.signbit(x[x == 0][-1])
                assert (np.signbit(found[found == 0]) == last).all()


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int64"])
@pytest.mark.parametrize("how", ["any", "rising", "falling", "few values", "not all numbers"])
def test_the_first_few_of_rows_of_any_length_and_order(how: str, dtype: str) -> None:
    for n in (130, 256, 326, 700, 2047, 2048, 9000, 17_024):
        rng = np.random.default_rng(n)
        x = rng.normal(size=(2, n)) * 1e6
        if how in ("rising", "falling"):
            x = np.sort(x)[:, :: -1 if how == "falling" else 1]
        if how == "few values":
            x = np.round(x / 1e6)
        if how == "not all numbers" and dtype[0] == "f":
            x[rng.random(x.shape) < 0.1] = np.nan
            x[rng.random(x.shape) < 0.3] = -np.inf
        x = np.ascontiguousarray(x.astype(dtype))
        for k in sorted({1, 5, 16, 17, n // 8, n // 16}):
            for largest in (True, False):
                wanted = order_of(x, largest)[:, :k]
                values, places = F.topk(tl.tensor(x), k, largest=largest)
                np.testing.assert_array_equal(np.asarray(places), wanted)
                np.testing.assert_array_equal(
                    np.asarray(values), np.take_along_axis(x, wanted, axis=1)
                )
