"""Running maxima, minima and sums of exponentials against NumPy; their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import FLOATS, Array

import tensorlike as tl

F: Any = tl.functional
DTYPES = ["bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64"]
UFUNCS: dict[str, Any] = {
    "cumulative_max": np.maximum,
    "cumulative_min": np.minimum,
    "logcumsumexp": np.logaddexp,
}
EXTREMES = ["cumulative_max", "cumulative_min"]
# A short row, rows of many vectors, a row of several chunks, columns beside a long axis.
SHAPES = [(5,), (3, 41), (200_003,), (70_000, 3), (4, 3, 5)]


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """All of an integer's range; floats about 0."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), dtype=bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return np.asarray(rng.normal(0, 3, shape), dtype=dtype)


def accumulated(name: str, x: Array, axis: int, reverse: bool) -> Array:
    """NumPy's running combination."""
    turned = np.flip(x, axis) if reverse else x
    out: Array = UFUNCS[name].accumulate(turned, axis)
    return np.flip(out, axis) if reverse else out


def array_of(x: Any) -> Array:
    """The elements."""
    return np.asarray(x)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_running_extremes_are_those_of_numpy(
    shape: tuple[int, ...], dtype: str, name: str, reverse: bool
) -> None:
    x = values(shape, dtype)
    for axis in range(len(shape)):
        found = array_of(getattr(F, name)(tl.tensor(x), axis=axis, reverse=reverse))
        np.testing.assert_array_equal(found, accumulated(name, x, axis, reverse), strict=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_of_exponentials_are_those_of_numpy(
    shape: tuple[int, ...], dtype: str, reverse: bool
) -> None:
    x = values(shape, dtype)
    for axis in range(len(shape)):
        found = array_of(F.logcumsumexp(tl.tensor(x), axis=axis, reverse=reverse))
        wanted = accumulated("logcumsumexp", x.astype(np.float64), axis, reverse).astype(dtype)
        assert found.dtype == wanted.dtype
        rtol = {2: 2e-3, 4: 1e-6, 8: 1e-13}[wanted.dtype.itemsize]
        np.testing.assert_allclose(found, wanted, rtol, rtol)


@pytest.mark.parametrize("name", UFUNCS)
def test_special_values_are_carried_along(name: str) -> None:
    inf, nan = np.inf, np.nan
    for row in ([-inf, -inf, 1.0, inf, 2.0], [1.0, nan, 5.0, 0.0], [-inf, nan, inf], [inf, -inf],
                [0.0, -0.0, 1e300, -1e300, 710.0]):  # fmt: skip
        x = np.array(row)
        for padding in (0, 9):  # within vectors, and behind them
            padded = np.concatenate([np.full(padding, x[0]), x])
            with np.errstate(invalid="ignore"):
                wanted = accumulated(name, padded, 0, False)
            found = array_of(getattr(F, name)(tl.tensor(padded)))
            np.testing.assert_allclose(found, wanted, 1e-14)


@pytest.mark.parametrize("name", UFUNCS)
def test_the_number_of_threads_and_strides_do_not_change_bits(name: str) -> None:
    wide = values((3, 260_001), "float32")
    x = tl.tensor(wide)[:, ::2]
    before = tl.num_threads()
    results = []
    for threads in (1, 2, 3):
        tl.set_num_threads(threads)
        try:
            results.append(array_of(getattr(F, name)(x, axis=1)))
        finally:
            tl.set_num_threads(before)
    same = array_of(getattr(F, name)(tl.tensor(np.ascontiguousarray(wide[:, ::2])), axis=1))
    for result in results:
        np.testing.assert_array_equal(result, same)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_combines_to_the_least_and_the_greatest(dtype: str) -> None:
    x = tl.tensor(values((3, 0), dtype))
    largest = array_of(F.cumulative_max(x, axis=1, include_initial=True))
    smallest = array_of(F.cumulative_min(x, axis=1, include_initial=True, reverse=True))
    assert largest.shape == smallest.shape == (3, 1)
    if dtype == "bool":
        limits: Any = (False, True)
    elif "float" in dtype:
        limits = (-np.inf, np.inf)
    else:
        limits = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    assert (largest == limits[0]).all()
    assert (smallest == limits[1]).all()
    assert (array_of(F.logcumsumexp(x, axis=1, include_initial=True)) == -np.inf).all()


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("reverse", [False, True])
def test_the_latest_of_equal_extremes_takes_the_gradient(name: str, reverse: bool) -> None:
    sign = 1.0 if name == "cumulative_max" else -1.0
    row = np.array([[1.0, 3.0, 2.0, 3.0, np.nan, 5.0]], dtype=np.float32) * sign
    x = tl.tensor(np.flip(row, 1) if reverse else row, requires_grad=True)
    y = getattr(F, name)(x, axis=1, reverse=reverse, include_initial=True)
    ones = np.arange(7, dtype=np.float32)[None]
    y.backward(tl.tensor(np.flip(ones, 1) if reverse else ones))
    found = array_of(x.grad)
    wanted = np.array([[1.0, 5.0, 0.0, 4.0, 11.0, 0.0]])
    np.testing.assert_array_equal(np.flip(found, 1) if reverse else found, wanted)


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_running_sums_of_exponentials_do_not_overflow(reverse: bool) -> None:
    row = np.array([-np.inf, 0.0, 900.0, -900.0, 901.0, 2000.0])
    weights = np.array([5.0, 1.0, -2.0, 0.0, 3.0, -4.0])
    x = tl.tensor(np.flip(row) if reverse else row, requires_grad=True)
    F.logcumsumexp(x, reverse=reverse).backward(tl.tensor(np.flip(weights) if reverse else weights))
    y = np.logaddexp.accumulate(row)
    with np.errstate(over="ignore", invalid="ignore"):
        shares = np.tril(np.exp(row[None, :] - y[:, None]))
    wanted = weights[1:] @ shares[1:]
    found = array_of(x.grad)
    np.testing.assert_allclose(np.flip(found) if reverse else found, wanted, 1e-10, 1e-300)


def test_modes_and_dtypes_are_checked() -> None:
    x = tl.tensor(np.arange(3))
    with pytest.raises(
        tl.ParameterError, match=r"^cumulative: mode must be 'cumulative_sum', .*; got 'sum'\.$"
    ):
        F.cumulative(x, mode="sum")
    with pytest.raises(
        tl.DTypeError, match=r"^logcumsumexp: dtype must be floating-point for logcumsumexp"
    ):
        F.logcumsumexp(x, dtype=tl.int64)
    assert F.logcumsumexp(x).dtype == tl.float32
    assert array_of(F.cumulative_max(x, dtype=tl.float64)).dtype == np.float64
