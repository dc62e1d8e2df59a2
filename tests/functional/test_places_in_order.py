"""The element at a place of a row's order, found by selection: k-th values, medians, windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

Array = np.ndarray[Any, Any]
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]
HOW = [
    "any", "few values", "constant", "rising", "falling", "rising and falling", "periodic",
    "not all numbers",
]  # fmt: skip
# Around what is sorted at once, parted, and narrowed by a sample.
SIZES = [1, 2, 17, 127, 128, 129, 256, 257, 513, 1000, 2047, 2048, 5000]


def drawn(n: int, dtype: str, how: str) -> Array:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n) * 40
    match how:
        case "few values":
            x = np.round(x / 40)
        case "constant":
            x = np.full(n, 3.0)
        case "rising":
            x = np.sort(x)
        case "falling":
            x = np.sort(x)[::-1]
        case "rising and falling":
            x = np.concatenate([np.sort(x[: n // 2]), np.sort(x[n // 2 :])[::-1]])
        case "periodic":
            x = np.tile(np.arange(64.0), n // 64 + 1)[:n]
        case "not all numbers" if dtype.startswith("float"):
            special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0])
            x = np.where(rng.random(n) < 0.6, rng.choice(special, n), x)
    return (np.abs(x) if dtype[0] in "ub" else x).astype(dtype)


def bits(x: Array) -> bytes:
    """What tells zeros apart, but no NaN from another."""
    return np.where(np.isnan(x), np.nan, x).tobytes() if x.dtype.kind == "f" else x.tobytes()


def places(n: int) -> list[int]:
    return sorted({1, 2, n // 3, (n + 1) // 2, n - 1, n} & set(range(1, n + 1)))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_kth_value_is_that_of_a_stable_order(dtype: str, how: str) -> None:
    for n in SIZES:
        x = drawn(n, dtype, how)
        order = np.argsort(x, kind="stable")
        for k in places(n):
            value, position = F.kthvalue(tl.tensor(x), k)
            assert position.item() == order[k - 1], (n, k)
            assert bits(np.asarray(value)) == bits(x[order[k - 1]])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_a_window_is_cut_out_of_a_stable_order(dtype: str, how: str) -> None:
    for n in (2, 17, 128, 300, 2500):
        x = drawn(n, dtype, how)
        for largest in (False, True):
            order = np.asarray(F.argsort(tl.tensor(x), descending=largest))
            for skip, k in ((0, n), (1, 1), (n // 2, 1), (n // 2, n - n // 2), (n, 0), (1, n - 1)):
                values, found = F.topk(tl.tensor(x), k, largest=largest, skip=skip)
                wanted = order[skip : skip + k]
                np.testing.assert_array_equal(np.asarray(found), wanted)
                assert bits(np.asarray(values)) == bits(x[wanted])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("n", [70_001, 140_003])
def test_long_rows_and_threads_change_nothing(n: int, how: str) -> None:
    before = tl.num_threads()
    for dtype in ("int64", "float32"):
        x = drawn(n, dtype, how)
        order = np.argsort(x, kind="stable")
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            try:
                for k in places(n):
                    assert F.kthvalue(tl.tensor(x), k)[1].item() == order[k - 1]
                for k in (1, 10, 700):
                    found = F.topk(tl.tensor(x), k, largest=False)[1]
                    np.testing.assert_array_equal(np.asarray(found), order[:k])
                assert bits(np.asarray(F.sort(tl.tensor(x)))) == bits(x[order])
            finally:
                tl.set_num_threads(before)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
def test_layouts_and_engine_modes_change_nothing(mode: str) -> None:
    x = drawn(4200, "float32", "not all numbers").reshape(60, 70)
    with tl.engine.mode(mode):
        for axis in (0, 1):
            order = np.argsort(x, axis=axis, kind="stable")
            for k in (1, 31, 60):
                wanted = np.take(order, k - 1, axis)
                for view in (
                    tl.tensor(x),
                    tl.tensor(x.T.copy()).T,
                    tl.tensor(x[::-1].copy())[::-1],
                ):
                    np.testing.assert_array_equal(
                        np.asarray(F.kthvalue(view, k, axis=axis)[1]), wanted
                    )


def test_many_rows_and_none() -> None:
    x = drawn(30_000, "float32", "few values").reshape(10, 3000)
    found = F.kthvalue(tl.tensor(x), 1500)[1]
    np.testing.assert_array_equal(np.asarray(found), np.argsort(x, axis=1, kind="stable")[:, 1499])
    assert F.kthvalue(tl.zeros((0, 5)), 3)[0].shape == (0,)
    assert F.topk(tl.zeros((4, 5)), 0, skip=5)[0].shape == (4, 0)


def test_the_median_is_the_lower_middle_and_has_the_gradient() -> None:
    for n in (1, 2, 9, 300, 2500):
        x = drawn(n, "float32", "any")
        given = tl.tensor(x, requires_grad=True)
        middle = F.median(given)
        middle.backward()
        place = np.argsort(x, kind="stable")[(n - 1) // 2]
        assert middle.item() == x[place]
        np.testing.assert_array_equal(np.asarray(given.grad), np.eye(n, dtype="f4")[place])
        x[n // 2] = np.nan
        assert np.isnan(F.median(tl.tensor(x)).item())


def test_what_is_skipped_must_be_there() -> None:
    for k, skip in ((2, 2), (1, 3), (1, -1), (-1, 2)):
        with pytest.raises(tl.ShapeError, match="skip"):
            F.topk(tl.zeros((3,)), k, skip=skip)


def test_the_gradient_goes_to_what_a_window_shows() -> None:
    x = tl.tensor([4.0, 1.0, 3.0, 2.0], requires_grad=True)
    values, _ = F.topk(x, 2, skip=1)
    values.backward(tl.tensor([10.0, 20.0]))
    np.testing.assert_array_equal(np.asarray(x.grad), [0, 0, 10, 20])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_the_order_of_wide_elements_is_stable_in_any_range(dtype: str, descending: bool) -> None:
    rng = np.random.default_rng(7)
    for n in (1, 2, 17, 100, 1000, 5000):
        for least, width in ((-3, 7), (-(2**31), 2**32), (-(2**20), 2**33), (2**40, 2**41)):
            draws = rng.integers(least, least + width, (3, n)) if dtype != "uint64" else (
                rng.integers(0, width, (3, n), "uint64") + np.uint64(2**63 - 5)
            )  # fmt: skip
            x = draws.astype(dtype)
            ends = np.iinfo(dtype) if dtype != "float64" else np.finfo(dtype)
            for each in (x, np.where(rng.random((3, n)) < 0.1, ends.max, x), np.append(
                x, np.full((3, 1), ends.min, dtype), axis=1)):  # fmt: skip
                found = np.asarray(F.argsort(tl.tensor(each), axis=-1, descending=descending))
                keys = ~each if descending and dtype != "float64" else each
                keys = -keys if descending and dtype == "float64" else keys
                np.testing.assert_array_equal(found, np.argsort(keys, -1, kind="stable"))
