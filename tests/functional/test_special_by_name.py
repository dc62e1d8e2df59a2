"""Special functions that are composed: polynomials, Bessel functions, mantissas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

import tensorlike as tl

X = np.linspace(-1.5, 1.5, 13)
SERIES = {
    "chebyshev_polynomial_t": chebyshev.chebval,
    "hermite_polynomial_h": hermite.hermval,
    "hermite_polynomial_he": hermite_e.hermeval,
    "laguerre_polynomial_l": laguerre.lagval,
    "legendre_polynomial_p": legendre.legval,
}
ANGLES = {
    "chebyshev_polynomial_u": lambda n, t: np.sin((n + 1) * t) / np.sin(t),
    "chebyshev_polynomial_v": lambda n, t: np.cos((n + 0.5) * t) / np.cos(t / 2),
    "chebyshev_polynomial_w": lambda n, t: np.sin((n + 0.5) * t) / np.sin(t / 2),
}


@pytest.mark.parametrize("name", SERIES)
def test_polynomials_are_those_of_numpy_at_every_degree(name: str) -> None:
    call = getattr(tl.special, name)
    for n in (*range(7), 20):
        wanted = SERIES[name](X, np.eye(n + 1)[n])
        np.testing.assert_allclose(call(tl.tensor(X), n), wanted, rtol=1e-12, atol=1e-12)
    degrees = np.array([[3], [0], [-1], [5]])
    found = np.asarray(call(tl.tensor(X), tl.tensor(degrees)))
    for row, n in zip(found, degrees[:, 0], strict=True):
        np.testing.assert_array_equal(row, call(tl.tensor(X), int(n)))


@pytest.mark.parametrize("name", ANGLES)
@pytest.mark.parametrize("shift", ["", "shifted_"])
def test_chebyshevs_polynomials_are_those_of_angles(name: str, shift: str) -> None:
    angle = np.linspace(0.3, 2.9, 9)
    x = (np.cos(angle) + 1) / 2 if shift else np.cos(angle)
    for n in (0, 1, 2, 5, 30):
        found = getattr(tl.special, shift + name)(tl.tensor(x), n)
        np.testing.assert_allclose(found, ANGLES[name](n, angle), rtol=1e-11, atol=1e-11)


def test_polynomials_have_slopes_and_refuse_degrees_that_nobody_knows() -> None:
    x = tl.tensor(X)
    slope = tl.grad(lambda x: tl.special.legendre_polynomial_p(x, 4).sum())(x)
    np.testing.assert_allclose(slope, legendre.legval(X, legendre.legder([0, 0, 0, 0, 1])))
    # An element of degree 1 at 2, where the polynomial of the other's degree, 900, overflows.
    both = tl.tensor([1.0, 900.0])
    slopes = tl.grad(lambda x: tl.special.chebyshev_polynomial_t(x, both)[0])(tl.tensor([2.0, 0.5]))
    np.testing.assert_array_equal(slopes, [1, 0])
    call: Any = tl.special.legendre_polynomial_p
    with pytest.raises(tl.ParameterError, match="legendre_polynomial_p: n must be an integer"):
        call(x, 0.5)
    with pytest.raises(tl.ParameterError, match="legendre_polynomial_p: n must be finite"):
        call(x, tl.tensor([np.nan]))
    with pytest.raises(tl.ParameterError, match="tensor whose elements are known"):
        tl.vmap(lambda n: call(x, n))(tl.tensor([1, 2]))


BESSEL = {
    "bessel_y0": ("bessely", 0),
    "bessel_y1": ("bessely", 1),
    "modified_bessel_k0": ("besselk", 0),
    "modified_bessel_k1": ("besselk", 1),
}


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_are_as_exact_as_they_say(name: str) -> None:
    mp = pytest.importorskip("mpmath").mp
    family, order = BESSEL[name]
    near = [1e-300, 1e-20, 0.01, 0.7, 0.9999, 1.0, 2.0, 2.9999, 3.0]
    x = np.array([*near, 3.83, 9.0, 14.6, 24.99, 25.0, 60.0, 300.0])
    found = np.asarray(getattr(tl.special, name)(tl.tensor(x)))
    for at, value in zip(x, found, strict=True):
        with mp.workdps(40):
            wanted = getattr(mp, family)(order, mp.mpf(float(at)))
            swing = mp.sqrt(2 / (mp.pi * at)) if family == "bessely" else 0
            off = abs(mp.mpf(float(value)) - wanted) / max(abs(wanted), swing)
        assert off < 100 * 2.0**-53, at


@pytest.mark.parametrize("name", [*BESSEL, "scaled_modified_bessel_k0", "spherical_bessel_j0"])
def test_bessel_functions_end_as_they_should(name: str) -> None:
    call = getattr(tl.special, name)
    at_zero = 1.0 if "spherical" in name else -np.inf if "_y" in name else np.inf
    found = call(tl.tensor([0.0, np.inf, np.nan]))
    np.testing.assert_array_equal(found, [at_zero, 0, np.nan])
    if "spherical" not in name:
        assert np.isnan(call(tl.tensor(-1.0)).item())
    x = np.array([0.3, 0.99, 2.0, 7.0, 40.0])
    slope = tl.grad(lambda x: call(x).sum())(tl.tensor(x))
    step = 1e-5
    wanted = (np.asarray(call(tl.tensor(x + step))) - np.asarray(call(tl.tensor(x - step)))) / (
        2 * step
    )
    np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-9)
    assert call(tl.tensor([1, 2])).dtype.name == "float32"


def test_scaled_functions_do_not_underflow() -> None:
    found = tl.special.scaled_modified_bessel_k1(tl.tensor([1e4], dtype="float64"))
    np.testing.assert_allclose(found, np.sqrt(np.pi / 2e4) * (1 + 3 / 8e4), rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_frexp_is_numpys(dtype: str) -> None:
    limits = np.finfo(dtype)
    below = np.nextafter(limits.dtype.type(1), limits.dtype.type(0))
    smallest = [-limits.tiny, limits.smallest_subnormal]
    x = np.array([0, -0.0, 1, -6.5, below, limits.max, *smallest, np.inf, -np.inf, np.nan], dtype)
    mantissa, exponent = tl.functional.frexp(tl.tensor(x))
    wanted = np.frexp(x)
    np.testing.assert_array_equal(mantissa, wanted[0])
    np.testing.assert_array_equal(exponent, np.where(np.isfinite(x), wanted[1], 0))
    assert exponent.dtype.name == "int32" and mantissa.dtype.name == dtype
    slope = tl.grad(lambda x: tl.functional.frexp(x).mantissa.sum())(tl.tensor([3.0, -0.1]))
    np.testing.assert_array_equal(slope, [0.25, 8.0])


def test_airys_function_keeps_its_bound_on_both_sides_of_0() -> None:
    mp = pytest.importorskip("mpmath").mp
    x = np.concatenate([np.linspace(-40, 40, 161), [-1.0, 1.0, 0.999, -0.999, -200.0]])
    value = np.array([float(mp.airyai(v)) for v in x])
    slope = np.array([float(mp.airyai(v, derivative=1)) for v in x])
    found = np.asarray(tl.special.airy_ai(tl.tensor(x)))
    swing = np.where(x < 0, np.maximum(np.abs(x), 1) ** -0.25 / np.sqrt(np.pi), value)
    units = 20 + 4 / 3 * np.abs(x) ** 1.5
    assert (np.abs(found - value) <= units * 2**-52 * swing).all()
    slopes = tl.grad(lambda x: tl.special.airy_ai(x).sum())(tl.tensor(x))
    np.testing.assert_allclose(slopes, slope, rtol=1e-12, atol=1e-12)


def test_airys_function_ends_in_0_and_keeps_nan() -> None:
    ends = tl.special.airy_ai(tl.tensor(np.array([np.inf, -np.inf, np.nan, 1e300, 300.0])))
    np.testing.assert_array_equal(ends, [0, 0, np.nan, 0, 0])
    middle = tl.special.airy_ai(tl.tensor([0.0, -0.0], dtype="float64"))
    np.testing.assert_allclose(middle, [0.3550280538878172] * 2, rtol=1e-15)
    assert tl.special.airy_ai(tl.tensor([1, 2])).dtype.name == "float32"
