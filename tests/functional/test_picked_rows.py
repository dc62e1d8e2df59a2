"""Rows and elements that indices pick, set or add to, on generated tables: against NumPy, bit for
bit; with threads; and with indices that are out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.layouts import LAYOUTS
from support.threads import by_threads

import tensorlike as tl
import tensorlike.functional as F

Array = np.ndarray[Any, Any]
DTYPES = ("bool", "int8", "uint16", "float16", "int32", "float32", "int64", "float64", "complex64",
          "complex128")  # fmt: skip
INDEX_DTYPES = ("int64", "int64", "int32", "int8", "uint16")
# Around what is moved at once: words, vectors, lines, runs; and what is left of them.
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 25, 31, 33, 47, 64, 65, 100, 129, 300, 4099)
COUNTS = (0, 1, 2, 5, 7, 8, 9, 31, 32, 33, 64, 100, 257, 1025, 2500)
LAYOUT_NAMES = (None, None, *sorted(LAYOUTS.keys() - {"one_row_repeated"}))


def table_of(random: Any, shape: tuple[int, ...], dtype: str) -> Array:
    """Small whole numbers, whose sums are exact in every order."""
    kind = np.dtype(dtype).kind
    numbers = random.integers(0 if kind in "ub" else -9, 9, shape)
    return (numbers + 1j * numbers[..., ::-1] if kind == "c" else numbers).astype(dtype)


def index_of(random: Any, count: int, size: int) -> Array:
    """In any order, sorted, or few that come again and again; some from the end."""
    dtype = str(random.choice(INDEX_DTYPES))
    most = min(size, 100) if dtype == "int8" else size
    kind = random.choice(("any", "sorted", "few"))
    index = random.integers(0, max(1, most // 20) if kind == "few" else most, count)
    index = np.sort(index) if kind == "sorted" else index
    if dtype != "uint16":
        from_end = (random.random(count) < 0.3) & (index >= size - 100)
        index = np.where(from_end, index - size, index)
    return index.astype(dtype)


def drawn(seed: int, dtypes: tuple[str, ...]) -> tuple[Array, Array, int]:
    """A table, in some layout, an index and the axis that it picks from."""
    random = np.random.default_rng(seed)
    width = int(WIDTHS[seed % len(WIDTHS)])
    size = int(random.choice((1, 2, 3, 10, 70, 300)))
    before = tuple(int(n) for n in random.integers(1, 5, int(random.integers(0, 3))))
    shape = (*before, size, width)
    axis = len(before)
    if random.random() < 0.3:  # the last one: single elements of many tables
        shape, axis = (*before, width, size), len(before) + 1
    x = table_of(random, shape, dtypes[seed % len(dtypes)])
    layout = LAYOUT_NAMES[int(random.integers(len(LAYOUT_NAMES)))]
    count = int(random.choice(COUNTS)) if x.size < 20000 else int(random.integers(0, 40))
    return (LAYOUTS[layout](x) if layout else x), index_of(random, count, size), axis


def equal_bits(found: Any, wanted: Array) -> None:
    np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


@pytest.mark.parametrize("seed", range(220))
def test_rows_of_any_width_are_taken(seed: int) -> None:
    x, index, axis = drawn(seed, DTYPES)
    wanted = np.take(x, index.astype(np.int64), axis)
    for given in (tl.Tensor(tl.RawTensor(x)), x):
        for found in by_threads(lambda given=given: F.take(given, index, axis=axis)):
            equal_bits(found, wanted)
    equal_bits(F.take(x, index, axis=axis - x.ndim), wanted)
    if count := index.size - index.size % 2:  # an index of two dimensions
        pairs = index[:count].reshape(2, -1)
        equal_bits(F.take(x, pairs, axis=axis), np.take(x, pairs.astype(np.int64), axis))


@pytest.mark.parametrize("seed", range(220))
def test_rows_of_any_width_are_added_to(seed: int) -> None:
    x, index, axis = drawn(seed, DTYPES)
    places = index.astype(np.int64)
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    value = table_of(np.random.default_rng(seed), shape, x.dtype.name)
    wide = x.dtype if x.dtype == bool else np.result_type(x, np.int8)  # of booleans: any
    wanted = np.moveaxis(np.ascontiguousarray(x), axis, 0).astype(wide)
    np.add.at(wanted, places, np.moveaxis(value, axis, 0))
    wanted = np.moveaxis(wanted, 0, axis).astype(x.dtype)
    for found in by_threads(lambda: F.index_add(x, index, value, axis=axis)):
        equal_bits(found, wanted)


@pytest.mark.parametrize("seed", range(220))
def test_rows_of_any_width_are_set(seed: int) -> None:
    """Of values for one place the last stays."""
    x, index, axis = drawn(seed, DTYPES)
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    value = table_of(np.random.default_rng(seed), shape, x.dtype.name)
    wanted = np.moveaxis(np.array(x), axis, 0)
    for place, row in zip(index.astype(np.int64), np.moveaxis(value, axis, 0), strict=True):
        wanted[place] = row
    wanted = np.moveaxis(wanted, 0, axis)
    for found in by_threads(lambda: F.index_copy(x, index, value, axis=axis)):
        equal_bits(found, wanted)


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_rows_are_rounded_as_one_thread_rounds_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    width = int(WIDTHS[seed % 20])
    x = random.standard_normal((50, width)).astype("float32")
    index = index_of(random, 60000 // width, 50)
    value = random.standard_normal((index.size, width)).astype("float32")
    wanted = x.copy()
    if width > 1:  # single values that meet are summed apart
        np.add.at(wanted, index.astype(np.int64), value)
    first, *others = by_threads(lambda: np.asarray(F.index_add(x, index, value, axis=0)))
    if width > 1:
        equal_bits(first, wanted)
    for found in others:
        equal_bits(found, first)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("count", [1, 7, 8, 33, 300, 2000])
@pytest.mark.parametrize("width", [1, 3, 4, 40])
def test_one_index_out_of_range_is_refused_wherever_it_stands(
    width: int, count: int, dtype: str
) -> None:
    x = tl.ones((20, width))
    value = tl.ones((count, width))
    for place in {0, count // 2, count - 1}:
        for wrong in (20, -21, np.iinfo(dtype).max, np.iinfo(dtype).min):
            index = np.zeros(count, dtype)
            index[place] = wrong
            words = rf"must be in \[-20, 19\] for axis [01]; got {wrong} at position {place}"
            for call in (
                lambda i: F.take(x, i, axis=0),
                lambda i: F.take(x.T, i, axis=1),
                lambda i: F.take(tl.tensor(np.ones((width, 20))), i, axis=-1),
                lambda i: F.index_add(x, i, value, axis=0),
                lambda i: F.index_copy(x, i, value, axis=0),
            ):
                with pytest.raises(tl.IndexRangeError, match=words):
                    call(index)
    equal_bits(x, np.ones((20, width), "float32"))


def test_indices_into_nothing_are_refused_and_none_are_not() -> None:
    for shape in ((0, 5), (3, 0, 5)):
        axis = len(shape) - 2
        wanted = (*shape[:axis], 0, *shape[axis + 1 :])
        assert F.take(tl.ones(shape), tl.tensor([], dtype=tl.int64), axis=axis).shape == wanted
        with pytest.raises(tl.IndexRangeError):
            F.take(tl.ones(shape), [0], axis=axis)
    with pytest.raises(tl.IndexRangeError):
        F.take(tl.ones((3, 0)), [3], axis=0)
    assert F.take(tl.ones((3, 0)), [2], axis=0).shape == (1, 0)
