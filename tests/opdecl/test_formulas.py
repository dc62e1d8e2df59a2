"""Formulas of scalar functions: their language, the core that they end in, what is printed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tensorlike.opdecl import DeclarationError, load_builtin, load_text
from tensorlike.opdecl.compiler.emit_coefficients import emit_coefficients
from tensorlike.opdecl.compiler.emit_cuda import PRIMITIVES, emit_cuda
from tensorlike.opdecl.compiler.expression import Call, Expr, Num
from tensorlike.opdecl.compiler.formula_reader import (
    FOLDER,
    MOST_NODES,
    load_formulas,
    parse_formula,
)
from tensorlike.opdecl.compiler.model import ScalarEntry
from tensorlike.opdecl.compiler.printing import to_infix
from tensorlike.opdecl.compiler.scalar_code import (
    MOST_PRIMITIVES,
    Code,
    ScalarCode,
    all_code,
    dtypes_of,
    text_for,
    without_formula,
)

DECLARED = load_builtin()
CORE = set(load_formulas().primitives)
CSRC = Path(__file__).resolve().parents[2] / "csrc" / "kernels"


def read(text: str) -> Expr:
    parsed = parse_formula(text, ["x"])
    assert not parsed.mistakes, parsed.mistakes
    (result,) = parsed.results
    return result


def mistakes(text: str) -> list[str]:
    return [mistake for _, mistake in parse_formula(text, ["x"]).mistakes]


def code_of(text: str) -> list[Code]:
    return all_code(load_text(text, "here.yaml", base=DECLARED))


def refusal(text: str) -> str:
    with pytest.raises(DeclarationError) as raised:
        code_of(text)
    return str(raised.value)


# ---- the core ----


def test_the_core_has_at_most_thirty_primitives() -> None:
    assert 0 < len(CORE) <= MOST_PRIMITIVES == 30
    natives = {e.name for e in DECLARED.entries if isinstance(e, ScalarEntry) and e.is_native}
    assert natives >= CORE


def test_every_scalar_function_ends_in_the_core_for_each_of_its_dtypes() -> None:
    """`all_code` gives what is called before what calls it, so that nothing goes in circles."""
    code = all_code(DECLARED)
    known: set[tuple[str, str]] = set()
    for function in code:
        assert known.issuperset(function.calls), function.name
        assert not function.is_primitive or (function.name in CORE and not function.steps)
        known.add((function.name, function.of))
    scalars = [entry for entry in DECLARED.entries if isinstance(entry, ScalarEntry)]
    assert known >= {(entry.name, dtype) for entry in scalars for dtype in dtypes_of(entry)}
    assert {name for name, _ in known if (name, "float64") in known} >= {"igamma_dx", "gelu_dx"}
    assert without_formula(DECLARED) == []


def test_every_helper_is_read() -> None:
    """Of coefficients some are the kernels' alone."""
    paths = [*FOLDER.glob("*.yaml"), *FOLDER.parent.glob("*.yaml")]
    lines = [line for path in paths for line in path.read_text().splitlines()]
    code = " ".join(line for line in lines if not line.lstrip().startswith("#"))
    words = Counter(re.findall(r"\w+", code))
    scalars = [entry for entry in DECLARED.entries if isinstance(entry, ScalarEntry)]
    found = {text_for(entry, dtype) for entry in scalars for dtype in dtypes_of(entry)}
    named = {text.text.partition("(")[0] for text in found if text is not None}
    helpers = load_formulas().helpers.keys() - load_formulas().coefficients.keys() - named
    assert sorted(name for name in helpers if words[name] < 2) == []


def test_every_primitive_is_spelled_in_cuda() -> None:
    text = (FOLDER / PRIMITIVES).read_text()
    assert [name for name in CORE if not re.search(rf"\b{name}[(,]", text)] == []


# ---- the language ----


def test_a_loop_is_written_out() -> None:
    looped = read("sum = x\nfor k in range(3):\n    sum = sum * x + k\nsum")
    assert looped == read("((x * x + 0) * x + 1) * x + 2")
    listed = read("sum = x\nfor c in (0.5, x, 7):\n    t = sum * c\n    sum = t - c\nsum")
    assert listed == read("((x * 0.5 - 0.5) * x - x) * 7 - 7")


def test_a_loop_may_stand_in_a_loop() -> None:
    text = "n = x\nfor i in range(2):\n    for j in range(3):\n        n = n + 1\nn"
    assert read(text) == read("x + 1 + 1 + 1 + 1 + 1 + 1")


def test_several_names_take_their_values_at_once() -> None:
    text = "a, b = x, 1\nfor k in range(2):\n    a, b = b, a\na - b"
    assert read(text) == read("x - 1")


def test_a_polynomial_is_horners_chain() -> None:
    assert to_infix(read("poly(x, 1, 2, 3)")) == "multiply_add(x, multiply_add(x, 3, 2), 1)"


def test_helpers_and_constants_are_written_out() -> None:
    high, low = parse_formula("high, low = two_product(x, PI_LO)\nhigh, low", ["x"]).results
    assert isinstance(high, Call) and high.function == "multiply"
    assert isinstance(high.args[1], Num) and high.args[1].value == 1.2246467991473532e-16
    assert low == Call("multiply_add", (*high.args, Call("negative", (high,))))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\nx", "'x' already means something here; choose a new name"),
        ("a = 1\na = 2\na", "'a' already means something here; choose a new name"),
        ("poly = 1\npoly", "'poly' already means something here; choose a new name"),
        ("a, b = x\na + b", "1 plain names are expected on the left; got (a, b)"),
        ("for k in range(1000):\n    a = k\nx", "a loop is `for k in range(n):`"),
        ("for k in x:\n    a = k\nx", "a loop is `for k in range(n):`"),
        ("for k in range(2):\n    return k\nx", "only lines `name = expression` may stand"),
        ("for x in range(2):\n    a = x\nx", "'x' already means something here"),
        ("two_product(x, x)", "two_product gives 2 values; assign them first"),
        ("two_product(x)", "two_product takes 2 arguments; got 1"),
        ("while x:\n    a = x\nx", "only lines `name = expression` may stand"),
        ("a = x\nx", "'a' is assigned but never read"),
    ],
)
def test_what_is_wrong_with_a_formula_is_told(text: str, told: str) -> None:
    assert any(told in mistake for mistake in mistakes(text)), mistakes(text)


def test_loops_cannot_make_a_formula_endless() -> None:
    inner = "a = x\n" + "".join(f"{'    ' * i}for k{i} in range(256):\n" for i in range(4))
    (told, *_) = mistakes(f"{inner}{'    ' * 4}a = a + x\na")
    assert told == f"larger than {MOST_NODES} numbers, names and calls"


# ---- entries ----

ENTRY = """
- scalar: widen
  args: ["x: {category}"]
  grad: none
  doc: A test's.
  formula: {formula}
"""


def test_a_formula_may_differ_by_dtype() -> None:
    formula = "{integer: x + 1, float64: x * 2}"
    code = {
        function.of: function
        for function in code_of(ENTRY.format(category="real numeric", formula=formula))
        if function.name == "widen"
    }
    assert set(code) == {"int32", "int64", "uint64", "float32", "float64"}
    assert code["int64"].calls == [("add", "int64")]
    assert code["float64"].calls == [("multiply", "float64")]
    assert code["float32"].calls == [("widen", "float64")]
    assert code["float32"].steps[0].dtype == "float64"
    assert code["float32"].results[0].dtype == "float32"


def test_what_has_no_formula_is_listed() -> None:
    text = ENTRY.format(category="numeric", formula="{integer: x}")
    assert without_formula(load_text(text, "here.yaml", base=DECLARED)) == ["widen"]


def test_the_printed_function_reads_as_the_formula() -> None:
    text = ENTRY.format(category="real floating-point", formula="where(x < 0, PI, x)")
    made = ScalarCode(load_text(text, "here.yaml", base=DECLARED)).code("widen", "float32")
    assert emit_cuda([made])["scalars.h"].splitlines()[7:12] == [
        "// here.yaml: widen",
        "TL_DEVICE float32 widen(float32 v0) {",
        "  const bool v1 = less(v0, As<float32>::of(0ll));",
        "  const float32 v2 = where(v1, As<float32>::of(3.141592653589793), v0);",
        "  return v2;",
    ]


def test_functions_may_call_each_other_in_a_long_chain() -> None:
    entries = ["- scalar: link0\n  args: [x: floating-point]\n  expr: x + 1\n  doc: A test's.\n"]
    entries += [
        f"- scalar: link{i}\n  args: [x: floating-point]\n  expr: link{i - 1}(x)\n"
        "  grad: none\n  doc: A test's.\n"
        for i in range(1, 1500)
    ]
    declared = load_text("".join(entries), "here.yaml", base=DECLARED)
    code = ScalarCode(declared).closure([("link1499", "float32")])
    assert [one.name for one in code] == ["add", *(f"link{i}" for i in range(1500))]


@pytest.mark.parametrize(
    ("category", "formula", "told"),
    [
        ("real numeric", "{float64: x}", "widen: has no formula for int32; write `formula:`"),
        ("integer", "x / 2", "formula: a value of float64 stands where int32 is needed"),
        ("floating-point", "atan2(x, 1)", "formula: atan2 takes real floating-point; got complex"),
        ("integer", "where(x < 0, 0.5, x)", "formula: a value of float64 stands where int32"),
        ("integer", "0.5", "formula: 0.5 stands where int32 is needed"),
        ("integer", "where(1, x, x)", "formula: where: condition must be boolean; got integer"),
        ("integer", "x + z", "here.yaml:6: widen: formula: unknown name 'z'"),
        ("integer", "x +", "here.yaml:6: widen: formula: cannot read 'x +' as an expression"),
        ("integer", "widen(x)", "formula: is defined by itself: widen -> widen"),
        ("integer", "'x, x'", "formula: 1 result is expected; got 2"),
        ("integer", "[x]", "formula: an expression is expected"),
        ("integer", "{integers: x}", "formula: 'integers' is no category or dtype; did you mean"),
        ("integer", "x\n  expr: x", "formula: `expr` says it already; leave it out"),
    ],
)
def test_what_is_wrong_with_an_entry_is_told(category: str, formula: str, told: str) -> None:
    assert told in refusal(ENTRY.format(category=category, formula=formula))


# ---- coefficients ----


def test_kernels_and_formulas_share_their_coefficients() -> None:
    formulas = load_formulas()
    text = emit_coefficients(formulas)
    assert "constexpr double kPiLo = 0x1.1a62633145c07p-53;" in text
    assert "TL_INLINE double sin_tail(double t) { return poly(t, -0x1.5555555555548p-3, " in text
    names = re.findall(r"^(?:constexpr double k|TL_INLINE double )(\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names)) == len(formulas.coefficients) > 50
    headers = " ".join(path.read_text() for path in CSRC.glob("*.h"))
    polynomials = [name for name in formulas.coefficients if not name.isupper()]
    assert [name for name in polynomials if f"{name}(" not in headers] == []
