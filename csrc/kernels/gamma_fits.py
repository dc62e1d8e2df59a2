"""The polynomials of lgamma, digamma and trigamma; coefficients.py prints them."""

from __future__ import annotations

from mpmath import mp, mpf  # type: ignore[import-untyped]
from remez import Fit, Real

ONE = mpf(1)
DIGAMMA_ZERO = mp.findroot(mp.digamma, mpf("1.4616"))
HALF_LOG_2PI_OVER_E = (mp.log(2 * mp.pi) - 1) / 2


def ratio(
    name: str, formula: str, f: Real, constant: float, center: str, ends: tuple[str, str]
) -> Fit:
    c = mpf(center)
    low, high = (((x - c) / (x + c)) for x in map(mpf, ends))
    text = f"{formula}, t = (x - {center}) / (x + {center})"

    def g(t: mpf) -> mpf:
        return f(c * (1 + t) / (1 - t))

    def tail(t: mpf) -> mpf:
        return g(t) - constant

    return Fit(name, text, tail, lambda t: 1 / g(t), (low, high), {"double": 26})


def series(name: str, formula: str, g: Real, f: Real, power: int, low: str) -> Fit:
    """In t = 1 / x^2, where P(t) / x^power is what is left of f."""
    interval = (mpf(10) ** -8, 1 / mpf(low) ** 2)
    text = f"{formula}, t = 1 / x^2"

    def at(function: Real) -> Real:
        return lambda t: function(1 / mp.sqrt(t))

    def weight(x: mpf) -> mpf:
        return 1 / (x**power * f(x))

    return Fit(name, text, at(g), at(weight), interval, {"double": 8})


def trigamma(x: mpf) -> mpf:
    return mp.psi(1, x)


def gamma_fits() -> list[Fit]:
    """lgamma, digamma and trigamma: near their zeros and poles, and Stirling's series from 5 on.

    The functions are singular on the negative axis. t = (x - c) / (x + c), with c in the geometric
    middle of the interval, keeps it as far away from the polynomial as it can be. The polynomial
    is what is left of a short constant, so that its rounding errors count less than half.
    """
    return [
        ratio(
            "lgamma_middle",
            "lgamma(x) = (x - 1) (x - 2) (0.5 + P(t))",
            lambda x: mp.loggamma(x) / ((x - 1) * (x - 2)),
            0.5,
            "1.625",
            ("0.6", "4.6"),
        ),
        series(
            "lgamma_large",
            "lgamma(x) = (x - 1/2) (log(x) - 1) + log(2 pi / e) / 2 + P(t) / x",
            lambda x: x * (mp.loggamma(x) - (x - ONE / 2) * (mp.log(x) - 1) - HALF_LOG_2PI_OVER_E),
            mp.loggamma,
            1,
            "4.6",
        ),
        ratio(
            "digamma_middle",
            "digamma(x) = (x - zero) (0.75 + P(t))",
            lambda x: mp.digamma(x) / (x - DIGAMMA_ZERO),
            0.75,
            "2.25",
            ("1", "5"),
        ),
        series(
            "digamma_large",
            "digamma(x) = log(x) - 1 / (2 x) - t P(t)",
            lambda x: (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x**2,
            mp.digamma,
            2,
            "5",
        ),
        ratio(
            "trigamma_middle",
            "trigamma(x) = (1.25 + P(t)) / x",
            lambda x: x * trigamma(x),
            1.25,
            "2.25",
            ("1", "5"),
        ),
        series(
            "trigamma_large",
            "trigamma(x) = 1 / x + 1 / (2 x^2) + P(t) / x^3",
            lambda x: (trigamma(x) - 1 / x - 1 / (2 * x**2)) * x**3,
            trigamma,
            3,
            "5",
        ),
    ]
