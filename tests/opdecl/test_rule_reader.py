"""The language of bodies and gradient rules of ops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorlike.opdecl import DeclarationError, load_builtin, load_text
from tensorlike.opdecl.compiler.derivative import of_real_numbers
from tensorlike.opdecl.compiler.expression import Call, Expr, Name
from tensorlike.opdecl.compiler.lower_bodies import lower_body, sharing
from tensorlike.opdecl.compiler.parse import Parsed, parse_body
from tensorlike.opdecl.compiler.printing import to_infix
from tensorlike.opdecl.compiler.rule_reader import RuleReader, load_words
from tensorlike.opdecl.compiler.specs import AttrExpr

BUILTIN = load_builtin()
X, Y = Name("x"), Name("y")


def read(text: str) -> Parsed:
    return parse_body(text, ["x", "y", "dy", "upper", "mode"], RuleReader)


def tree(text: str) -> Expr:
    parsed = read(text)
    assert parsed.mistakes == []
    (result,) = parsed.results
    return result


def test_a_call_has_as_many_slots_as_names() -> None:
    body = lower_body([tree("u, s, _ = svd(x)\nu * s + x")], ["x"])
    assert [(step.call, step.args, step.outputs) for step in body.steps] == [
        ("svd", (0,), 3),
        ("multiply", (1, 2), 1),
        ("add", (4, 0), 1),
    ]
    assert body.results == (5,)


def test_several_names_stand_for_several_values() -> None:
    assert tree("a, b = x + y, x - y\na * b") == tree("(x + y) * (x - y)")


def test_a_choice_is_a_step_with_a_condition() -> None:
    body = lower_body([tree("x if upper and ndim(x) > 1 else y")], ["x", "y"])
    (step,) = body.steps
    assert (step.call, step.args) == ("if", (0, 1))
    rank = AttrExpr("rank", slot=0)
    greater = AttrExpr("arithmetic", attr="greater", parts=(rank, AttrExpr("literal", literal=1)))
    both = AttrExpr(
        "arithmetic", attr="logical_and", parts=(AttrExpr("attr", attr="upper"), greater)
    )
    assert dict(step.attrs) == {"when": both}


def test_sizes_have_names() -> None:
    text = "m, n = shape(x)[-2], shape(x)[-1]\nk = min(m, n)\nreshape(x, shape=(k, m // n))"
    plain = "reshape(x, shape=(min(shape(x)[-2], shape(x)[-1]), shape(x)[-2] // shape(x)[-1]))"
    assert tree(text) == tree(plain)


def test_parts_are_written_as_in_python() -> None:
    none = -(2**63)
    call = tree("x[..., 1:, None, 0]")
    assert isinstance(call, Call)
    assert call.function == "subtensor"
    (_, items), *_ = call.attrs
    ellipsis, newaxis = [3, none, none, none], [2, none, none, none]
    assert items.literal == (*ellipsis, 1, 1, none, none, *newaxis, 0, 0, none, none)
    calculated = tree("x[: shape(x)[0] // 2]")
    assert isinstance(calculated, Call)
    assert [part.kind for part in calculated.attrs[0][1].parts] == [
        "literal", "literal", "arithmetic", "literal",
    ]  # fmt: skip


def test_words_are_written_out() -> None:
    assert tree("adjoint(x)") == tree("conj(transposed(x))")
    assert tree("hermitian_part(x @ y)") == tree("z = x @ y\n(z + conj(transposed(z))) * 0.5")


def test_no_function_has_the_name_of_a_word() -> None:
    assert not set(load_words()) & set(BUILTIN.functions)
    with pytest.raises(DeclarationError, match="'column' cannot be a name: it has a meaning"):
        load_text("- {scalar: column, args: ['x: numeric'], expr: x + 1, doc: D.}")


def test_the_part_of_nearly_largest_is_that_of_the_kernels() -> None:
    root = Path(__file__).parents[2]
    header = (root / "csrc/op/linear_solvers.h").read_text()
    (number,) = re.findall(r"kNearlyLargest = ([0-9.]+);", header)
    assert f"* {number}\n" in (root / "opdecl/words/matrices.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("u, s = x\nu", "several names stand for the results of a call, or for a tuple"),
        ("n = shape(x)[0]\nx * n", "'n' is a size: it may only be read by conditions"),
        ("n = shape(x)[0]\nx", "'n' is assigned but never read"),
        ("adjoint(x, y)", "adjoint takes 1 arguments; got 2"),
        ("adjoint = x\nadjoint", "'adjoint' already means something here"),
        ("x[1.5]", "the items between brackets are integers, slices, None and `...`"),
        ("refused(x)", 'refused("why") is expected'),
        ("a, x.y = svd(x)\na", "an assignment needs plain names on its left"),
    ],
)
def test_mistakes_are_told(text: str, mistake: str) -> None:
    assert any(mistake in told for _, told in read(text).mistakes)


@pytest.mark.parametrize(
    ("complex_rule", "real_rule"),
    [
        ("conj(x) * real(dy)", "x * dy"),
        ("adjoint(x) @ dy", "transposed(x) @ dy"),
        ("dy - x * ((y - conj(y)) * 0.5)", "dy"),
        ("dy + imag(x)", "dy"),
        ("dy - (x * imag(y)) @ y", "dy"),
        ("conj(x) if upper else x", "x"),
    ],
)
def test_a_rule_of_complex_numbers_has_one_of_real_numbers(
    complex_rule: str, real_rule: str
) -> None:
    assert of_real_numbers(tree(complex_rule)) == tree(real_rule)


def test_rules_that_share_a_call_are_one_body() -> None:
    rules = {0: tree("exp(x) * dy"), 1: tree("sin(y)"), 2: tree("exp(x) + y"), 3: Y}
    assert sharing(rules) == [[1], [0, 2], [3]]


def test_several_arguments_have_one_text() -> None:
    text = """
- op: Both
  args: ["a: real floating-point", "b: real floating-point"]
  define: a * exp(b)
  grad:
    a, b: |
      flow = dy * exp(b)
      flow, flow * a
  doc: D.
"""
    entry = load_text(text, base=BUILTIN).functions["both"]
    assert entry.grad is not None
    assert [(name, to_infix(rule.results[0])) for name, rule in entry.grad.rules if rule] == [
        ("a", "dy * exp(b)"),
        ("b", "dy * exp(b) * a"),
    ]


@pytest.mark.parametrize(
    ("define", "mistake"),
    [
        ("q, r, s = qr(x)\nq @ r + s", "define: qr has 2 results; got 3 names"),
        ("qr(x) + 1", "define: qr does not have exactly one output"),
        ("x if wide else -x", "define: if=wide: there is no attribute 'wide'"),
        ("x if k > 1 else refused('no')", "`refused` and `flows` are for gradient rules alone"),
    ],
)
def test_bodies_are_checked(define: str, mistake: str) -> None:
    body = "\n".join(f"    {line}" for line in define.splitlines())
    text = f"""
- op: Body
  args: ["x: real floating-point"]
  attrs: {{k: {{type: int, default: 1, doc: D.}}}}
  define: |
{body}
  doc: D.
"""
    with pytest.raises(DeclarationError, match=re.escape(mistake)):
        load_text(text, base=BUILTIN)
