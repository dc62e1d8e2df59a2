"""Special functions on NumPy arrays, which NumPy itself lacks: oracles for reference.py.

Slow ways in the precision of the argument: power series near 0, continued fractions, asymptotic
series and trapezoidal sums elsewhere, Newton's method for inverses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .reference_gamma import BERNOULLI, lgamma

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used
PI = "3.14159265358979323846264338327950288"


def _constant(text: str, like: Array) -> Array:
    return like.dtype.type(text)


def _erf_of_small(x: Array) -> Array:
    """The power series, for abs(x) < 2."""
    import numpy as np

    term, total = x, x
    for n in range(1, 90):
        term = -term * x * x / n
        total = total + term / (2 * n + 1)
    return total * 2 / np.sqrt(_constant(PI, x))


def _erfcx_of_positive(x: Array) -> Array:
    """exp(x^2) erfc(x): from the series below 2, by a continued fraction from there on."""
    import numpy as np

    small = np.where(x < 2, x, 1)
    near = np.exp(small * small) * (1 - _erf_of_small(small))
    large = np.where(x < 2, 2, x)
    fraction = large
    for k in range(160, 0, -1):
        fraction = large + x.dtype.type(k) / 2 / fraction
    far = 1 / (fraction * np.sqrt(_constant(PI, x)))
    return np.where(x < 2, near, far)


def erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x)."""
    import numpy as np

    x = np.asarray(x)
    positive = _erfcx_of_positive(np.abs(x))
    result = np.where(x < 0, 2 * np.exp(x * x) - positive, positive)
    return np.where(np.isnan(x), x, result)


def ndtr(x: Array) -> Array:
    """The share of the normal distribution below x."""
    import numpy as np

    x = np.asarray(x)
    tail = 0.5 * np.exp(-x * x / 2) * _erfcx_of_positive(np.abs(x) / np.sqrt(x.dtype.type(2)))
    return np.where(np.isnan(x), x, np.where(x < 0, tail, 1 - tail))


def _erfc_inverse(q: Array) -> Array:
    """By Newton's method on the logarithm of erfc, for 0 < q <= 1/2."""
    import numpy as np

    x = np.sqrt(-np.log(q))
    for _ in range(12):
        scaled = _erfcx_of_positive(x)
        slope = 2 / (np.sqrt(_constant(PI, q)) * scaled)
        x = x + (np.log(scaled) - x * x - np.log(q)) / slope
    return x


def _erf_inverse(x: Array, rest: Array) -> Array:
    """By Newton's method near 0, where rest is not 1 - abs(x) to all digits."""
    import numpy as np

    is_near = np.abs(x) <= 0.5
    near = np.where(is_near, x, 0)
    y = near
    for _ in range(12):
        slope = 2 / np.sqrt(_constant(PI, x)) * np.exp(-y * y)
        y = y - (_erf_of_small(y) - near) / slope
    y = np.where(np.abs(near) < 1e-10, near * np.sqrt(_constant(PI, x)) / 2, y)
    far = _erfc_inverse(np.where(is_near | ~(rest > 0), 0.5, rest))
    far = np.copysign(np.where(rest == 0, np.inf, far), x)
    return np.where(is_near, y, np.where(rest >= 0, far, np.nan))


def erfinv(x: Array) -> Array:
    """The inverse of erf."""
    import numpy as np

    x = np.asarray(x)
    return _erf_inverse(x, 1 - np.abs(x))


def ndtri(p: Array) -> Array:
    """The inverse of ndtr."""
    import numpy as np

    p = np.asarray(p)
    rest = 2 * np.where(p < 0.5, p, 1 - p)
    return np.sqrt(p.dtype.type(2)) * _erf_inverse(2 * p - 1, rest)


def _modified_bessel(order: int) -> Callable[[Array], Array]:
    def scaled(x: Array) -> Array:
        """exp(-abs(x)) I(x)."""
        import numpy as np

        x = np.asarray(x)
        a = np.abs(x)
        near = np.where(a < 30, a, 1)
        term = total = (near / 2) ** order
        for k in range(1, 120):
            term = term * near * near / 4 / (k * (k + order))
            total = total + term
        far = np.where(a < 30, 30, np.where(np.isinf(a), np.finfo(x.dtype).max, a))
        part, series = far * 0 + 1, far * 0 + 1
        for k in range(1, 40):
            part = -part * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * far)
            series = series + part
        far = series / np.sqrt(2 * _constant(PI, x)) / np.sqrt(far)
        result = np.where(a < 30, total * np.exp(-near), np.where(np.isinf(a), 0, far))
        result = np.copysign(result, x) if order else result
        return np.where(np.isnan(x), x, result)

    return scaled


def _unscaled(scaled: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def function(x: Array) -> Array:
        import numpy as np

        x = np.asarray(x)
        power = np.exp(np.abs(x) / 2)
        return np.where(np.isinf(x), x if scaled(x.dtype.type(-1)) < 0 else np.abs(x),
                        power * scaled(x) * power)  # fmt: skip

    return function


def _bessel(order: int) -> Callable[[Array], Array]:
    def function(x: Array) -> Array:
        """The mean of cos(n u - x sin(u)) over a period; Hankel's expansion far out."""
        import numpy as np

        x = np.asarray(x)
        a = np.abs(x)
        pi = _constant(PI, x)
        near = np.where(a < 2, a, 1)
        term = total = (near / 2) ** order
        for k in range(1, 40):
            term = -term * near * near / 4 / (k * (k + order))
            total = total + term
        middle = np.where((a >= 2) & (a < 40), a, 2)
        count = 128
        waves = middle * 0
        for k in range(count):
            angle = 2 * pi * (k + x.dtype.type(0.5)) / count
            waves = waves + np.cos(order * angle - middle * np.sin(angle))
        far = np.where((a < 40) | ~np.isfinite(a), 40, a)
        p, q, part = far * 0 + 1, far * 0, far * 0 + 1
        for k in range(1, 40):
            part = part * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * far)
            sign = -1 if k % 4 in (2, 3) else 1
            p, q = (p + sign * part, q) if k % 2 == 0 else (p, q + sign * part)
        shift = pi / 4 * (2 * order + 1)
        cosine = np.cos(far) * np.cos(shift) + np.sin(far) * np.sin(shift)
        sine = np.sin(far) * np.cos(shift) - np.cos(far) * np.sin(shift)
        hankel = np.sqrt(2 / (pi * far)) * (p * cosine - q * sine)
        result = np.where(a < 2, total, np.where(a < 40, waves / count, hankel))
        result = np.where(np.isinf(a), 0, result)
        return np.where(np.isnan(x), x, np.copysign(1, x) * result if order else result)

    return function


def zeta(x: Array, q: Array) -> Array:
    """Hurwitz's zeta function, by Euler's and Maclaurin's formula."""
    import numpy as np

    x, q = np.broadcast_arrays(x, q)
    is_fine = (x > 1) & (q > 0) & np.isfinite(x) & np.isfinite(q)
    s, b = np.where(is_fine, x, 2), np.where(is_fine, q, 1)
    total = sum((b + k) ** -s for k in range(23, -1, -1))
    w = b + 24
    last = w**-s
    rest = w / (s - 1) + 0.5
    factor = s / w / 2
    for k, (over, under) in enumerate(BERNOULLI, 1):
        rest = rest + over * factor / under
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / ((2 * k + 1) * (2 * k + 2) * w * w)
    total = total + np.where((s < 700) & (last > 0), last * rest, 0)
    limit = np.where(q < 1, np.inf, np.where(q == 1, 1.0, 0.0))
    result = np.where(is_fine, total, np.where(np.isinf(x), limit, 0.0))
    pole = np.where(q == np.floor(q), np.inf, np.nan)
    result = np.where(q <= 0, pole, result)
    result = np.where(x == 1, np.inf, np.where(x < 1, np.nan, result))
    return np.where(np.isnan(x) | np.isnan(q), np.nan, result).astype(x.dtype)


def _of_pairs(share: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    """A function of two numbers, of arrays."""

    def function(a: Array, x: Array) -> Array:
        import numpy as np

        a, x = np.broadcast_arrays(a, x)
        pairs = zip(a.ravel(), x.ravel(), strict=True)
        found = [share(x.dtype.type(s), v) for s, v in pairs]
        return np.array(found, dtype=x.dtype).reshape(x.shape)

    return function


def _gamma_density_anywhere(a: Array, x: Array) -> Any:
    import numpy as np

    if not (a >= 0 and x >= 0):
        return np.nan
    if x == 0 or np.isinf(a) or np.isinf(x):
        return float(x == 0 and a == 0)
    return _gamma_density(a, x)


def _gamma_density(a: Array, x: Array) -> Array:
    """x^a exp(-x) / gamma(a + 1), for large a around its top."""
    import numpy as np

    if a < 50:
        return np.exp(a * np.log(x) - x - lgamma(a + 1))
    mu = (x - a) / a
    near = sum((-mu) ** k / k for k in range(60, 1, -1))
    rest = mu - np.log1p(mu) if abs(mu) > 0.2 else near
    correction = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5) - 1 / (1680 * a**7)
    return np.exp(-a * rest - correction) / np.sqrt(2 * _constant(PI, x) * a)


def _gamma_share(a: Array, x: Array, is_upper: bool) -> Array:
    """One number: the series of the lower function, or the fraction of the upper one."""
    import numpy as np

    if not (a >= 0 and x >= 0) or (a == 0 and x == 0) or (np.isinf(a) and np.isinf(x)):
        return np.nan
    if a == 0 or np.isinf(x) or x == 0 or np.isinf(a):
        is_all = a == 0 or np.isinf(x)
        return float(is_all != is_upper)
    if abs(x - a) > 50 * np.sqrt(a) + 3000:  # the smaller one underflows
        return float((x > a) != is_upper)
    if a == x and a > 1e7:
        return 0.5 + (1 if not is_upper else -1) / (3 * np.sqrt(2 * _constant(PI, x) * a))
    density = _gamma_density(a, x)
    if x < a + 2:
        term = total = x.dtype.type(1)
        n = 0
        while term > total * 1e-22:
            n += 1
            term = term * x / (a + n)
            total = total + term
        lower = density * total
        return 1 - lower if is_upper else lower
    fraction = x.dtype.type(0)
    for n in range(400, 0, -1):
        fraction = n * (n - a) / (x + 2 * n + 1 - a - fraction)
    upper = density * a / (x + 1 - a - fraction)
    return upper if is_upper else 1 - upper


I0E, I1E = _modified_bessel(0), _modified_bessel(1)
SPECIAL: Mapping[str, Callable[..., Any]] = {
    "erfinv": erfinv,
    "erfcx": erfcx,
    "ndtr": ndtr,
    "ndtri": ndtri,
    "i0": _unscaled(I0E),
    "i0e": I0E,
    "i1": _unscaled(I1E),
    "i1e": I1E,
    "bessel_j0": _bessel(0),
    "bessel_j1": _bessel(1),
    "zeta": zeta,
    "gamma_density": _of_pairs(_gamma_density_anywhere),
    "igamma": _of_pairs(lambda a, x: _gamma_share(a, x, is_upper=False)),
    "igammac": _of_pairs(lambda a, x: _gamma_share(a, x, is_upper=True)),
}
