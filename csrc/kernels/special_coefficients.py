"""Makes opdecl/formulas/special_coefficients.yaml, as coefficients.py makes what is for the rest.

    python3 csrc/kernels/special_coefficients.py            # print the entries
    python3 csrc/kernels/special_coefficients.py --check    # compare them with the file

Needs mpmath; it is not needed to build.
"""

from __future__ import annotations

import sys

from coefficients import FORMULAS, emit, emit_entry, emit_shared, literal, report
from mpmath import mp, mpf  # type: ignore[import-untyped]
from remez import Fit, Real, round_to, split

TINY = mpf(2) ** -40  # stands for 0 in intervals of t = x^2
TEMME_ORDERS, TEMME_POWERS = 9, 18


def zero_of(order: int) -> mpf:
    """The one of the Bessel function between 0 and 5."""
    return mp.besseljzero(order, 1)


def inverse_error_fits() -> list[Fit]:
    def middle(t: mpf) -> mpf:
        return mp.erfinv(mp.sqrt(t)) / mp.sqrt(t)

    def tail(t: mpf) -> mpf:
        """x over s where erfc(x) = exp(-s^2) and t = 1 / (1 + s)."""
        s = 1 / t - 1
        x = mp.findroot(lambda x: mp.log(mp.erfc(x)) + s * s, s - mp.log(1 + 2 * s) / (2 * s))
        return x / s

    half = mp.sqrt(-mp.log(mpf("0.5")))
    return [
        Fit(
            "erfinv_middle",
            "erfinv(x) = x P(x^2)",
            middle,
            lambda t: 1 / middle(t),
            (TINY, mpf("0.3165")),
            {"double": 19},
        ),
        Fit(
            "erfc_inverse_start",
            "erfc(s P(1 / (1 + s))) = exp(-s^2), a first approximation",
            tail,
            lambda t: 1 / tail(t),
            (1 / (1 + mpf("27.4")), 1 / (1 + half) + mpf("0.001")),
            {"double": 9},
        ),
    ]


def modified_bessel_fits() -> list[Fit]:
    """Near 0 all terms of the power series are positive, so that nothing cancels."""

    def whole(order: int, t: mpf) -> mpf:
        x = 2 * mp.sqrt(t)
        return mp.besseli(order, x) / mp.sqrt(t) ** order

    def far(order: int, t: mpf) -> mpf:
        x = 8 / t
        return mp.exp(-x) * mp.besseli(order, x) * mp.sqrt(x)

    made = []
    for order in (0, 1):
        over = " 2 / x" if order else ""
        made += [
            Fit(
                f"i{order}_near",
                f"i{order}(x){over} = 1 + t P(t), t = x^2 / 4",
                lambda t, n=order: (whole(n, t) - 1) / t,  # type: ignore[misc]
                lambda t, n=order: t / whole(n, t),  # type: ignore[misc]
                (TINY, mpf(16)),
                {"double": 15},
            ),
            Fit(
                f"i{order}e_far",
                f"i{order}e(x) = P(8 / x) / sqrt(x)",
                lambda t, n=order: far(n, t),  # type: ignore[misc]
                lambda t, n=order: 1 / far(n, t),  # type: ignore[misc]
                (mpf("0.002"), mpf(1)),
                {"double": 22},
            ),
        ]
    return made


def bessel_fits() -> list[Fit]:
    def near(order: int, t: mpf) -> mpf:
        z = 12.5 * (t + 1)
        x = mp.sqrt(z)
        return mp.besselj(order, x) / x**order / (z - zero_of(order) ** 2)

    def far(order: int, t: mpf, part: int) -> mpf:
        """P and Q of Hankel's expansion, by both Bessel functions."""
        x = 5 / mp.sqrt(t)
        swing = mp.sqrt(mp.pi * x / 2)
        phase = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x) * swing, mp.bessely(order, x) * swing
        if part == 0:
            return j * mp.cos(phase) + y * mp.sin(phase)
        return (y * mp.cos(phase) - j * mp.sin(phase)) * x

    def at(function: Real, *given: int) -> Real:
        return lambda t: function(given[0], t, *given[1:])

    made = []
    for order in (0, 1):
        over = " / x" if order else ""
        made.append(
            Fit(
                f"j{order}_near",
                f"j{order}(x){over} = (x^2 - z^2) P(x^2 / 12.5 - 1), z its first zero",
                at(near, order),
                lambda t, n=order: 1 / near(n, t),  # type: ignore[misc]
                (-1 + mpf(2) ** -30, mpf(1)),
                {"double": 13},
            )
        )
        for part, name in enumerate("pq"):
            made.append(
                Fit(
                    f"j{order}_{name}",
                    f"{name.upper()} of Hankel's expansion{' times x' * part} is P(25 / x^2)",
                    at(far, order, part),
                    lambda t: mpf(1),
                    (mpf("0.0005"), mpf(1)),
                    {"double": 18 + part},
                )
            )
    return made


def gamma_fits() -> list[Fit]:
    return [
        Fit(
            "log1p_rest",
            "t - log(1 + t) = t^2 (1/2 + t P(t))",
            lambda t: ((t - mp.log1p(t)) / t**2 - mpf(1) / 2) / t if t else -mpf(1) / 3,
            lambda t: t,
            (-mpf("0.31"), mpf("0.31")),
            {"double": 19},
        )
    ]


def temme_rows() -> list[list[mpf]]:
    """The power series of c_k(eta), DLMF 8.12.10, for k below TEMME_ORDERS."""
    size = TEMME_POWERS + 2 * TEMME_ORDERS + 4
    # mu(eta) = eta + eta^2 / 3 + ...: by Newton's method on mu - log(1 + mu) = eta^2 / 2.
    mu = [mpf(0), mpf(1)]
    for n in range(2, size):  # (1 + mu) eta = mu mu'
        known = sum(mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n))
        mu.append((mu[n - 1] - known) / (n + 1))
    inverse = [mpf(1)]  # of mu / eta
    for n in range(1, size - 1):
        inverse.append(-sum(mu[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    stirling = [mpf(1)]  # Gamma*(z) = sum g_k z^-k, by its logarithm's series
    bernoulli = [mpf(0)] * (2 * TEMME_ORDERS + 2)
    for k in range(1, TEMME_ORDERS + 1):
        bernoulli[2 * k - 1] = mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    for n in range(1, TEMME_ORDERS + 1):
        stirling.append(sum(k * bernoulli[k] * stirling[n - k] for k in range(1, n + 1)) / n)
    row = inverse[1:]  # c_0 = 1 / mu - 1 / eta
    rows = [row]
    for k in range(1, TEMME_ORDERS):
        sign = (-1) ** k * stirling[k]
        # The terms in 1 / eta cancel.
        row = [
            (n + 2) * row[n + 2] + sign * inverse[n + 1]
            for n in range(min(len(row) - 2, len(inverse) - 1))
        ]
        rows.append(row)
    return [row[:TEMME_POWERS] for row in rows]


def emit_temme() -> list[str]:
    entries = []
    for k, row in enumerate(temme_rows()):
        items = [literal("double", round_to("double", x)) for x in row]
        about = ["c_k(eta) of DLMF 8.12.10, in powers of eta, for k = 0, 1, ..."] if k == 0 else []
        entries.append(emit_entry(f"temme_{k}", about, items))
    return entries


def emit_zeros() -> list[str]:
    numbers = [(f"J{order}_ZERO", f"the first zero of j{order}", order) for order in (0, 1)]
    return [emit_shared(name, text, split("double", zero_of(n), [53])) for name, text, n in numbers]


def main(arguments: list[str]) -> int:
    words = [a for a in arguments if not a.startswith("--")]
    fits = inverse_error_fits() + modified_bessel_fits() + bessel_fits() + gamma_fits()
    chosen = [f for f in fits if not words or any(word in f.name for word in words)]
    pieces = [emit(f, t, n) for f in chosen for t, n in f.degrees.items()]
    pieces += [] if words else [*emit_temme(), *emit_zeros()]
    return report({FORMULAS / "special_coefficients.yaml": pieces}, "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
