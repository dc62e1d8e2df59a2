"""Products added to what is there, rounding to decimals, and other composed arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 4, 5))
PRODUCTS: dict[str, tuple[Any, Any, Callable[[Any, Any], Any]]] = {
    "addmm": (A[0], B[0], lambda a, b: a @ b),
    "addmv": (A[0], B[0, :, 0], lambda a, b: a @ b),
    "addr": (A[0, 0], B[0, 0], np.outer),
    "baddbmm": (A, B, lambda a, b: a @ b),
    "addbmm": (A, B, lambda a, b: (a @ b).sum(0)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_is_added(name: str) -> None:
    a, b, product = PRODUCTS[name]
    wanted = product(a, b)
    x = RNG.normal(size=wanted.shape)
    call = getattr(F, name)
    given = [tl.tensor(v) for v in (x, a, b)]
    np.testing.assert_allclose(call(*given), x + wanted, rtol=1e-12)
    found = call(*given, beta=0.5, alpha=-2)
    np.testing.assert_allclose(found, 0.5 * x - 2 * wanted, rtol=1e-12)
    nothing = tl.tensor(np.full_like(x, np.nan))
    np.testing.assert_allclose(call(nothing, *given[1:], beta=0), wanted, rtol=1e-12)
    np.testing.assert_allclose(getattr(given[0], name)(*given[1:]), x + wanted, rtol=1e-12)
    slope = tl.grad(lambda x, a: call(x, a, given[2], alpha=3).sum(), argnums=1)(*given[:2])
    assert slope.shape == a.shape


@pytest.mark.parametrize("name", PRODUCTS)
def test_wrong_shapes_are_refused_by_name(name: str) -> None:
    a, b, _ = PRODUCTS[name]
    with pytest.raises(tl.ShapeError, match=f"^{name}: .* must have"):
        getattr(F, name)(0.0, tl.tensor(a[None]), tl.tensor(b))
    with pytest.raises(tl.ShapeError, match=f"^{name}: x must broadcast"):
        getattr(F, name)(tl.ones((7, 7)), tl.tensor(a), tl.tensor(b))


@pytest.mark.parametrize("decimals", [-3, -2, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ["float64", "int64", "int8", "uint8", "complex128"])
def test_round_keeps_decimals_as_numpy_does(decimals: int, dtype: str) -> None:
    x = np.array([0.125, 15, 25, 35, 126.55, -15, -25.5, 5, 50, 100])
    x = (np.abs(x) if dtype == "uint8" else x).astype(dtype)
    found = tl.round(tl.tensor(x), decimals=decimals)
    wanted = np.round(x.astype("int64") if "int" in dtype else x, decimals)
    assert found.dtype.name == dtype
    if "int" in dtype:
        wanted = wanted.astype(dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_round_with_decimals_leaves_what_is_no_number() -> None:
    x = tl.tensor([float("nan"), float("inf"), 1e300, -float("inf")], tl.float64)
    np.testing.assert_array_equal(tl.round(x, decimals=20), x)
    assert round(tl.tensor([1.26]), 1).tolist() == pytest.approx([1.3])
    with pytest.raises(tl.ParameterError, match="round: decimals must be an integer"):
        tl.round(x, decimals=1.5)
    with pytest.raises(tl.ParameterError, match="round: unknown argument 'places'"):
        tl.round(x, places=1)


def test_softplus_is_the_number_above_its_threshold() -> None:
    x = tl.tensor([0.5, 1.5, 3.0])
    kept = F.softplus(x)
    assert F.softplus(x, 2.0, threshold=2.5).tolist() == [F.softplus(x, 2.0)[0].item(), 1.5, 3.0]
    assert F.softplus(x, threshold=None).tolist() == kept.tolist()
    slope = tl.grad(lambda x: F.softplus(x, threshold=1.0).sum())(x)
    assert slope.tolist()[1:] == [1.0, 1.0]


def test_float_power_computes_in_the_widest_dtype() -> None:
    found = F.float_power(tl.tensor([2, 3]), tl.tensor([-1, 2]))
    assert found.dtype is tl.float64 and found.tolist() == [0.5, 9.0]
    assert F.float_power(tl.tensor([1j]), 2).dtype is tl.complex128


def test_polar_makes_complex_numbers() -> None:
    found = F.polar(tl.tensor([2.0]), tl.tensor([np.pi / 2]))
    np.testing.assert_allclose(found, [2j], atol=1e-6)
