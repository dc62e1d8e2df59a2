"""The gamma family on NumPy arrays, which NumPy itself lacks: oracles for reference.py.

Steps up to large arguments, then Stirling's asymptotic series, in the precision of the argument.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used

STEPS = 24
# B(2), B(4), ..., Bernoulli's numbers as fractions.
BERNOULLI = ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))


EULER = "0.577215664901532860606512090082402431"
TERMS = 80  # of the power series, at most 1/2 away from its middle


def lgamma(x: Array) -> Array:
    """log(abs(gamma(x))): by power series next to its zeros 1 and 2, to keep every digit there."""
    import numpy as np

    x = np.asarray(x)
    is_negative = x < 0
    a = np.abs(x)
    w = a + STEPS
    series = sum(
        (p / (q * 2 * k * (2 * k - 1) * w ** (2 * k - 1)) for k, (p, q) in _terms(x)), 0 / w
    )
    product = np.prod([a + i for i in range(STEPS)], axis=0)
    far = (w - 0.5) * np.log(w) - w + 0.5 * np.log(2 * _pi(x)) + series - np.log(product)
    stirling = a * (np.log(a) - 1) - 0.5 * np.log(a) + 0.5 * np.log(2 * _pi(x)) + 1 / (12 * a)
    far = np.where(a > 1e6, stirling, far)
    near_two = np.log1p(a - 2) + _lgamma_1p(np.where(np.abs(a - 2) <= 0.5, a - 2, 0))
    near_one = _lgamma_1p(np.where(np.abs(a - 1) <= 0.5, a - 1, 0))
    value = np.where(np.abs(a - 2) <= 0.5, near_two, np.where(np.abs(a - 1) <= 0.5, near_one, far))
    sine = np.abs(np.sin(_pi(x) * (x - np.round(x))))
    value = np.where(is_negative, np.log(_pi(x) / (a * sine)) - value, value)
    value = np.where(a < 1e-30, -np.log(a), value)
    return np.where((a == np.inf) | (is_negative & (sine == 0)), np.inf, value)


def _lgamma_1p(u: Array) -> Array:
    """lgamma(1 + u) = -gamma u + zeta(2) u^2 / 2 - zeta(3) u^3 / 3 + ..."""
    total = -u.dtype.type(EULER) * u
    for k in range(2, TERMS):
        total = total + _zeta(k, u) * (-u) ** k / k
    return total


def _zeta(s: int, like: Array) -> Array:
    """Riemann's zeta function, by Euler's and Maclaurin's formula."""
    one, n = like.dtype.type(1), like.dtype.type(STEPS)
    total = sum(one / like.dtype.type(i) ** s for i in range(1, STEPS))
    total += n ** (1 - s) / (s - 1) + n ** (-s) / 2
    factor = one * s / 2  # s (s + 1) ... (s + 2 k - 2) / (2 k)!
    for k, (p, q) in _terms(like):
        total += factor * p / q * n ** (1 - s - 2 * k)
        factor *= one * (s + 2 * k - 1) * (s + 2 * k) / ((2 * k + 1) * (2 * k + 2))
    return total


def digamma(x: Array) -> Array:
    """The first derivative of lgamma."""
    import numpy as np

    x = np.asarray(x)
    is_negative = x < 0
    b = np.where(is_negative, 1 - x, x)
    w = b + STEPS
    series = sum((p / (q * 2 * k * w ** (2 * k)) for k, (p, q) in _terms(x)), 0 * x)
    positive = np.log(w) - 1 / (2 * w) - series - sum(1 / (b + i) for i in range(STEPS))
    angle = _pi(x) * (x - np.round(x))
    reflected = np.where(angle == 0, np.nan, positive - _pi(x) / np.tan(angle))
    value = np.where(is_negative, reflected, positive)
    return np.where(x == 0, -1 / x, np.where(x == np.inf, x, value))


def trigamma(x: Array) -> Array:
    """The second derivative of lgamma."""
    import numpy as np

    x = np.asarray(x)
    is_negative = x < 0
    b = np.where(is_negative, 1 - x, x)
    w = b + STEPS
    series = sum((p / (q * w ** (2 * k + 1)) for k, (p, q) in _terms(x)), 0 / w)
    positive = 1 / w + 1 / (2 * w * w) + series + sum(1 / (b + i) ** 2 for i in range(STEPS))
    sine = np.sin(_pi(x) * (x - np.round(x)))
    return np.where(is_negative, (_pi(x) / sine) ** 2 - positive, positive)


def _terms(x: Array) -> list[tuple[int, tuple[Array, Array]]]:
    """k and the two parts of B(2 k), in the precision of x."""
    return [(k, (x.dtype.type(p), x.dtype.type(q))) for k, (p, q) in enumerate(BERNOULLI, 1)]


def _pi(x: Array) -> Array:
    import numpy as np

    return x.dtype.type(4) * np.arctan(x.dtype.type(1))
