"""An op takes the place of its body, or the body the op's, only where both have the same slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.imperative.sub_programs import Call
from tensorlike.static.compiled import CompiledProgram


def slopes_of(written: Callable[..., Any], numbers: list[float]) -> tuple[Any, Any]:
    """The gradient of what is written, and that of its program after the passes."""
    x = tl.tensor(numbers)
    listing = tl.Listing()
    y = written(listing.input("x", x.shape))
    program, (result,) = CompiledProgram(listing).optimised([y])
    compiled = Call(program, [0], [result])
    wanted, found = (
        tl.grad(lambda x, f=f: F.sum(f(x)))(x).tolist() for f in (written, lambda x: compiled(x)[0])
    )
    return wanted, found


def ops_left(written: Callable[..., Any], *shape: int) -> set[str]:
    listing = tl.Listing()
    text = CompiledProgram(listing).text(written(listing.input("x", shape)))
    return {word.split("(")[0] for word in text.split()}


@pytest.mark.parametrize(
    "written",
    [
        lambda x: F.maximum(x, 0),
        lambda x: F.minimum(F.maximum(x, 0), 6),
        lambda x: F.where(x > 0, x, F.exp(F.minimum(x, 0)) - 1),
    ],
    ids=["relu", "relu6", "elu"],
)
def test_what_has_another_slope_at_an_edge_is_left(written: Any) -> None:
    """Of two equal numbers each gets half the gradient; the op's own is 0, or 1."""
    assert not {"relu", "relu6", "elu"} & ops_left(written, 3)
    wanted, found = slopes_of(written, [0.0, 6.0, -1.0])
    assert found == wanted


@pytest.mark.parametrize("is_class", [False, True])
def test_an_op_with_a_gradient_of_its_own_does_not_stand_for_its_body(is_class: bool) -> None:
    name, kind = ("OwnSlope", "op") if is_class else ("own_slope_here", "scalar")
    body = "define" if is_class else "expr"
    ops = tl.declare(
        f"""
- {kind}: {name}
  args: [x: real floating-point]
  {body}: tanh(x) * x + {0.375 if is_class else 0.625}
  grad: {{x: 5 * dy}}
  doc: Of a test.
"""
    )
    own = ops["own_slope" if is_class else name]

    def written(x: Any) -> Any:
        return F.tanh(x) * x + (0.375 if is_class else 0.625)

    def negated_twice(x: Any) -> Any:
        return -own(-x)

    assert name not in ops_left(written, 3)
    for f in (written, own, negated_twice):
        wanted, found = slopes_of(f, [0.5, -1.0, 0.0])
        assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("scale", ["dy", "0"])
def test_a_straight_through_slope_is_kept(scale: str) -> None:
    """Through its body the op is its argument, or another sum."""
    ops = tl.declare(
        f"""
- scalar: passed_{scale}
  args: [x: real floating-point]
  expr: x
  grad: {{x: {scale}}}
  doc: Of a test.
"""
    )
    passed = ops[f"passed_{scale}"]

    def written(x: Any) -> Any:
        e = F.exp(passed(x))
        return e / F.sum(e) + x

    def pass_by(x: Any) -> Any:
        return x + F.square(passed(x) - x)

    for f in (written, pass_by, lambda x: passed(F.tanh(x)) * x):
        wanted, found = slopes_of(f, [0.5, -1.0, 0.0])
        assert found == pytest.approx(wanted, rel=1e-6)
