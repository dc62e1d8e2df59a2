"""A declared formula is differentiated as its parts are, also where a slope in it is infinite.

A product that is 0 passes nothing on to its other factor, so that an infinite slope behind that one
does not count; the fused gradient of the formula must say the same as the gradients of its calls.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

# What has an infinite slope, or none, at 0 (or at 1).
INNER = {
    "sqrt": "sqrt(x)",
    "rsqrt": "rsqrt(x)",
    "log": "log(x)",
    "log1p": "log1p(x - 1)",
    "quotient": "1 / x",
    "power": "x ** 0.5",
    "asin": "asin(1 - x)",
    "acosh": "acosh(1 + x)",
    "atanh": "atanh(1 - x)",
    "length": "hypot(x, 0 * x)",
}
OUTER = {
    "product": "a * ({})",
    "negative": "-(({}) * a)",
    "square": "a * a * ({})",
    "sine": "sin(a) * ({})",
    "half": "0.5 * (({}) * a)",
    "exponent": "exp(a * ({}))",
    "choice": "where(a > 0, {}, a)",
    "sum": "a * ({0} + a * ({0})) + x",
    "quotient": "a / ({})",
    "ratio": "({}) / a",
    "multiple": "3 * ({}) + a",
    "clipped": "maximum(a, {})",
}
A, X = (part.ravel() for part in np.meshgrid([-1.0, 0.0, 0.5], [0.0, 0.25, 1.0, 2.0]))
CASES = list(itertools.product(INNER, OUTER))
IDS = [f"{inner}_{outer}" for inner, outer in CASES]


def formula(inner: str, outer: str) -> str:
    return OUTER[outer].format(INNER[inner])


@pytest.fixture(scope="module")
def declared() -> Any:
    return tl.declare(
        "\n".join(
            f"- scalar: slope_{inner}_{outer}\n"
            "  args: [a: real floating-point, x: real floating-point]\n"
            f"  expr: {formula(inner, outer)!r}\n  doc: A formula.\n"
            for inner, outer in CASES
        )
    )


def slopes(f: Any, flow: float) -> list[Any]:
    found = tl.grad(lambda a, x: tl.functional.sum(f(a, x) * flow), argnums=(0, 1))(
        tl.tensor(A), tl.tensor(X)
    )
    return [np.asarray(slope) for slope in found]


@pytest.mark.parametrize(("inner", "outer"), CASES, ids=IDS)
def test_fused_slopes_are_those_of_the_calls(declared: Any, inner: str, outer: str) -> None:
    code = compile(formula(inner, outer), "formula", "eval")

    def composed(a: Any, x: Any) -> Any:
        return eval(code, dict(vars(tl.functional)), {"a": a, "x": x})

    fused = slopes(declared[f"slope_{inner}_{outer}"], 1.0)
    for found, wanted in zip(fused, slopes(composed, 1.0), strict=True):
        # The formula may have a number where a sum of calls is one of infinities.
        known = ~np.isnan(wanted)
        np.testing.assert_allclose(found[known], wanted[known], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("inner", "outer"), CASES, ids=IDS)
def test_fused_slopes_pass_nothing_on_of_nothing(declared: Any, inner: str, outer: str) -> None:
    for found in slopes(declared[f"slope_{inner}_{outer}"], 0.0):
        np.testing.assert_array_equal(found, 0)
