"""What a declaration need not say, because it follows from the rest of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorlike.opdecl import DeclarationError, load_builtin, load_text
from tensorlike.opdecl.compiler.lower import batch_rule
from tensorlike.opdecl.compiler.model import (
    HANDWRITTEN,
    NONE,
    DefinedOp,
    NativeOp,
    OpEntry,
    ReductionEntry,
)
from tensorlike.opdecl.compiler.read_op import snake_case
from tensorlike.opdecl.compiler.registry import Declarations

ROOM = Path(__file__).parents[2] / "opdecl"

NATIVE = """
- op: TwoWords
  args: ["x: floating-point"]
  doc: A native op.
"""
REDUCTION = """
- reduction: folded
  args: ["x: real floating-point"]
  {part}
  doc: A reduction.
"""


def extended(text: str) -> Declarations:
    return load_text(text, "test.yaml", base=load_builtin())


def op(text: str, name: str) -> OpEntry:
    entry = extended(text).by_name[name]
    assert isinstance(entry, OpEntry)
    return entry


def test_a_native_op_has_everything_by_its_own_name() -> None:
    entry = op(NATIVE, "TwoWords")
    assert isinstance(entry, NativeOp)
    assert (entry.kernel, entry.infer, entry.function) == ("two_words",) * 3
    assert batch_rule(entry) == "each"
    assert entry.grad is not None
    assert entry.grad.kind == HANDWRITTEN


def test_what_a_native_op_says_goes_before() -> None:
    said = "  kernel: {cpu: a}\n  infer: b\n  batch: aligned\n  grad: none\n  function: c\n"
    entry = op(NATIVE + said, "TwoWords")
    assert (entry.kernel, entry.infer, entry.function, entry.batch) == ("a", "b", "c", "aligned")
    assert entry.grad is not None
    assert entry.grad.kind == NONE


@pytest.mark.parametrize("key", ["result: int64", "args: ['x: integer']"])
def test_what_has_no_gradient_has_none_by_hand(key: str) -> None:
    text = NATIVE.replace('args: ["x: floating-point"]', key)
    if not key.startswith("args"):
        text += "  args: ['x: numeric']\n"
    assert op(text, "TwoWords").grad is None


def test_a_body_needs_no_kernel() -> None:
    text = NATIVE + "  define: x * x\n"
    entry = op(text, "TwoWords")
    assert isinstance(entry, DefinedOp)
    assert (entry.kernel, entry.infer, entry.batch, entry.grad) == ("", "", "", None)
    with_kernel = op(text + "  kernel: [cpu]\n", "TwoWords")
    assert (with_kernel.kernel, with_kernel.infer) == ("two_words", "two_words")


LIKE = (
    NATIVE + "  attrs: {axis: {type: int, default: 3, doc: an axis.}, k: {type: int, default: 1}}\n"
)


@pytest.mark.parametrize(
    ("attrs", "names", "defaults"),
    [
        ("{like: TwoWords}", "axis k", [3, 1]),
        ("{depth: int, like: TwoWords}", "depth axis k", [None, 3, 1]),
        ("{like: Softmax}", "axis", [-1]),
        ("{like: TwoWords, axis: {type: int, default: 0}}", "axis k", [0, 1]),
    ],
)
def test_an_op_has_the_attributes_of_another(
    attrs: str, names: str, defaults: list[int | None]
) -> None:
    text = f'{LIKE}\n- op: Other\n  args: ["x: numeric"]\n  attrs: {attrs}\n  doc: Another.\n'
    found = op(text, "Other").own_attrs
    assert [attr.name for attr in found] == names.split()
    assert [attr.default for attr in found] == defaults


def test_an_attribute_may_be_called_like() -> None:
    (attr,) = op(NATIVE + "  attrs: {like: int}\n", "TwoWords").own_attrs
    assert (attr.name, attr.type) == ("like", "int")


def test_a_call_is_shown_as_its_op_is() -> None:
    text = LIKE + "  example: {x: [1.0], axis: 0, k: 2}\n  calls: {third: {fixed: {axis: 2}}}\n"
    assert dict(extended(text).functions["third"].example) == {"x": [1.0], "k": 2}


COMBINED = {
    "a + b": "0",
    "b + a": "0",
    "a * b": "1",
    "maximum(a, b)": "lowest",
    "minimum(a, b)": "highest",
}


def reduction(part: str) -> ReductionEntry:
    entry = extended(REDUCTION.format(part=part)).by_name["folded"]
    assert isinstance(entry, ReductionEntry)
    return entry


@pytest.mark.parametrize(("combine", "init"), COMBINED.items())
def test_a_reduction_starts_with_what_combining_leaves_alone(combine: str, init: str) -> None:
    entry = reduction(f"combine: {combine}\n  grad: none")
    assert entry.init == init
    assert entry.has_identity == (init in ("0", "1"))


def test_a_reduction_is_a_sum_if_nothing_else_is_said() -> None:
    said, unsaid = reduction("map: x\n  combine: a + b\n  init: 0"), reduction("method: false")
    assert parts(said) == parts(unsaid)
    assert reduction("native: true\n  grad: none").combine is None


def parts(entry: ReductionEntry) -> list[object]:
    formulas = (entry.map, entry.combine, entry.finish)
    return [formula and formula.results for formula in formulas] + [entry.init]


WRONG = {
    NATIVE + "  attrs: {like: No}\n": "attrs: like: no op 'No' is declared before this one",
    LIKE + "\n- op: Other\n  attrs: {like: TwoWord}\n  doc: Another.\n": (
        "no op 'TwoWord' is declared before this one; did you mean 'TwoWords'?"
    ),
    NATIVE + "  kernel: [cpus]\n": "kernel: cpu is expected; got 'cpus'",
    NATIVE + "  kernel: [[cpu]]\n": "kernel: cpu is expected; got ''",
    NATIVE + "  kernel: cpu\n": "kernel: [cpu], or {cpu: name}, is expected",
    REDUCTION.format(part="combine: hypot(a, b)"): "the key 'init' is missing",
    REDUCTION.format(part="combine: a + a"): "the key 'init' is missing",
    REDUCTION.format(part="native: true\n  init: 0"): "a native reduction has no 'init'",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_does_not_follow_is_refused(text: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        extended(text)
    assert message in str(caught.value)


def test_no_declaration_repeats_the_name_of_its_op() -> None:
    for entry in load_builtin().entries:
        lines = (ROOM / f"{entry.stem}.yaml").read_text().splitlines()[entry.place.line :]
        own = snake_case(entry.name)
        needless = {f"  infer: {own}", f"  kernel: {{cpu: {own}}}", f"  function: {own}"}
        end = next((i for i, line in enumerate(lines) if line.startswith("- ")), len(lines))
        assert needless.isdisjoint(lines[:end]), entry.place
