"""Sorting, searching, scans and extremes against NumPy: shapes, strides, NaN, ties, both zeros."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.declarations import FLOATS, Array
from support.layouts import LAYOUTS

import tensorlike as tl

F: Any = tl.functional
QUICK = settings(
    derandomize=True,
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5]


def drawn(seed: int, shape: tuple[int, ...], dtype: str, variety: int) -> Array:
    """Few different values, so that many are equal; some special ones."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), dtype=bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.max, 0, 1], dtype=dtype)
        small = rng.integers(-variety, variety + 1, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.2, rng.choice(ends, shape), small).astype(dtype)
    values = np.round(rng.normal(size=shape) * variety)
    special = rng.choice(np.array(SPECIAL), shape)
    return np.where(rng.random(shape) < 0.2, special, values).astype(dtype)


@st.composite
def arrays(draw: Any, dtypes: list[str] = DTYPES) -> tuple[Array, int]:
    """An array of any strides, and one of its axes."""
    sizes = st.sampled_from([0, 1, 2, 3, 7, 20, 33, 300])
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=3)))
    if np.prod(shape) > 20000:
        shape = shape[:1]
    dtype = draw(st.sampled_from(dtypes))
    x = drawn(draw(st.integers(0, 10**6)), shape, dtype, draw(st.sampled_from([1, 5, 10**4])))
    layout = draw(st.sampled_from([None, *LAYOUTS]))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    return (x if layout is None else LAYOUTS[layout](x)), axis


def array_of(x: Any) -> Array:
    return np.asarray(x)


@given(arrays(), st.booleans())
@QUICK
def test_sort_orders_as_numpy_does(case: tuple[Array, int], descending: bool) -> None:
    x, axis = case
    wanted = np.sort(x, axis)
    wanted = np.flip(wanted, axis) if descending else wanted
    found = F.sort(tl.RawTensor(x), axis=axis, descending=descending)
    np.testing.assert_array_equal(array_of(found), wanted, strict=True)


@given(arrays(), st.booleans())
@QUICK
def test_argsort_keeps_the_order_of_equal_elements(
    case: tuple[Array, int], descending: bool
) -> None:
    x, axis = case
    found = array_of(F.argsort(tl.RawTensor(x), axis=axis, descending=descending))
    turned = np.flip(x, axis) if descending else x
    wanted = np.argsort(turned, axis, kind="stable")
    if descending:
        wanted = np.flip(x.shape[axis] - 1 - wanted, axis)
    np.testing.assert_array_equal(found, wanted, strict=True)


@given(arrays(), st.booleans(), st.data())
@QUICK
def test_topk_is_the_front_of_a_sort(case: tuple[Array, int], largest: bool, data: Any) -> None:
    x, axis = case
    k = data.draw(st.integers(0, x.shape[axis]))
    values, positions = (
        array_of(y) for y in F.topk(tl.RawTensor(x), k=k, axis=axis, largest=largest)
    )
    order = array_of(F.argsort(tl.RawTensor(x), axis=axis, descending=largest))
    np.testing.assert_array_equal(positions, np.take(order, np.arange(k), axis), strict=True)
    np.testing.assert_array_equal(values, np.take_along_axis(x, positions, axis), strict=True)


@given(arrays())
@QUICK
def test_unique_finds_what_numpy_finds(case: tuple[Array, int]) -> None:
    x, _ = case
    wanted = np.unique(x, True, True, True, equal_nan=False)
    found = [array_of(y) for y in F.unique_all(tl.RawTensor(x))]
    np.testing.assert_array_equal(found[0], wanted[0], strict=True)
    np.testing.assert_array_equal(found[1], wanted[1])
    np.testing.assert_array_equal(found[2], wanted[2].reshape(x.shape))
    np.testing.assert_array_equal(found[3], wanted[3])
    np.testing.assert_array_equal(array_of(F.unique_values(tl.RawTensor(x))), wanted[0])
    for name, parts in (("unique_counts", (0, 3)), ("unique_inverse", (0, 2))):
        for y, part in zip(getattr(F, name)(tl.RawTensor(x)), parts, strict=True):
            np.testing.assert_array_equal(array_of(y), found[part], strict=True)


@given(arrays(), arrays(), st.sampled_from(["left", "right"]), st.booleans())
@QUICK
def test_searchsorted_finds_the_places_that_numpy_finds(
    first: tuple[Array, int], second: tuple[Array, int], side: str, has_sorter: bool
) -> None:
    x1 = first[0].reshape(-1)
    with np.errstate(all="ignore"):
        x2 = second[0].astype(x1.dtype)
    order = np.argsort(x1, kind="stable")
    given_x1 = x1 if has_sorter else x1[order]
    sorter = [tl.tensor(order)] if has_sorter else []
    found = F.searchsorted(tl.tensor(given_x1), tl.RawTensor(x2), *sorter, side=side)
    np.testing.assert_array_equal(array_of(found), np.searchsorted(x1[order], x2, side))


@given(arrays(), arrays())
@QUICK
def test_searchsorted_among_what_is_not_sorted_stays_within(
    first: tuple[Array, int], second: tuple[Array, int]
) -> None:
    x1 = first[0].reshape(-1)
    found = array_of(F.searchsorted(tl.tensor(x1), tl.RawTensor(second[0])))
    assert found.shape == second[0].shape
    assert ((found >= 0) & (found <= x1.size)).all()


@given(arrays(), st.sampled_from(["argmax", "argmin"]), st.booleans())
@QUICK
def test_the_first_extreme_wins(case: tuple[Array, int], name: str, has_axis: bool) -> None:
    x, own = case
    axis = own if has_axis else None
    if x.size == 0:
        return
    found = getattr(F, name)(tl.RawTensor(x), axis=axis)
    np.testing.assert_array_equal(array_of(found), getattr(np, name)(x, axis=axis))


@given(arrays(), st.booleans(), st.booleans(), st.sampled_from(["sum", "prod"]))
@QUICK
def test_scans_are_those_of_numpy(
    case: tuple[Array, int], reverse: bool, include_initial: bool, kind: str
) -> None:
    x, axis = case
    is_float = x.dtype.kind == "f"
    turned = np.flip(x, axis) if reverse else x
    with np.errstate(all="ignore"):
        whole = np.uint64 if x.dtype.kind == "u" else np.int64
        wide = turned.astype(np.float64 if is_float else whole)
        wanted = (np.cumsum if kind == "sum" else np.cumprod)(wide, axis)
    if include_initial:
        shape = [1 if i == axis % x.ndim else size for i, size in enumerate(x.shape)]
        wanted = np.concatenate([np.full(shape, int(kind == "prod"), wanted.dtype), wanted], axis)
    wanted = np.flip(wanted, axis) if reverse else wanted
    call = getattr(F, f"cumulative_{kind}")
    options = {"axis": axis, "reverse": reverse, "include_initial": include_initial}
    found = array_of(call(tl.RawTensor(x), **options))
    assert found.dtype == (x.dtype if is_float else whole)
    if not is_float:
        np.testing.assert_array_equal(found, wanted, strict=True)
        return
    with np.errstate(all="ignore"):
        wanted = wanted.astype(x.dtype)
    rtol = {2: 2e-3, 4: 1e-5, 8: 1e-9}[x.dtype.itemsize]
    np.testing.assert_allclose(found, wanted, rtol, 1e-2)


@given(arrays(["float32", "float64"]), st.sampled_from([0, 1, 0.5]), st.booleans())
@QUICK
def test_moments_are_those_of_numpy(
    case: tuple[Array, int], correction: float, has_axis: bool
) -> None:
    x, own = case
    x = np.where(np.isfinite(x), x, 0).astype(x.dtype) + 3
    axis = own if has_axis else None
    count = x.size if axis is None else x.shape[axis]
    for name in ("var", "std"):
        found = array_of(getattr(F, name)(tl.RawTensor(x), axis=axis, correction=correction))
        if count <= correction:
            assert not np.isfinite(found).any()
            continue
        wanted = getattr(x.astype(np.float64), name)(axis=axis, ddof=correction)
        np.testing.assert_allclose(found, wanted, 1e-5 if x.dtype == np.float32 else 1e-10, 1e-12)


LONG = [131_072 * 2 + 3, 70_001]


@pytest.mark.parametrize("n", LONG)
@pytest.mark.parametrize("dtype", ["int32", "int64", *FLOATS])
def test_long_rows_are_shared_by_the_threads(n: int, dtype: str) -> None:
    for variety in (2, 10**6):
        x = drawn(n, (n,), dtype, variety)
        before = tl.num_threads()
        for threads in (1, 2):
            tl.set_num_threads(threads)
            try:
                raw = tl.tensor(x)
                np.testing.assert_array_equal(array_of(F.sort(raw)), np.sort(x))
                order = array_of(F.argsort(raw))
                np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
                backwards = array_of(F.argsort(raw, descending=True))
                _, positions = F.topk(raw, k=5)
                np.testing.assert_array_equal(array_of(positions), backwards[:5])
                assert array_of(F.argmax(raw)) == np.argmax(x)
                assert array_of(F.argmin(raw[::2])) == np.argmin(x[::2])
                matrix = x[: n // 9 * 9].reshape(-1, 9)
                wide = tl.tensor(matrix)
                np.testing.assert_array_equal(array_of(F.argmax(wide, axis=0)), matrix.argmax(0))
            finally:
                tl.set_num_threads(before)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(400_000,), (100_000, 3), (3, 100_000)])
def test_running_sums_are_as_exact_as_numpys_and_do_not_depend_on_threads(
    shape: tuple[int, ...], dtype: str
) -> None:
    x = np.random.default_rng(1).uniform(0.0, 1.0, shape).astype(dtype)
    for axis in range(len(shape)):
        exact = np.cumsum(x.astype(np.longdouble), axis)
        bound = np.abs(np.cumsum(x, axis) - exact).max()
        results = []
        before = tl.num_threads()
        for threads in (1, 2):
            tl.set_num_threads(threads)
            try:
                results.append(array_of(F.cumulative_sum(tl.tensor(x), axis=axis)))
            finally:
                tl.set_num_threads(before)
        np.testing.assert_array_equal(results[0], results[1])
        assert np.abs(results[0] - exact).max() <= max(bound, np.spacing(exact.max().astype(dtype)))


@pytest.mark.parametrize("shape", [(300_000,), (100_000, 9), (9, 100_000)])
def test_a_variance_far_from_zero_does_not_cancel(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).normal(1e4, 1.0, shape).astype(np.float32)
    for axis in (None, *range(len(shape))):
        wanted = x.astype(np.float64).var(axis=axis)
        np.testing.assert_allclose(array_of(F.var(tl.tensor(x), axis=axis)), wanted, 1e-6)
