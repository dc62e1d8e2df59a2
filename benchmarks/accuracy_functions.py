"""The functions that accuracy.py measures, exactly: by mpmath, and where mpmath would not end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf  # type: ignore[import-untyped]

Exact = Callable[..., Any]  # the value; None where there is no finite one
FAR = 20_000  # beyond it exp has long overflowed or vanished


@dataclass(frozen=True, slots=True)
class Function:
    """`exact` is called on the arguments for which `domain` holds."""

    name: str
    exact: Exact
    arguments: int = 1
    domain: Callable[..., Any] | None = None
    at_least: float = 0.0  # errors of smaller results are counted in ulp of this


def real(f: Exact) -> Exact:
    """f where it is real and finite."""

    def exact(*x: Any) -> Any:
        if not all(mp.isfinite(value) for value in x):
            return None
        try:
            value = f(*x)
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        return value.real if isinstance(value, mp.mpc) and value.imag == 0 else value

    def only_real(*x: Any) -> Any:
        value = exact(*x)
        return None if isinstance(value, mp.mpc) else value

    return only_real


def bounded(f: Exact) -> Exact:
    """f of an argument that is brought within FAR first."""
    return lambda x: f(max(min(x, mpf(FAR)), mpf(-FAR)))


def power(x: Any, y: Any) -> Any:
    if x == 0 or abs(y * mp.log(abs(x), 2)) > FAR or (x < 0 and y != mp.floor(y)):
        return None
    size = mp.exp(y * mp.log(abs(x)))
    return -size if x < 0 and y % 2 == 1 else size


def lgamma(x: Any) -> Any:
    return mp.re(mp.loggamma(x))


def trigamma(x: Any) -> Any:
    if x > 0:
        return mp.psi(1, x)
    return (mp.pi / mp.sinpi(x)) ** 2 - mp.psi(1, 1 - x)


def tetragamma(x: Any) -> Any:
    if x > 0:
        return mp.psi(2, x)
    return mp.psi(2, 1 - x) - 2 * mp.pi**3 * mp.cospi(x) / mp.sinpi(x) ** 3


def digamma(x: Any) -> Any:
    return mp.digamma(x) if x > 0 else mp.digamma(1 - x) - mp.pi * mp.cospi(x) / mp.sinpi(x)


def is_positive(x: Any) -> Any:
    return x > 0


def is_negative(x: Any) -> Any:
    return (x < 0) & (x > -(2.0**40))


def _functions() -> dict[str, Function]:
    one: dict[str, Exact] = {
        "exp": bounded(mp.exp),
        "exp2": bounded(lambda x: mpf(2) ** x),
        "expm1": bounded(mp.expm1),
        "sinh": bounded(mp.sinh),
        "cosh": bounded(mp.cosh),
        "tanh": bounded(mp.tanh),
        "erf": bounded(mp.erf),
        "erfc": lambda x: mp.erfc(max(x, mpf(-FAR))) if x < 300 else None,
        "log": mp.log,
        "log1p": mp.log1p,
        "log2": lambda x: mp.log(x, 2),
        "log10": mp.log10,
        "sin": mp.sin,
        "cos": mp.cos,
        "tan": mp.tan,
        "asin": mp.asin,
        "acos": mp.acos,
        "atan": mp.atan,
        "asinh": mp.asinh,
        "acosh": mp.acosh,
        "atanh": mp.atanh,
        "sqrt": mp.sqrt,
        "rsqrt": lambda x: 1 / mp.sqrt(x),
        "lgamma": lgamma,
        "digamma": digamma,
        "trigamma": trigamma,
        "tetragamma": tetragamma,
        "sinc": lambda x: mp.sinpi(x) / (mp.pi * x),
        "logit": lambda x: mp.log(x) - mp.log1p(-x),
        "sigmoid": bounded(lambda x: 1 / (1 + mp.exp(-x))),
        "softplus": lambda x: x if x > 200 else mp.log1p(mp.exp(max(x, mpf(-FAR)))),
    }
    two = {"pow": power, "atan2": mp.atan2, "hypot": lambda x, y: mp.sqrt(x * x + y * y)}
    sides = {"x > 0": is_positive, "x < 0": is_negative}
    table: dict[str, Function] = {}
    for name, exact in one.items():
        if name in ("lgamma", "digamma", "trigamma", "tetragamma"):
            for side, domain in sides.items():
                table[f"{name}, {side}"] = Function(
                    name, real(exact), 1, domain, float(side == "x < 0")
                )
        else:
            table[name] = Function(name, real(exact))
    return table | {name: Function(name, real(exact), 2) for name, exact in two.items()}


# By what the page calls them.
FUNCTIONS: Mapping[str, Function] = _functions()
