"""first_divergence: the first op where two meanings part, and a program that shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models import Model, models

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.testing import Divergence, Reference, first_divergence

X = np.array([1e4, 1e4 + 1])


def variance(x: Any) -> Any:
    """That loses digits where it subtracts."""
    return tl.mean(x * x) - tl.mean(x) ** 2


def found_in(function: Any, *args: Any, **how: Any) -> Divergence:
    found = first_divergence(function, *args, **how)
    assert found is not None
    return found


def line_of(function: Any, offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def training_step(model: Model) -> Any:
    def step(x: Any) -> None:
        F.cross_entropy(model.network(x), model.classes).backward()

    return step


def test_float32_parts_from_float64_where_digits_cancel() -> None:
    found = found_in(variance, X, a="float64", b=tl.float32)
    assert str(found.op) == "Elemwise(mode='subtract')"
    assert found.line == line_of(variance, 2)
    assert (found.a, found.b) == (0.25, 0.0)
    assert found.error == 1.0
    assert found.ulps > 1e6
    assert [x.dtype.name for x in found.inputs] == ["float64", "float64"]


def test_a_report_names_op_line_elements_error_and_inputs() -> None:
    text = str(found_in(variance, X, a="float64", b="float32"))
    assert "Elemwise(mode='subtract') at " in text
    assert "(float64 and float32)" in text
    assert "output 0: 0.25 and 0.0" in text
    assert "ulp" in text
    assert "input 1: float64() from 1.0001e+08 to 1.0001e+08" in text


def test_a_program_of_its_own_shows_the_divergence(tmp_path: Path) -> None:
    path = tmp_path / "repro.py"
    found_in(variance, X, a="float64", b="float32").repro(path)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "output 0: 0.25 and 0.0" in done.stdout


@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize(
    ("a", "b"), [("float64", "float32"), ("sync", "lazy"), (None, "async"), (None, "float64")]
)
def test_training_steps_of_all_models_agree(name: str, a: Any, b: Any) -> None:
    model = models()[name]
    assert first_divergence(training_step(model), model.inputs, a=a, b=b) is None


class Distorting(tl.Carrier):
    """A tensor-like whose products are wrong."""


@tl.apply.register
def apply_distorting(op: tl.ops.MatMul, *xs: Distorting) -> Any:
    return [Distorting(tl.Tensor(y.value) * 1.01) for y in tl.apply.super(op, *xs)]


def test_a_tensor_like_that_is_wrong_in_the_backward_pass_is_found_there() -> None:
    model = models()["mlp"]  # whose forward pass has no MatMul: Linear is one op
    found = found_in(training_step(model), model.inputs, b=Distorting)
    assert str(found.op) == "MatMul()"
    assert found.line == line_of(training_step, 2)
    assert found.own_error == pytest.approx(0.01, rel=1e-3)
    assert found.position > 3


def distorted(op: Any, *xs: Any) -> Any:
    """A reference that knows one op, and that wrongly."""
    return np.exp(xs[0]) + (xs[0] > 3) if getattr(op, "mode", "") == "exp" else NotImplemented


def test_a_reference_in_numpy_is_a_meaning() -> None:
    found = found_in(lambda x: tl.sum(tl.exp(x * 2)), np.arange(4.0), b=Reference(distorted))
    assert str(found.op) == "Elemwise(mode='exp')"
    assert found.index == (2,)
    assert found.b - found.a == pytest.approx(1.0)


def test_integers_must_be_equal_and_shapes_too() -> None:
    def off_by_one(op: Any, *xs: Any) -> Any:
        return xs[0].argmax() - 1

    found = found_in(tl.argmax, np.array([1.0, 3.0, 2.0]), b=Reference(off_by_one))
    assert (found.a, found.b) == (1, 0)

    def flat(op: Any, *xs: Any) -> Any:
        return xs[0].ravel()

    found = found_in(tl.exp, np.ones((2, 2)), b=Reference(flat))
    assert (found.a, found.b) == ("float64(2, 2)", "float64(4,)")


def test_an_op_that_raises_on_one_side_is_a_divergence() -> None:
    def failing(op: Any, *xs: Any) -> Any:
        raise ZeroDivisionError("no")

    found = found_in(tl.exp, np.ones(2), b=Reference(failing))
    assert found.b == "raises ZeroDivisionError: no"


def test_nan_on_one_side_only_is_a_divergence() -> None:
    found = found_in(tl.log, np.array([1.0, -1.0]), b=Reference(lambda op, x: np.zeros(2)))
    assert np.isnan(found.a)
    assert first_divergence(tl.log, np.array([-1.0]), a="float64", b="float32") is None


def test_an_exception_of_the_function_comes_out_where_all_before_it_agrees() -> None:
    def failing(x: Any) -> Any:
        tl.exp(x)
        raise KeyError("the user's own")

    with pytest.raises(KeyError):
        first_divergence(failing, np.ones(2), a="float64", b="float32")


def test_a_meaning_that_cannot_be_imported_makes_no_program(tmp_path: Path) -> None:
    found = found_in(tl.exp, np.ones(2), b=Reference(lambda op, x: x))
    with pytest.raises(ValueError, match="repro: a meaning must be something that a program"):
        found.repro(tmp_path / "repro.py")


def test_gradients_that_a_function_computes_are_compared_too() -> None:
    def slope(x: Any) -> Any:
        return tl.grad(lambda y: tl.sum(tl.sin(y)))(x)

    def wrong_slope(op: Any, *xs: Any) -> Any:
        is_slope = getattr(op, "mode", "") == "sin_dx"
        return np.cos(xs[0]) + 1 if is_slope else NotImplemented

    found = found_in(slope, np.ones(2), b=Reference(wrong_slope))
    assert str(found.op) == "Elemwise(mode='sin_dx')"


def test_rtol_allows_for_more() -> None:
    assert first_divergence(variance, X, a="float64", b="float32", rtol=2.0) is None
