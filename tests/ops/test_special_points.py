"""Gradients of scalar functions where formulas break: at infinity, at joints, at the extremes.

The slopes to compare with come from values alone, which other tests hold against the oracle.
"""

from __future__ import annotations

import math
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.declarations import SCALARS, accepts, function_of, name_of

import tensorlike as tl
from tensorlike.opdecl.compiler.expression import Num, topological
from tensorlike.opdecl.compiler.model import Entry, ScalarEntry, is_differentiable

# sinc(inf) is NaN as NumPy's, frac(inf) as PyTorch's; the slope of tetragamma, four times that of
# lgamma, ends at 1e12.
IS_BOUNDED = frozenset(["frac", "sinc", "tetragamma"])
# Their slopes are differences of nearly equal values where these are large, as PyTorch's are.
CANCELLING = frozenset(["i0e", "i1e"])
# Functions of one number; the others have defaults.
UNARY = [
    entry
    for entry in SCALARS
    if entry.output_count == 1
    and entry.result == "same"
    and is_differentiable(entry)
    and entry.name not in IS_BOUNDED
    and all(accepts(arg.category, "float64") for arg in entry.args)
    and all(arg.default is not None for arg in entry.args[1:])
]
STEPS = 1e-6  # to the points beside a joint


def _value(entry: Entry, x: float) -> float:
    return float(function_of(entry)(tl.tensor(x, dtype="float64")))


def _slope(entry: Entry, x: float, dtype: str = "float64") -> float:
    call = function_of(entry)
    return float(tl.grad(lambda value: call(value))(tl.tensor(x, dtype=dtype)))


def _settled_slope(entry: Entry, sign: float) -> float | None:
    """The slope towards an infinity, where secants agree on one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = [sign * 10.0**k for k in (5, 6, 7, 8)]
        values = [_value(entry, x) for x in points]
        along = zip(pairwise(points), pairwise(values), strict=True)
        slopes = [(b[1] - b[0]) / (a[1] - a[0]) for a, b in along]
    if not all(map(math.isfinite, slopes)):
        return None
    last = round(slopes[-1], 6)
    is_settled = all(abs(slope - last) < 1e-4 for slope in slopes)
    is_line = last in (0.0, 1.0) or abs(values[-1] - last * points[-1]) < 1.0
    return last if is_settled and is_line else None


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("entry", UNARY, ids=name_of)
def test_a_slope_that_settles_is_the_gradient_at_infinity(entry: ScalarEntry, sign: float) -> None:
    settled = _settled_slope(entry, sign)
    if settled is None or math.isnan(_value(entry, sign * math.inf)):
        pytest.skip("no limit")
    for dtype in ("float64", "float32", "float16"):
        assert _slope(entry, sign * math.inf, dtype) == pytest.approx(settled, abs=1e-3), dtype


@pytest.mark.parametrize("entry", UNARY, ids=name_of)
def test_values_go_on_to_infinity(entry: ScalarEntry) -> None:
    """What is the same at 1e8 and beyond is that at infinity, not NaN."""
    for sign in (1.0, -1.0):
        near = [_value(entry, sign * x) for x in (1e8, 1e100, 1e300)]
        if near[0] == near[1] == near[2] and math.isfinite(near[0]):
            assert _value(entry, sign * math.inf) == near[0]


def _joints(entry: ScalarEntry) -> list[float]:
    """Where a formula may change: at its numbers, at the defaults, and of either sign."""
    roots = [output.formula.results[0] for output in entry.outputs]
    numbers = [node.value for node in topological(roots) if isinstance(node, Num)]
    numbers += [arg.default for arg in entry.args[1:] if arg.default is not None]
    found = {0.0, 1.0, 0.5, 3.0}
    for number in numbers:
        if isinstance(number, (int, float)) and math.isfinite(number) and abs(number) < 100:
            found |= {float(number), -float(number)}
    return sorted(found | {-x for x in found})


@pytest.mark.parametrize("entry", UNARY, ids=name_of)
def test_the_gradient_at_a_joint_is_that_of_one_side(entry: ScalarEntry) -> None:
    for x in _joints(entry):
        here = _value(entry, x)
        sides = [(_value(entry, x + s * STEPS) - here) / (s * STEPS) for s in (1, -1)]
        if not all(math.isfinite(side) and abs(side) < 1e4 for side in (here, *sides)):
            continue
        if entry.name in ("sign", "round", "floor", "ceil", "trunc"):
            continue
        slope = _slope(entry, x)
        between = min(sides) - 1e-3 <= slope <= max(sides) + 1e-3
        is_side = any(slope == pytest.approx(side, abs=1e-3, rel=1e-3) for side in sides)
        is_middle = entry.name in ("abs", "hardshrink", "i0e") or _is_jump(entry, x)
        assert is_side or (is_middle and between), (x, slope, sides)


def _is_jump(entry: ScalarEntry, x: float) -> bool:
    """Whether the value itself jumps there, so that one of the secants means nothing."""
    return abs(_value(entry, x + STEPS) - _value(entry, x - STEPS)) > 1e-2


def _extremes(dtype: str) -> list[float]:
    info = np.finfo(dtype)
    edges = [float(info.max), float(info.tiny), float(info.smallest_subnormal), 1e-3, 1e3]
    edges += [float(info.max) ** 0.5, float(info.max) ** 0.75, float(info.tiny) ** 0.5]
    return [sign * edge for edge in edges for sign in (1.0, -1.0)]


@pytest.mark.parametrize("entry", UNARY, ids=name_of)
def test_gradients_at_extremes_are_those_of_a_wider_dtype(entry: ScalarEntry) -> None:
    """No step of a rule overflows or vanishes where the slope itself does not."""
    info = np.finfo(np.float32)
    for x in _extremes("float32"):
        if entry.name in CANCELLING and abs(x) > 1:
            continue
        point = float(np.float32(x))
        want, got = _slope(entry, point), _slope(entry, point, "float32")
        if math.isnan(want):
            continue
        if abs(want) >= float(info.max):
            assert abs(got) >= 1e38 or math.isnan(got), (x, got, want)
        else:
            assert got == pytest.approx(want, rel=1e-3, abs=float(info.tiny)), x


def test_the_test_sees_all_functions_of_one_number() -> None:
    names: Any = {entry.name for entry in UNARY}
    assert {"celu", "silu", "gelu", "mish", "selu", "elu", "relu", "exp", "asin"} <= names
