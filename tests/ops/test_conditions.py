"""Conditions that declarations put on numbers (`requires`), wherever the numbers come from."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.opdecl import DeclarationError, load_builtin
from tensorlike.opdecl.compiler.model import ScalarEntry
from tensorlike.opdecl.compiler.printing import to_infix

X = [1.0, -2.0, 3.0]
WRONG: dict[str, tuple[Any, str]] = {
    "hardtanh": (
        lambda x: F.hardtanh(x, 2.0, -2.0),
        "hardtanh: min_val <= max_val must hold; got min_val=2.0, max_val=-2.0.",
    ),
    "hardtanh by a default": (
        lambda x: F.hardtanh(x, min_val=3),
        "hardtanh: min_val <= max_val must hold; got min_val=3, max_val=1.",
    ),
    "softshrink": (
        lambda x: F.softshrink(x, -0.5),
        "softshrink: lambd >= 0 must hold; got lambd=-0.5.",
    ),
    "softshrink of NaN": (
        lambda x: F.softshrink(x, float("nan")),
        "softshrink: lambd >= 0 must hold; got lambd=nan.",
    ),
    "celu": (lambda x: F.celu(x, alpha=0), "celu: alpha != 0 must hold; got alpha=0."),
    "celu of a boolean": (
        lambda x: F.celu(x, False),
        "celu: alpha != 0 must hold; got alpha=False.",
    ),
    "huber_error": (
        lambda x: F.huber_error(x, 0.0, 0.0),
        "huber_error: delta > 0 must hold; got delta=0.0.",
    ),
    "smooth_l1_error": (
        lambda x: F.smooth_l1_error(x, 0.0, -1e-9),
        "smooth_l1_error: beta >= 0 must hold; got beta=-1e-09.",
    ),
}
PLACES: dict[str, Any] = {
    "tensor": tl.tensor,
    "shape": lambda x: tl.ShapeTensor((3,)),
    "tracer": lambda x: tl.tensor(x, requires_grad=True),
    "carrier": lambda x: tl.Tensor(Plain(x)),
    "list": list,
}


class Plain(tl.Carrier):
    """Any value."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", WRONG)
def test_numbers_that_break_a_condition_are_refused_in_the_words_of_the_declaration(
    name: str, place: str
) -> None:
    call, text = WRONG[name]
    with pytest.raises(tl.ParameterError) as caught:
        call(PLACES[place](X))
    assert str(caught.value) == text


def test_every_declared_condition_is_tried_here() -> None:
    """The cases above are of all scalar functions that have one."""
    declared = {
        f"{entry.name}: {to_infix(formula.results[0])}"
        for entry in load_builtin().entries
        if isinstance(entry, ScalarEntry)
        for formula in entry.requires
    }
    assert declared == {text.partition(" must hold")[0] for _, text in WRONG.values()}


@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap"])
def test_conditions_hold_inside_transforms(transform: str) -> None:
    def function(x: Any) -> Any:
        return F.sum(F.softshrink(x, -0.5))

    x = tl.tensor([X, X])
    runs: dict[str, Any] = {
        "grad": lambda: tl.grad(function)(x),
        "jvp": lambda: tl.jvp(function, (x,), (x,)),
        "vmap": lambda: tl.vmap(function)(x),
    }
    with pytest.raises(tl.ParameterError, match=r"softshrink: lambd >= 0 must hold"):
        runs[transform]()


def test_layers_and_composed_losses_are_refused_too() -> None:
    with pytest.raises(tl.ParameterError, match="min_val <= max_val must hold"):
        tl.nn.Hardtanh(2.0, -2.0)(tl.tensor(X))
    with pytest.raises(tl.ParameterError, match=r"^huber_loss: "):
        F.huber_loss(tl.tensor(X), 0.0, delta=-1.0)


def test_what_holds_is_as_before_and_tensors_are_not_read() -> None:
    x = tl.tensor(X)
    assert F.hardtanh(x, 2.0, 2.0).tolist() == [2.0, 2.0, 2.0]
    assert F.softshrink(x, 0).tolist() == X
    # Elements that break it give what the formula gives: nobody waits to look at them.
    assert F.hardtanh(x, tl.tensor(2.0), tl.tensor(1.0)).tolist() == [1.0, 1.0, 1.0]


def test_conditions_compare_in_the_widest_dtype() -> None:
    """As halves, or in float32, these would be equal."""
    x = tl.tensor(X, dtype="float16")
    with pytest.raises(tl.ParameterError, match="min_val <= max_val must hold"):
        F.hardtanh(x, 1.0 + 1e-12, 1.0)
    with pytest.raises(tl.ParameterError, match="min_val <= max_val must hold"):
        F.hardtanh(tl.tensor([1]), 2**62 + 1, 2**62)


DECLARED = """
- scalar: condition_ramp
  args: ["x: real floating-point", "low: real floating-point", "high: real floating-point = 1.0"]
  requires: [low >= 0, "high - low > 0.5 * low"]
  expr: minimum(maximum(x, low), high)
  doc: A ramp.

- op: ConditionPower
  args: ["x: real floating-point"]
  attrs: {n: {type: int, default: 2}, scale: {type: scalar, default: 1}}
  requires: ["(n >= 1) & (n <= 4)", "scale != 0"]
  define: x ** n
  doc: A power.

- op: ConditionInside
  args: ["x: real floating-point"]
  attrs: {low: float, high: {type: float, default: 1.0}}
  define: condition_ramp(x, low, high)
  doc: A ramp whose ends are attributes.
"""


@pytest.fixture(scope="module")
def declared() -> Any:
    return tl.declare(DECLARED)


def test_declared_functions_have_conditions(declared: Any) -> None:
    assert declared.condition_ramp(tl.tensor(X), 0.25).tolist() == [1.0, 0.25, 1.0]
    for args, text in (
        ((-0.25,), "condition_ramp: low >= 0 must hold; got low=-0.25."),
        (
            (1.0, 1.25),
            "condition_ramp: high - low > 0.5 * low must hold; got low=1.0, high=1.25.",
        ),
    ):
        with pytest.raises(tl.ParameterError) as caught:
            declared.condition_ramp(tl.tensor(X), *args)
        assert str(caught.value) == text
    assert "ParameterError: low >= 0 does not hold." in declared.condition_ramp.__doc__


def test_a_condition_on_a_tensor_and_a_number_waits_for_nobody(declared: Any) -> None:
    y = declared.condition_ramp(tl.tensor(X), tl.tensor(2.0), 1.0)
    assert y.tolist() == [1.0, 1.0, 1.0]


def test_attributes_have_conditions(declared: Any) -> None:
    text = "ConditionPower: n >= 1 & n <= 4 must hold; got n=5."
    assert declared.condition_power(tl.tensor(X), n=3).tolist() == [1.0, -8.0, 27.0]
    made = declared.condition_power
    with pytest.raises(tl.ParameterError) as caught:
        made(tl.tensor(X), n=5)
    assert str(caught.value).replace("(", "").replace(")", "") == text
    with pytest.raises(tl.ParameterError, match="scale != 0 must hold; got scale=0"):
        made(tl.tensor(X), scale=0)
    with pytest.raises(tl.ParameterError, match="must hold; got n=0"):
        made(tl.tensor(X), n=0)


def test_numbers_that_a_body_gives_are_checked(declared: Any) -> None:
    assert declared.condition_inside(tl.tensor(X), low=0.5).tolist() == [1.0, 0.5, 1.0]
    with pytest.raises(
        tl.ParameterError, match=r"condition_inside: low >= 0 must hold; got low=-1"
    ):
        declared.condition_inside(tl.tensor(X), low=-1.0)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("requires: p", "requires: must be a condition, such as p >= 0"),
        ("requires: 1 < 2", "requires: reads no number that a call gives"),
        ("requires: q > 0", "requires: unknown name 'q'"),
        ("requires: sum(p) > 0", "requires: sum is of kind 'reduction'; only scalar"),
        ("requires: {p: 1}", "requires: an expression is expected; got a mapping"),
        ("requires: [p > 0, p >]", "requires: cannot read 'p >' as an expression"),
        ("requires: p > 0 and p < 1", "`and`/`or` (write & and |)"),
        ("requires: 0 < p < 1", "comparisons cannot be chained"),
    ],
)
def test_a_condition_that_is_none_is_refused_with_its_place(line: str, text: str) -> None:
    source = f"- op: Wrong\n  args: [x: numeric]\n  attrs: {{p: float, word: str}}\n  {line}\n"
    with pytest.raises(DeclarationError) as caught:
        tl.declare(source + "  define: x + p\n  doc: Wrong.\n")
    assert text in str(caught.value)
    assert ":4: Wrong: " in str(caught.value)
