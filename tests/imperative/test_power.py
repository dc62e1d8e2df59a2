"""x ** number takes a cheaper op than pow where one gives what pow would."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

EXPONENTS = (2, 2.0, 3, 3.0, 0.5, -1, -1.0)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32", "int64", "bool"))
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_literal_power_has_the_dtype_and_the_values_of_pow(exponent: float, dtype: str) -> None:
    if exponent == -1 and isinstance(exponent, int) and not dtype.startswith("float"):
        pytest.skip("integers have no negative powers: refused")
    x = tl.tensor(np.array([[0.25, 1.5, 2.0], [3.0, 7.0, 11.0]]).astype(dtype))
    wanted = F.pow(x, exponent)
    assert (x**exponent).dtype == wanted.dtype
    np.testing.assert_allclose(x**exponent, wanted, rtol=3e-7)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_its_special_values_are_those_of_the_power(exponent: float) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1e300, -1e300])
    with np.errstate(all="ignore"):
        wanted = np.sqrt(x) if exponent == 0.5 else np.power(x, exponent)
    np.testing.assert_array_equal(tl.tensor(x) ** exponent, wanted)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_its_gradients_are_those_of_pow(exponent: float) -> None:
    x = tl.tensor([0.3, 1.0, 4.5], dtype=tl.float64)
    first, by_pow = (
        tl.grad(lambda v: F.sum(v**exponent)),
        tl.grad(lambda v: F.sum(F.pow(v, exponent))),
    )
    np.testing.assert_allclose(first(x), by_pow(x), rtol=1e-14)
    second, again = (tl.grad(lambda v, g=g: F.sum(g(v))) for g in (first, by_pow))
    np.testing.assert_allclose(second(x), again(x), rtol=1e-13)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_power_in_place_keeps_the_wrapper(exponent: float) -> None:
    x = tl.tensor([0.25, 4.0])
    same = x
    x **= exponent
    assert same is x
    np.testing.assert_allclose(x, np.array([0.25, 4.0]) ** exponent)


def test_views_empty_tensors_and_other_exponents_work_too() -> None:
    x = tl.tensor(np.arange(12.0).reshape(3, 4))
    np.testing.assert_allclose(x.T[::2] ** 2, np.arange(12.0).reshape(3, 4).T[::2] ** 2)
    assert (tl.tensor(np.empty((0, 3))) ** 3).shape == (0, 3)
    np.testing.assert_allclose(x**1.7, np.arange(12.0).reshape(3, 4) ** 1.7)
    np.testing.assert_allclose(x**True, x)
    with pytest.raises(TypeError):
        x ** "2"  # type: ignore[operator]
