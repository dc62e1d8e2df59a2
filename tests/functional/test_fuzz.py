"""Random programs against NumPy: expressions, layouts, dtypes."""

from __future__ import annotations

import warnings
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.declarations import (
    REDUCTIONS,
    SCALARS,
    Array,
    accepts,
    function_of,
    promoted,
)
from support.layouts import LAYOUTS
from support.oracle import EXACT

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Category

QUICK = settings(
    derandomize=True,
    max_examples=120,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICK, max_examples=4000)

# Continuous functions that are defined everywhere and stay of moderate size.
TAME = {
    "sin", "cos", "tanh", "atan", "asinh", "erf", "sigmoid", "softsign", "relu", "elu", "silu",
    "gelu", "abs", "negative", "square", "softplus", "hardtanh", "add", "subtract", "multiply",
    "maximum", "minimum", "hypot", "logaddexp", "multiply_add", "clip_between", "leaky_relu",
}  # fmt: skip
TAME_SCALARS = sorted((e for e in SCALARS if e.name in TAME), key=lambda e: e.name)
FOLDS = [e for e in REDUCTIONS if e.name in ("sum", "mean", "max", "min", "sumsq")]
# The name of a function, and which of the earlier values it takes.
Step = tuple[str, list[int]]
SIZES = st.sampled_from([0, 1, 2, 3, 5])
SHAPES = st.lists(SIZES, max_size=4).map(tuple)


@st.composite
def broadcastable(draw: Any, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast together."""
    whole = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 40]), max_size=3))
    shapes = []
    for _ in range(count):
        kept = whole[draw(st.integers(0, len(whole))) :]
        shapes.append(tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in kept))
    return shapes


@st.composite
def arrays(draw: Any, shape: tuple[int, ...], dtype: str, salt: int = 0) -> Array:
    """Values of moderate size in any layout; no two salts give equal ones, which make kinks."""
    rng = np.random.default_rng([salt, draw(st.integers(0, 2**32 - 1))])
    values = np.asarray(rng.normal(size=shape) * 2, dtype=dtype)
    layout = draw(st.sampled_from([None, *LAYOUTS]))
    return LAYOUTS[layout](values) if layout and values.ndim else values


@st.composite
def leaves(draw: Any) -> list[Array]:
    shapes = draw(broadcastable(3))
    return [draw(arrays(shape, "float64", i)) for i, shape in enumerate(shapes)]


@st.composite
def programs(draw: Any) -> tuple[list[Array], list[Step]]:
    """Inputs, and steps: a function and the earlier values that it takes."""
    inputs = draw(leaves())
    steps = []
    for length in range(len(inputs), len(inputs) + draw(st.integers(1, 6))):
        entry = draw(st.sampled_from(TAME_SCALARS))
        steps.append((entry.name, [draw(st.integers(0, length - 1)) for _ in entry.args]))
    return inputs, steps


def run_tensors(inputs: list[Any], steps: list[Step]) -> list[Any]:
    values = list(inputs)
    for name, places in steps:
        values.append(getattr(tl.functional, name)(*(values[i] for i in places)))
    return values


def run_arrays(inputs: list[Array], steps: list[Step]) -> list[Array]:
    values = list(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, places in steps:
            values.append(np.asarray(EXACT.call(name, *(values[i] for i in places))))
    return values


def assert_programs_agree(program: tuple[list[Array], list[Step]]) -> None:
    inputs, steps = program
    found = run_tensors([tl.RawTensor(x) for x in inputs], steps)
    wanted = run_arrays(inputs, steps)
    for y, want in zip(found, wanted, strict=True):
        if np.isfinite(want).all() and (np.abs(want) < 1e6).all():
            np.testing.assert_allclose(np.asarray(y), want, rtol=1e-6, atol=1e-8)
        assert np.asarray(y).shape == want.shape
    wrapped = run_tensors([tl.tensor(x) for x in inputs], steps)
    for y, want in zip(wrapped, found, strict=True):
        np.testing.assert_array_equal(np.asarray(y), np.asarray(want), strict=True)


def assert_gradient_is_the_slope(program: tuple[list[Array], list[Step]], seed: int) -> None:
    """Along a random direction, where the program is smooth on both sides of the point."""
    inputs, steps = program
    rng = np.random.default_rng(seed)
    along = [rng.normal(size=x.shape) for x in inputs]

    def loss(*xs: Any) -> Any:
        return tl.functional.sum(run_tensors(list(xs), steps)[-1])

    def at(shift: float) -> float:
        return loss(*(tl.tensor(x + shift * d) for x, d in zip(inputs, along, strict=True))).item()

    step = 1e-6
    left, middle, right = at(-step), at(0.0), at(step)
    slopes = ((middle - left) / step, (right - middle) / step)
    scale = 1 + max(abs(middle), *map(abs, slopes))
    if not np.isfinite(scale) or scale > 1e5 or abs(slopes[0] - slopes[1]) > 1e-3 * scale:
        return
    leaves = [tl.tensor(x, requires_grad=True) for x in inputs]
    total = loss(*leaves)
    if not total.requires_grad:
        return
    total.backward()
    gradients = [np.zeros(x.shape) if x.grad is None else np.asarray(x.grad) for x in leaves]
    found = sum(np.sum(g * d) for g, d in zip(gradients, along, strict=True))
    assert abs(found - (right - left) / (2 * step)) <= 2e-3 * scale


@QUICK
@given(programs())
def test_random_expressions_give_what_numpy_gives(program: Any) -> None:
    assert_programs_agree(program)


@QUICK
@given(programs(), st.integers(0, 1000))
def test_random_expressions_have_the_slope_of_differences(program: Any, seed: int) -> None:
    assert_gradient_is_the_slope(program, seed)


@pytest.mark.slow
@LONG
@given(programs(), st.integers(0, 1000))
def test_many_random_expressions(program: Any, seed: int) -> None:
    assert_programs_agree(program)
    assert_gradient_is_the_slope(program, seed)


@st.composite
def mixed_calls(draw: Any) -> tuple[Any, list[Array]]:
    """A function and arrays of any dtypes that it takes."""
    entry = draw(st.sampled_from([e for e in SCALARS if len(e.args) <= 3]))
    shapes = draw(broadcastable(len(entry.args)))
    inputs = []
    for arg, shape in zip(entry.args, shapes, strict=True):
        dtypes = [d for d in ("bool", "int32", "int64", "float32", "float64")
                  if accepts(arg.category, d)]  # fmt: skip
        dtype = draw(st.sampled_from(dtypes))
        inputs.append(draw(arrays(shape, dtype)))
    return entry, inputs


@QUICK
@given(mixed_calls())
def test_mixed_dtypes_are_converted_before_they_are_computed_with(call: Any) -> None:
    """f(a, b) is f of both converted to the joint dtype and stretched to the joint shape."""
    entry, inputs = call
    counted = [
        x.dtype.name
        for a, x in zip(entry.args, inputs, strict=True)
        if a.category is not Category.BOOLEAN
    ]
    joint = promoted(counted) if counted else "bool"
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    plain = [
        np.broadcast_to(x if a.category is Category.BOOLEAN else x.astype(joint), shape).copy()
        for a, x in zip(entry.args, inputs, strict=True)
    ]
    found = function_of(entry)(*(tl.RawTensor(x) for x in inputs))
    wanted = function_of(entry)(*(tl.tensor(x) for x in plain))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted), strict=True)


@st.composite
def folds(draw: Any) -> tuple[Any, Array, Any, bool]:
    entry = draw(st.sampled_from(FOLDS))
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 7, 33]), max_size=4))
    x = draw(arrays(tuple(shape), "float64"))
    axes = draw(st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True, max_size=len(shape)))
    chosen = draw(st.sampled_from([None, tuple(axes), tuple(a - len(shape) for a in axes)]))
    return entry, x, chosen, draw(st.booleans())


@QUICK
@given(folds())
def test_random_reductions_give_what_numpy_gives(fold: Any) -> None:
    entry, x, axis, keepdims = fold
    found = np.asarray(function_of(entry)(tl.RawTensor(x), axis=axis, keepdims=keepdims))
    mapped = x * x if entry.name == "sumsq" else x
    name = "sum" if entry.name == "sumsq" else entry.name
    wanted = getattr(np, name)(mapped, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11, strict=False)
    assert found.shape == np.shape(wanted)
