"""The Remez exchange algorithm: the polynomial nearest to a function, for coefficients.py.

Each `Fit` states a target function g(t), an interval, a weight and, for each type, a degree. The
algorithm finds the polynomial P with the smallest maximum of |weight * (P - g)|; the weight is
chosen so that this number is the *relative* error which P causes in the final result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf  # type: ignore[import-untyped]

mp.dps = 60
Real = Callable[[mpf], mpf]
GRID_POINTS_PER_COEFFICIENT = 24


@dataclass(frozen=True, slots=True)
class Fit:
    """One polynomial P(t) ~ g(t) on an interval; `degrees` maps a C++ type to a degree."""

    name: str
    formula: str
    g: Real
    weight: Real
    interval: tuple[mpf, mpf]
    degrees: dict[str, int]


def solve_reference(points: list[mpf], g: list[mpf], w: list[mpf], degree: int) -> list[mpf]:
    """Coefficients of the polynomial whose weighted error alternates +E, -E, ... on the points."""
    size = degree + 2
    matrix, right = mp.matrix(size, size), mp.matrix(size, 1)
    for i in range(size):
        power = mpf(1)
        for j in range(degree + 1):
            matrix[i, j] = power
            power *= points[i]
        matrix[i, degree + 1] = (-1) ** i / w[i]
        right[i] = g[i]
    solution = mp.lu_solve(matrix, right)
    return [solution[j] for j in range(degree + 1)]


def horner(coefficients: list[mpf], t: mpf) -> mpf:
    result = mpf(0)
    for c in reversed(coefficients):
        result = result * t + c
    return result


def alternating_extrema(errors: list[mpf], count: int) -> list[int]:
    """Indices of `count` consecutive extrema of alternating sign, the largest ones."""
    extrema: list[int] = []
    for i, error in enumerate(errors):
        if extrema and (errors[extrema[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[extrema[-1]]):
                extrema[-1] = i
        else:
            extrema.append(i)
    while len(extrema) > count:
        extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
    return extrema


def remez(fit: Fit, degree: int) -> tuple[list[mpf], list[mpf], list[mpf], list[mpf]]:
    """The minimax coefficients, and the grid (t, g, weight) they were found on."""
    size = GRID_POINTS_PER_COEFFICIENT * (degree + 2)
    low, high = fit.interval
    middle, half = (low + high) / 2, (high - low) / 2
    t = [middle - half * mp.cos(mp.pi * i / size) for i in range(size + 1)]
    # Targets have a removable singularity at 0, where the weight vanishes anyway.
    t = [x if abs(x) > mpf(10) ** -9 else mpf(10) ** -9 for x in t]
    g, w = [fit.g(x) for x in t], [fit.weight(x) for x in t]
    step = size / (degree + 2)
    chosen = [round((i + 0.5) * step) for i in range(degree + 2)]
    for _ in range(40):
        c = solve_reference(
            [t[i] for i in chosen], [g[i] for i in chosen], [w[i] for i in chosen], degree
        )
        errors = [(horner(c, x) - gx) * wx for x, gx, wx in zip(t, g, w, strict=True)]
        found = alternating_extrema(errors, degree + 2)
        if len(found) < degree + 2:
            raise RuntimeError(f"{fit.name}: the error of degree {degree} does not alternate")
        levels = [abs(errors[i]) for i in found]
        if found == chosen or max(levels) < mpf("1.001") * min(levels):
            break
        chosen = found
    return c, t, g, w


def round_to(c_type: str, x: mpf) -> mpf:
    """x rounded to the nearest value of the C++ type."""
    bits = 24 if c_type == "float" else 53
    if x == 0:
        return x
    exponent = mp.floor(mp.log(abs(x), 2))
    unit = mpf(2) ** (exponent - bits + 1)
    return mp.nint(x / unit) * unit


def split(c_type: str, x: mpf, bits: list[int]) -> list[mpf]:
    """x as a sum of parts: the first ones have the given numbers of bits, the last is full."""
    parts = []
    for count in bits:
        unit = mpf(2) ** (mp.floor(mp.log(abs(x), 2)) - count + 1)
        parts.append(mp.floor(x / unit) * unit if x > 0 else mp.ceil(x / unit) * unit)
        x -= parts[-1]
    return [*parts, round_to(c_type, x)]
