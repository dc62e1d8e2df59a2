"""Every gradient that is declared or derived, held against central differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from support.declarations import UNKNOWN_SLOPES

from tensorlike.opdecl import load_builtin, load_text
from tensorlike.opdecl.compiler.derivative import Differentiator
from tensorlike.opdecl.compiler.errors import Place
from tensorlike.opdecl.compiler.expression import Call, Expr, Name, Num, rebuild
from tensorlike.opdecl.compiler.lower import Lowering
from tensorlike.opdecl.compiler.model import (
    Arg,
    Category,
    Entry,
    Formula,
    OpEntry,
    Output,
    ReductionEntry,
    ScalarEntry,
    is_differentiable,
    rule_names,
)
from tensorlike.opdecl.compiler.printing import to_infix
from tensorlike.opdecl.compiler.reductions import derived_rule
from tensorlike.opdecl.compiler.simplify import simplify
from tensorlike.opdecl.oracle.reference import Reference

Array: TypeAlias = Any  # numpy.ndarray of floats
Function: TypeAlias = Callable[[Mapping[str, Array]], Array]
BUILTIN = load_builtin()
REFERENCE = Reference(BUILTIN)
DIFFERENTIATOR = Differentiator(BUILTIN.functions)
STEP = 1e-6

SCALARS = [
    entry
    for entry in BUILTIN.entries
    if isinstance(entry, ScalarEntry) and is_differentiable(entry)
]


def points(entry: ScalarEntry, count: int = 400) -> dict[str, Array]:
    """Random arguments, from several ranges since functions have domains."""
    random = np.random.default_rng(len(entry.name))
    values: dict[str, Array] = {}
    for arg in entry.args:
        if arg.category is Category.BOOLEAN:
            values[arg.name] = random.random(count) < 0.5
        else:
            ends = ((-2.0, 2.0), (0.1, 0.9), (1.1, 3.0))
            ranges = [random.uniform(low, high, count) for low, high in ends]
            values[arg.name] = np.choose(random.integers(0, 3, count), ranges)
    return values


def difference(
    f: Callable[[Mapping[str, Array]], Array], at: Mapping[str, Array], arg: str
) -> Array:
    """The central difference of `f` by one argument; NaN where rounding would drown it."""
    up, down = dict(at), dict(at)
    up[arg], down[arg] = at[arg] + STEP, at[arg] - STEP
    high, low = f(up), f(down)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(high) < 1e5, (high - low) / (2 * STEP), np.nan)


def assert_close(got: Array, expected: Array, what: str) -> None:
    """Compares where both are finite and moderate: elsewhere differences say nothing."""
    usable = np.isfinite(expected) & (np.abs(expected) < 1e3)
    assert usable.mean() > 0.2, f"{what}: too few usable points"
    np.testing.assert_allclose(got[usable], expected[usable], rtol=2e-4, atol=2e-4, err_msg=what)


def evaluator(result: Expr) -> Function:
    def evaluate(at: Mapping[str, Array]) -> Array:
        shape = np.shape(next(iter(at.values())))
        with np.errstate(all="ignore"):
            return np.broadcast_to(REFERENCE.evaluate([result], at)[0], shape).astype(float)

    return evaluate


def results(entry: ScalarEntry) -> tuple[Expr, ...]:
    """What the outputs are: expressions, or a call of what is native."""
    if entry.outputs:
        return tuple(output.formula.results[0] for output in entry.outputs)
    return (Call(entry.function, tuple(Name(arg.name) for arg in entry.args)),)


def cotangents(entry: ScalarEntry, scale: float) -> dict[str, float]:
    """A number for each output's cotangent; the first is `scale`."""
    return {name: scale * (1 - 1.5 * i) for i, name in enumerate(rule_names(entry)[1])}


def closed_gradients(entry: ScalarEntry) -> Iterator[tuple[str, Expr]]:
    """The gradients in inputs and cotangents alone: outputs are computed from the inputs."""
    closing = dict(zip(rule_names(entry)[0], results(entry), strict=True))
    for arg, gradient in DIFFERENTIATOR.gradients(entry).items():
        (closed,) = rebuild([gradient], closing, simplify)
        yield arg, closed


@pytest.mark.parametrize("entry", SCALARS, ids=lambda entry: entry.name)
def test_gradient_of_scalar(entry: ScalarEntry) -> None:
    if entry.result == "complex":
        pytest.skip("differences are those of real numbers here")
    at = points(entry)
    flows = cotangents(entry, 1.5)
    gradients = dict(closed_gradients(entry))
    for arg in entry.args:
        if arg.category.is_differentiable and (entry.name, arg.name) not in UNKNOWN_SLOPES:
            gradient = gradients.get(arg.name, Num(0))
            got = evaluator(gradient)({**at, **{k: np.full(400, v) for k, v in flows.items()}})
            slopes = [difference(evaluator(result), at, arg.name) for result in results(entry)]
            expected = sum(v * slope for v, slope in zip(flows.values(), slopes, strict=True))
            assert_close(got, expected, f"{entry.name} by {arg.name}: {to_infix(gradient)}")


@pytest.mark.parametrize("entry", SCALARS, ids=lambda entry: entry.name)
def test_second_order_gradient_of_scalar(entry: ScalarEntry) -> None:
    flows = {name: np.full(400, value) for name, value in cotangents(entry, 0.75).items()}
    at = {**points(entry), **flows}
    place = Place("test", 1)
    floating = Category.REAL_FLOATING
    for first, gradient in closed_gradients(entry):
        if (entry.name, first) in UNKNOWN_SLOPES:
            continue
        args = (*entry.args, *(Arg(name, floating) for name in flows))
        pseudo = ScalarEntry(
            name="pseudo",
            place=place,
            args=args,
            doc="",
            outputs=(Output("out", Formula("", place, (gradient,))),),
        )
        # Its own cotangent may be called `dy` too, so the result may have that factor twice.
        (output,), _ = rule_names(pseudo)
        values = {"dy": np.full(400, 0.75), **at, output: evaluator(gradient)(at)}
        wanted = [
            arg.name
            for arg in args
            if arg.category.is_differentiable and (entry.name, arg.name) not in UNKNOWN_SLOPES
        ]
        second = DIFFERENTIATOR.differentiate(pseudo, wanted)
        for name, expression in second.items():
            closed = rebuild([expression], {}, simplify)[0]
            got = evaluator(closed)(values) / 0.75
            expected = difference(evaluator(gradient), at, name)
            assert_close(got, expected, f"{entry.name} by {first}, {name}: {to_infix(closed)}")


def numeric_gradient(f: Callable[[Array], Array], x: Array, dy: Array) -> Array:
    """The cotangent of x by central differences, one element at a time."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = STEP
        gradient[index] = np.sum(dy * (f(x + step) - f(x - step))) / (2 * STEP)
    return gradient


def rule_of(entry: Entry, arg: str) -> tuple[Expr, ...]:
    if entry.grad is None and isinstance(entry, ReductionEntry):
        derived = derived_rule(entry, Differentiator(BUILTIN.functions))
        assert derived is not None
        return (derived,)
    assert entry.grad is not None
    rule = dict(entry.grad.rules)[arg]
    assert rule is not None
    return rule.results


REDUCTIONS = [
    entry
    for entry in BUILTIN.entries
    if isinstance(entry, ReductionEntry) and is_differentiable(entry)
]
INPUTS = {
    "plain": np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]]),
    "one zero": np.array([[0.0, -1.5, 2.0], [3.0, 0.25, -0.75]]),
    "two zeros": np.array([[0.0, 0.0, 2.0], [3.0, 0.0, -0.75]]),
}


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("entry", REDUCTIONS, ids=lambda entry: entry.name)
def test_gradient_of_reduction(entry: ReductionEntry, axis: int | tuple[int, ...] | None) -> None:
    for name, x in INPUTS.items():
        if name != "plain" and entry.name not in ("prod", "sum", "mean", "sumsq"):
            continue  # not differentiable at ties and at zero
        y = REFERENCE.call(entry.name, x, axis=axis, keepdims=True)
        dy = np.random.default_rng(3).normal(size=y.shape)
        at = {"x": x, "y": y, "dy": dy}
        attrs = {"axis": axis, "keepdims": False}
        got = REFERENCE.evaluate(rule_of(entry, "x"), at, attrs)[0]
        expected = numeric_gradient(
            lambda x: REFERENCE.call(entry.name, x, axis=axis, keepdims=True), x, dy
        )
        message = f"{entry.name} of {name}"
        np.testing.assert_allclose(
            np.broadcast_to(got, x.shape), expected, rtol=1e-6, atol=1e-7, err_msg=message
        )


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_share_the_gradient(name: str) -> None:
    x = np.array([2.0, 2.0, 2.0, 2.0])
    at = {"x": x, "y": np.array([2.0]), "dy": np.array([1.0])}
    got = REFERENCE.evaluate(rule_of(BUILTIN.functions[name], "x"), at, {"axis": None})[0]
    np.testing.assert_array_equal(got, [0.25] * 4)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradient_of_row_op(name: str) -> None:
    entry = BUILTIN.functions[name]
    for axis in (0, 1, -1):
        x = INPUTS["plain"]
        y = REFERENCE.call(name, x, axis=axis)
        dy = np.random.default_rng(4).normal(size=x.shape)
        at = {"x": x, "y": y, "dy": dy}
        got = REFERENCE.evaluate(rule_of(entry, "x"), at, {"axis": axis})[0]
        call = partial(REFERENCE.call, name, axis=axis)
        expected = numeric_gradient(call, x, dy)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


def test_gradient_of_cross_entropy() -> None:
    entry = BUILTIN.functions["cross_entropy_mean"]
    assert isinstance(entry, OpEntry)
    x, labels, dy = INPUTS["plain"], np.array([2, 0]), np.array(1.5)
    at = {"logits": x, "labels": labels, "dy": dy, "y": np.array(0.0)}
    got = REFERENCE.evaluate(rule_of(entry, "logits"), at, {"ignore_index": -100})[0]
    expected = numeric_gradient(lambda x: REFERENCE.call("cross_entropy_mean", x, labels), x, dy)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


def gradient_text(expression: str, args: str = "x", grad: str = "") -> dict[str, str]:
    arg_list = ", ".join(f'"{arg}: real floating-point"' for arg in args.split())
    text = f"- scalar: f\n  args: [{arg_list}]\n  expr: {expression}\n{grad}  doc: A test.\n"
    entry = load_text(text, base=BUILTIN).functions["f"]
    assert isinstance(entry, ScalarEntry)
    gradients = Differentiator(BUILTIN.functions).gradients(entry)
    return {arg: to_infix(gradient) for arg, gradient in gradients.items()}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x", "dy"),
        ("2 * x + 1", "2 * dy"),
        ("x * x", "2 * (dy * x)"),
        ("x ** 2", "2 * (dy * x)"),
        ("x ** 3", "3 * (dy * square(x))"),
        ("exp(2 * x)", "2 * (dy * y)"),
        ("-exp(-x)", "dy * exp(-x)"),
        ("x / 3", "dy / 3"),
    ],
)
def test_derivatives_are_simplified(expression: str, expected: str) -> None:
    assert gradient_text(expression) == {"x": expected}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sqrt(x)", "0.5 * dy / y"),
        ("where(x > 0, sqrt(x), x)", "where(x > 0, 0.5 * dy / sqrt(x), dy)"),
        ("3 * sqrt(x) / 2", "0.75 * dy / sqrt(x)"),
    ],
)
def test_a_singular_derivative_is_guarded_once(expression: str, expected: str) -> None:
    guarded = f"where((dy == 0) & isnan({expected}), 0, {expected})"
    assert gradient_text(expression) == {"x": guarded}


@pytest.mark.parametrize(
    ("expression", "cotangent", "flow"),
    [
        ("z * sqrt(x)", "dy * z", "0.5 * (dy * z) / sqrt(x)"),
        ("sqrt(log(x))", "0.5 * dy / y", "0.5 * dy / y / x"),
    ],
)
def test_an_inner_guard_stays_where_its_cotangent_may_be_zero_by_itself(
    expression: str, cotangent: str, flow: str
) -> None:
    inner = f"where(({cotangent} == 0) & isnan({flow}), 0, {flow})"
    wanted = f"where((dy == 0) & isnan({inner}), 0, {inner})"
    assert gradient_text(expression, "x z")["x"] == wanted


def test_the_branch_not_chosen_gives_no_gradient() -> None:
    text = '- scalar: f\n  args: ["x: real floating-point"]\n'
    text += "  expr: where(x > 0, sqrt(x), x)\n  doc: A test.\n"
    declarations = load_text(text, base=BUILTIN)
    entry = declarations.functions["f"]
    assert isinstance(entry, ScalarEntry)
    gradient = Differentiator(declarations.functions).gradients(entry)["x"]
    at = {"x": np.array([0.0]), "y": np.array([0.0]), "dy": np.array([1.0])}
    with np.errstate(all="ignore"):
        assert Reference(declarations).evaluate([gradient], at)[0] == 1.0


def test_zero_derivatives_are_absent() -> None:
    assert gradient_text("floor(x)") == {}
    assert gradient_text("x * sign(z)", "x z") == {"x": "dy * sign(z)"}
    assert gradient_text("x + z", "x z", "  grad: {z: none}\n") == {"x": "dy"}


def test_a_declared_rule_wins_and_the_rest_is_derived() -> None:
    grad = "  grad: {x: dy * 7}\n"
    assert gradient_text("x * z", "x z", grad) == {"x": "7 * dy", "z": "dy * x"}


def test_gradients_of_functions_that_are_none_have_no_grads() -> None:
    assert gradient_text("exp(x)", "x", "  grad: none\n") == {}


def test_fused_gradients_read_only_what_they_need() -> None:
    lowering = Lowering(DIFFERENTIATOR, Differentiator(BUILTIN.functions, is_complex=True))
    sigmoid = BUILTIN.functions["sigmoid"]
    assert isinstance(sigmoid, ScalarEntry)
    (fused,) = lowering.derived_scalars(sigmoid)
    assert fused.name == "sigmoid_dx"
    assert [arg.name for arg in fused.args] == ["y", "dy"]
    log = BUILTIN.functions["log"]
    assert isinstance(log, ScalarEntry)
    assert [fused.name for fused in lowering.derived_scalars(log)] == ["log_dx", "log_dx_complex"]
    add = BUILTIN.functions["add"]
    assert isinstance(add, ScalarEntry)
    assert lowering.derived_scalars(add) == []
