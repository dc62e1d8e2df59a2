"""isclose and its kin, and nan_to_num, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

NUMBERS = [0.0, -0.0, 1.0, 1.000001, 1.1, 1e-9, np.nan, np.inf, -np.inf, 1e300, -5.0]


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_is_that_of_numpy(equal_nan: bool) -> None:
    x, y = np.array(list(itertools.product(NUMBERS, repeat=2))).T
    found = F.isclose(tl.tensor(x), tl.tensor(y), equal_nan=equal_nan)
    np.testing.assert_array_equal(found, np.isclose(x, y, equal_nan=equal_nan))
    found = F.isclose(tl.tensor(x), tl.tensor(y), rtol=0.0, atol=0.2)
    np.testing.assert_array_equal(found, np.isclose(x, y, rtol=0.0, atol=0.2))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "complex64", "float16"])
def test_isclose_takes_every_dtype(dtype: str) -> None:
    x = np.array([0, 1, 100, 101]).astype(dtype)
    y = np.array([0, 2, 101, 101]).astype(dtype)
    np.testing.assert_array_equal(
        F.isclose(tl.tensor(x), tl.tensor(y), rtol=0.02), np.isclose(x, y, rtol=0.02)
    )


def test_whole_tensors_compare() -> None:
    x = tl.tensor([1.0, float("nan")])
    assert not F.allclose(x, x)
    assert F.allclose(x, x, equal_nan=True)
    assert F.array_equal(x, x, equal_nan=True)
    assert not F.array_equal(x, x)
    assert not F.array_equal(x, tl.tensor([[1.0], [2.0]]))
    assert F.array_equal(tl.zeros((0, 2)), tl.zeros((0, 2)))
    assert x.allclose(x, equal_nan=True)


def test_wrong_tolerances_are_refused() -> None:
    with pytest.raises(tl.ParameterError, match="isclose: rtol must be not negative; got rtol=-1"):
        F.isclose(1.0, 1.0, rtol=-1)
    with pytest.raises(tl.ParameterError, match="allclose: atol must be not negative"):
        F.allclose(1.0, 1.0, atol=-1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32"])
def test_nan_to_num_is_that_of_numpy(dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array([1.5, np.nan, np.inf, -np.inf, -0.0]).astype(dtype)
    if dtype == "complex64":
        x = x + np.array([0, 1j * np.inf, 0, 0, -1j], dtype=dtype)
    np.testing.assert_array_equal(F.nan_to_num(tl.tensor(x)), np.nan_to_num(x), strict=True)
    found = F.nan_to_num(tl.tensor(x), nan=2, posinf=3, neginf=-4)
    np.testing.assert_array_equal(found, np.nan_to_num(x, nan=2, posinf=3, neginf=-4), strict=True)


def test_nan_to_num_passes_the_gradient_of_numbers_alone() -> None:
    x = tl.tensor([1.0, float("nan"), float("inf")])
    assert tl.grad(lambda x: (F.nan_to_num(x, posinf=1.0) * 3).sum())(x).tolist() == [3, 0, 0]


def test_isreal_looks_at_the_imaginary_part() -> None:
    assert F.isreal(tl.tensor([1j, 2 + 0j])).tolist() == [False, True]
    assert F.isreal(tl.tensor([True, False])).tolist() == [True, True]
    assert F.isreal(tl.tensor([1.0, float("nan")])).tolist() == [True, True]
