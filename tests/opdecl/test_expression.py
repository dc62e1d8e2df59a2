"""The expression language: what parses, how it prints, what it means, how it lowers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorlike.opdecl import load_builtin, load_text
from tensorlike.opdecl.compiler.cpp import attr_literal, number_literal, text_literal
from tensorlike.opdecl.compiler.expression import (
    Attr,
    Call,
    Expr,
    Name,
    Num,
    functions_called,
    names_read,
    rebuild,
    topological,
)
from tensorlike.opdecl.compiler.lower_bodies import lower_body
from tensorlike.opdecl.compiler.model import ScalarEntry
from tensorlike.opdecl.compiler.parse import parse_body, parse_expression
from tensorlike.opdecl.compiler.printing import to_infix, to_latex
from tensorlike.opdecl.compiler.simplify import simplify, simplify_forward
from tensorlike.opdecl.compiler.specs import AttrExpr, Body, Step
from tensorlike.opdecl.oracle.reference import Reference

BUILTIN = load_builtin()
X = Name("x")


def expression(text: str) -> Expr:
    parsed = parse_expression(text)
    assert parsed.mistakes == []
    return parsed.results[0]


OPERATORS = {
    "a + b": "add", "a - b": "subtract", "a * b": "multiply", "a / b": "divide",
    "a // b": "floor_divide", "a % b": "remainder", "a ** b": "pow", "a == b": "equal",
    "a != b": "not_equal", "a < b": "less", "a <= b": "less_equal", "a > b": "greater",
    "a >= b": "greater_equal", "a & b": "bitwise_and", "a | b": "bitwise_or",
    "a ^ b": "bitwise_xor", "a << b": "bitwise_left_shift", "a >> b": "bitwise_right_shift",
    "a @ b": "matmul",
}  # fmt: skip


@pytest.mark.parametrize(("text", "function"), OPERATORS.items())
def test_operators_are_calls(text: str, function: str) -> None:
    assert expression(text) == Call(function, (Name("a"), Name("b")))


def test_unary_operators_are_calls_or_numbers() -> None:
    assert expression("-x") == Call("negative", (X,))
    assert expression("~x") == Call("bitwise_invert", (X,))
    assert expression("+x") == X
    assert expression("-1") == Num(-1)
    assert to_infix(expression("-PI")) == "-PI"


def test_numbers_of_different_types_differ() -> None:
    assert len({Num(1), Num(1.0), Num(True), Num(0.0), Num(-0.0)}) == 5
    assert Num(math.nan) == Num(math.nan)
    assert Num(1) != 1


def test_attributes_of_calls() -> None:
    call = expression("f(x, axis=-1, k=True, s=(0, 2), n=None, a=axis, t='text', h=1.5)")
    assert isinstance(call, Call)
    assert dict(call.attrs) == {
        "axis": Attr("literal", -1),
        "k": Attr("literal", True),
        "s": Attr("literal", (0, 2)),
        "n": Attr("literal", None),
        "a": Attr("attr", name="axis"),
        "t": Attr("literal", "text"),
        "h": Attr("literal", 1.5),
    }
    call = expression("f(x, a=shape(x), b=shape(x)[-1], c=dtype(x))")
    assert isinstance(call, Call)
    assert [attr.kind for _, attr in call.attrs] == ["shape", "dim", "dtype"]


ROUND_TRIPS = [
    "a + b - c", "a - (b - c)", "(a + b) * c", "a / (b / c)", "a / b / c", "-a ** b",
    "(-a) ** b", "a ** -b", "(a ** b) ** c", "a ** b ** c", "(a < b) == (b < c)",
    "a & b | c ^ d", "a << b >> c", "(a | b) & c", "~a & b", "-(-a)", "-(a + b)", "a - -b",
    "f(a, b) + 1.5", "where(a > 0, -a, PI * a)", "sum(a, axis=axis, keepdims=True)",
    "reshape(a, shape=shape(b + c))", "one_hot(a, depth=shape(b)[-1])", "1e-300 * a",
    "astype(a, dtype=dtype(b))", "a @ b @ c", "a % b // c", "a * -1", "(-1) ** a", "True & a",
]  # fmt: skip


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_printed_text_parses_back(text: str) -> None:
    tree = expression(text)
    assert expression(to_infix(tree)) == tree


@pytest.mark.parametrize("entry", BUILTIN.entries, ids=lambda entry: entry.name)
def test_builtin_formulas_print_and_parse_back(entry: object) -> None:
    if isinstance(entry, ScalarEntry):
        for output in entry.outputs:
            (result,) = output.formula.results
            assert expression(to_infix(result)) == result
            assert to_latex(result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x * x", r"x \, x"),
        ("2 * 3", r"2 \cdot 3"),
        ("a1 / (b + 1)", r"\frac{a_{1}}{b + 1}"),
        ("sqrt(x) ** 2", r"\sqrt{x}^{2}"),
        ("(x + 1) ** n", r"\left(x + 1\right)^{n}"),
        ("abs(-x)", r"\left|-x\right|"),
        ("floor(x)", r"\lfloor x \rfloor"),
        ("square(x) - 1e-05", r"x^{2} - 1e-05".replace("1e-05", r"1 \cdot 10^{-5}")),
        (
            "where(x > 0, x, 0)",
            r"\begin{cases} x & \text{if } x > 0 \\ 0 & \text{else} \end{cases}",
        ),
        ("log_sigmoid(x)", r"\operatorname{log\_sigmoid}\left(x\right)"),
        ("slope * beta2", r"\mathrm{slope} \, \beta_{2}"),
        ("~a & b", r"\lnot a \land b"),
        ("-PI", r"-\pi"),
    ],
)
def test_latex(text: str, expected: str) -> None:
    assert to_latex(expression(text)) == expected


def test_a_body_shares_its_assignments() -> None:
    parsed = parse_body("e = exp(x)\ns = e + 1\ns, e / s", taken=["x"])
    assert parsed.mistakes == []
    total, ratio = parsed.results
    assert isinstance(ratio, Call)
    assert ratio.args == (Call("exp", (X,)), total)
    assert lower_body(parsed.results, ["x"]) == Body(
        inputs=1,
        constants=(1,),
        steps=(Step("exp", (0,)), Step("add", (2, 1)), Step("divide", (2, 3))),
        results=(3, 4),
    )


def test_lowering_removes_common_subexpressions_and_keeps_number_types() -> None:
    body = lower_body([expression("exp(x) * exp(x) + 1 + 1.0")], ["x"])
    assert [step.call for step in body.steps] == ["exp", "multiply", "add", "add"]
    assert [type(value) for value in body.constants] == [int, float]


def test_lowering_of_attributes() -> None:
    text = "f(y, a=axis, b=shape(x), c=shape(y)[-1], d=dtype(x), e=(1, 2))"
    body = lower_body([expression(text)], ["x", "y"])
    assert body.steps[0].args == (1,)
    assert dict(body.steps[0].attrs) == {
        "a": AttrExpr("attr", attr="axis"),
        "b": AttrExpr("shape", slot=0),
        "c": AttrExpr("dim", slot=1, dim=-1),
        "d": AttrExpr("dtype", slot=0),
        "e": AttrExpr("literal", literal=(1, 2)),
    }


def test_results_may_be_inputs_and_constants() -> None:
    assert lower_body([X, Num(2)], ["x"]) == Body(1, (2,), (), (0, 1))


def test_walks_see_each_node_once_in_order() -> None:
    tree = expression("exp(x) + sin(exp(x))")
    assert [to_infix(node) for node in topological([tree])] == [
        "x",
        "exp(x)",
        "sin(exp(x))",
        "exp(x) + sin(exp(x))",
    ]
    assert names_read([tree]) == {"x"}
    assert functions_called([tree]) == ["exp", "sin", "add"]


def test_rebuilding_replaces_names_at_once() -> None:
    (swapped,) = rebuild([expression("x - y")], {"x": Name("y"), "y": X}, Call)
    assert to_infix(swapped) == "y - x"
    (attr,) = rebuild([expression("f(x, s=shape(x))")], {"x": Name("z")}, Call)
    assert to_infix(attr) == "f(z, s=shape(z))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", "7"), ("1 / 4", "0.25"), ("1 / 0", "1 / 0"), ("x + 0", "x"),
        ("0 + x", "x"), ("x - 0", "x"), ("0 - x", "-x"), ("x + x", "2 * x"), ("x * 1", "x"),
        ("x * 0", "0"), ("0 / x", "0"), ("x / 1", "x"), ("-(-x)", "x"), ("x - (-y)", "x + y"),
        ("3 * x / 4", "0.75 * x"),
        ("x + (-y)", "x - y"), ("(-x) + y", "y - x"), ("-(x - y)", "y - x"),
        ("(-x) * y", "-(x * y)"), ("x * (-y)", "-(x * y)"), ("x / (-y)", "-(x / y)"),
        ("(-x) / y", "-(x / y)"), ("(-1) * x", "-x"), ("x * 2 * 3", "6 * x"),
        ("(2 * x) * (3 * y)", "6 * (x * y)"), ("x ** 0", "1"), ("x ** 1", "x"),
        ("x ** 2", "square(x)"), ("x ** 3", "square(x) * x"), ("x ** 4", "square(square(x))"),
        ("x ** 0.5", "sqrt(x)"), ("x ** -1", "reciprocal(x)"), ("x ** y", "x ** y"),
        ("where(x > 0, y, y)", "y"), ("where(1 < 2, x, y)", "x"), ("where(1 > 2, x, y)", "y"),
        ("where(x > 0, y, 0) * z", "where(x > 0, y * z, 0)"),
        ("where(x > 0, 0, y) / z", "where(x > 0, 0, y / z)"),
        ("-where(x > 0, y, 0)", "where(x > 0, -y, 0)"),
        ("where(x > 0, y, 0) + where(x > 0, 0, z)", "where(x > 0, y, z)"),
        ("where(x > 0, y, 0) + where(y > 0, 0, z)", "where(x > 0, y, 0) + where(y > 0, 0, z)"),
        ("9e15 * 9e15 * x", "9000000000000000.0 * 9000000000000000.0 * x"),
        ("True + 1", "True + 1"),
    ],
)  # fmt: skip
def test_simplifying(text: str, expected: str) -> None:
    (result,) = rebuild([expression(text)], {}, simplify)
    assert to_infix(result) == expected


def test_declared_expressions_are_only_simplified_where_nothing_changes() -> None:
    cases = {
        "x ** 2": "square(x)",
        "x * 1 + 0": "x * 1 + 0",
        "x / 8": "0.125 * x",
        "x / 6": "x / 6",
        "x / 2 ** 300": "x / 2 ** 300",
        "x * (2 * PI) ** 2": "x * 39.47841760435743",
        "x + 2 ** 3 - -1": "x + 8 - -1",
        "x + 2 ** -1 + (-1) ** 0.5 + 0 ** 0": "x + 2 ** -1 + (-1) ** 0.5 + 0 ** 0",
    }
    for text, expected in cases.items():
        (result,) = rebuild([expression(text)], {}, simplify_forward)
        assert to_infix(result) == expected


@pytest.mark.parametrize("seed", range(5))
def test_simplifying_keeps_values(seed: int) -> None:
    random = np.random.default_rng(seed)
    leaves: list[Expr] = [X, Name("y"), Num(0), Num(1), Num(2), Num(-1), Num(0.5)]
    functions = ["add", "subtract", "multiply", "negative", "where"]
    for _ in range(60):
        function = functions[random.integers(len(functions))]
        parts = [leaves[random.integers(len(leaves))] for _ in range(2)]
        args = {"negative": parts[:1], "where": [Call("less", (X, parts[0])), *parts]}
        leaves.append(Call(function, tuple(args.get(function, parts))))
    names = {"x": random.normal(size=8), "y": random.normal(size=8)}
    reference = Reference(BUILTIN)
    simplified = rebuild(leaves, {}, simplify)
    for before, after in zip(leaves, simplified, strict=True):
        (expected,), (got,) = (reference.evaluate([node], names) for node in (before, after))
        if np.all(np.abs(expected) < 1e12):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_literals_of_cpp() -> None:
    assert text_literal('a"b\\c\né') == r'"a\"b\\c\012\303\251"'
    assert [number_literal(value) for value in (True, 7, 2.0, 0.1, 1e300, -math.inf)] == [
        "true",
        "7",
        "2.0",
        "0.10000000000000001",
        "1.0000000000000001e+300",
        "-std::numeric_limits<double>::infinity()",
    ]
    assert number_literal(math.nan, "T") == "std::numeric_limits<T>::quiet_NaN()"
    assert [attr_literal(value) for value in (None, "x", (1, 2), 3, 0.5, False)] == [
        "Nothing{}",
        'std::string{"x"}',
        "std::vector<int64_t>{1, 2}",
        "int64_t{3}",
        "0.5",
        "false",
    ]


def test_the_reference_agrees_with_numpy() -> None:
    reference = Reference(BUILTIN)
    x = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, 4.0]])
    for name in ("sum", "prod", "max", "min", "any", "all", "count_nonzero", "mean"):
        for axis in (None, 0, 1, -1, (0, 1)):
            expected = getattr(np, name)(x, axis=axis)
            np.testing.assert_allclose(reference.call(name, x, axis=axis), expected)
    np.testing.assert_allclose(reference.call("sumsq", x, axis=0), np.sum(x * x, 0))
    np.testing.assert_array_equal(reference.call("argmax", x, axis=1), [2, 2])
    shifted = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    np.testing.assert_allclose(reference.call("softmax", x), shifted)
    one_hot = reference.call("one_hot", np.array([0, 2]), depth=3)
    np.testing.assert_array_equal(one_hot, [[True, False, False], [False, False, True]])


def test_an_expression_has_one_result() -> None:
    assert parse_expression("x, x").mistakes == [(0, "must be one expression, not a tuple")]


def test_a_native_function_without_oracle_says_so() -> None:
    text = '- scalar: mine\n  args: ["x: all"]\n  grad: none\n  doc: A test.\n'
    text += '- reduction: ours\n  args: ["x: all"]\n  native: true\n  grad: none\n  doc: A test.\n'
    reference = Reference(load_text(text, base=BUILTIN))
    for name in ("mine", "ours"):
        with pytest.raises(NotImplementedError, match="has no oracle; give it the key `numpy`"):
            reference.call(name, np.zeros(2))


def test_native_layout_ops_have_oracles() -> None:
    reference = Reference(BUILTIN)
    x = np.arange(6).reshape(2, 3)
    assert [part.shape for part in reference.call("split", x, sizes=(1, 2), axis=1)] == [
        (2, 1),
        (2, 2),
    ]
    np.testing.assert_array_equal(reference.call("concat", x, x, axis=0), np.concatenate([x, x]))
    np.testing.assert_array_equal(
        reference.call("gather", x, np.array([1, 0]), axes=(1,)), x[:, [1, 0]]
    )
    assert reference.call("astype", x, dtype=np.float32).dtype == np.float32
    assert reference.call("max", x[0].astype(np.int32), axis=None) == 2


def test_two_outputs_of_a_defined_op() -> None:
    text = '- op: Both\n  args: ["x: real floating-point"]\n  outputs: 2\n'
    text += "  define: |\n    e = exp(x)\n    e, e + 1\n  doc: A test.\n"
    declarations = load_text(text, base=BUILTIN)
    first, second = Reference(declarations).call("both", np.array([0.0]))
    assert (first, second) == (1.0, 2.0)
