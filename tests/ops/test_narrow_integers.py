"""Integers of one and two bytes have loops of their own: these give, for every pair of numbers,
what wide ones give wrapped around, and conversions what NumPy's give."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.declarations import SCALARS, accepts, function_of, name_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import ScalarEntry

NARROW = ["int8", "uint8", "int16", "uint16", "uint32"]
WHOLE = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
BINARY = [
    entry
    for entry in SCALARS
    if len(entry.args) == 2 and all(accepts(arg.category, "int8") for arg in entry.args)
]


def every(dtype: str) -> np.ndarray:
    """All numbers of one byte; of wider ones those around zero, powers of two and the ends."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        return np.arange(info.min, info.max + 1).astype(dtype)
    near = [2**k + d for k in range(info.bits) for d in (-1, 0, 1)]
    signed = {s * n for n in (*near, info.max) for s in (-1, 1)} | {0}
    return np.array(sorted(n for n in signed if info.min <= n <= info.max), dtype)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("entry", BINARY, ids=name_of)
def test_every_pair_gives_what_wide_integers_give_wrapped(entry: ScalarEntry, dtype: str) -> None:
    xs = every(dtype)
    ys = xs if entry.name != "pow" else xs[(xs >= 0) & (xs < 70)]
    x, y = (np.ascontiguousarray(z.reshape(-1)) for z in np.meshgrid(xs, ys))
    function = function_of(entry)
    narrow = function(tl.tensor(x), tl.tensor(y))
    wide = function(tl.tensor(x.astype(np.int64)), tl.tensor(y.astype(np.int64)))
    expected = wide if narrow.dtype == wide.dtype else wide.astype(narrow.dtype)
    np.testing.assert_array_equal(np.asarray(narrow), np.asarray(expected))


@pytest.mark.parametrize(("source", "goal"), list(itertools.product(WHOLE, WHOLE)))
def test_integers_convert_as_those_of_numpy(source: str, goal: str) -> None:
    x = np.array([False, True]) if source == "bool" else every(source)
    for begin in range(3):
        part = x[begin:]
        np.testing.assert_array_equal(np.asarray(tl.tensor(part).astype(goal)), part.astype(goal))


@pytest.mark.parametrize(("source", "goal"), list(itertools.product(WHOLE, FLOATS)))
def test_integers_become_the_floats_that_numpy_makes_of_them(source: str, goal: str) -> None:
    x = np.array([False, True]) if source == "bool" else every(source)
    np.testing.assert_array_equal(np.asarray(tl.tensor(x).astype(goal)), x.astype(goal))


@pytest.mark.parametrize("goal", ["bool", *WHOLE])
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_floats_become_the_integers_of_wide_ones_wrapped(source: str, goal: str) -> None:
    rng = np.random.default_rng(5)
    special = [0.0, -0.0, 1.5, -2.5, 127.9, 255.9, -128.9, 65535.5, 1e9, -1e9, 3e38, np.nan]
    x = np.concatenate([rng.normal(size=300) * 300, special, [np.inf, -np.inf]])
    given = tl.tensor(x.astype(np.float32)).astype(source)
    wide = given.astype("float64")
    narrow = goal in ("int8", "uint8", "int16", "uint16")
    through = "int32" if narrow else "int64" if goal == "uint32" else goal
    expected = np.asarray(wide.astype(through).astype(goal))
    np.testing.assert_array_equal(np.asarray(given.astype(goal)), expected)
    np.testing.assert_array_equal(np.asarray(given[::-3].astype(goal)), expected[::-3])


@pytest.mark.parametrize("goal", ["float16", "bfloat16"])
@pytest.mark.parametrize("source", ["bool", "int8", "uint8", "int16", "uint16"])
def test_narrow_integers_become_halves_rounded_once(source: str, goal: str) -> None:
    x = (
        np.array([False, True])
        if source == "bool"
        else np.arange(np.iinfo(source).min, np.iinfo(source).max + 1).astype(source)
    )
    found = tl.tensor(x).astype(goal).astype("float64")
    expected = tl.tensor(x.astype(np.float64)).astype(goal).astype("float64")
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
