"""The matrix of ops without holes, and opcheck, which finds rules that are wrong on purpose."""

from __future__ import annotations

import numpy as np
import pytest
from support.declarations import DECLARED

import tensorlike as tl
from tensorlike.testing.coverage import DEPENDS, LOOP

F = tl.functional


def test_the_matrix_has_no_hole() -> None:
    table = tl.coverage(list(DECLARED.functions))
    assert [(row.call, row.holes) for row in table.holes] == []


def test_no_op_goes_through_examples_one_by_one() -> None:
    rows = tl.coverage(list(DECLARED.functions)).rows
    assert [row.call for row in rows if row.vmap == LOOP] == []
    # The shape of these depends on the elements, so that they cannot be batched at all.
    assert sorted(row.call for row in rows if row.vmap == DEPENDS) == [
        "argwhere", "masked_select", "unique_elements", "unique_values",
    ]  # fmt: skip


def test_a_table_is_printed() -> None:
    text = repr(tl.coverage(["exp", "argmax"]))
    assert text.splitlines()[0].split() == [
        "call", "op", "dtypes", "inference", "vjp", "jvp", "vmap", "second_order",
    ]  # fmt: skip
    assert text.endswith("2 calls, 0 with holes")
    declared = tl.declare(
        "- scalar: half_of\n  args: [x: floating-point]\n  expr: x / 2\n  doc: Half.\n"
    )
    assert tl.coverage(["half_of"]).holes == ()
    assert tl.opcheck(declared.half_of, 3.0).is_right


X = np.array([0.4, -0.9, 1.3])
M = np.array([[2.0, 0.3], [0.1, 1.5]])
RIGHT = {
    "softmax": (F.softmax, (X,), {"axis": 0}),
    "matmul": (F.matmul, (M, M), {}),
    "max": (F.max, (X,), {}),
    "gather": (F.gather, (X, np.array([2, 0, 0])), {"axes": (0,)}),
    "concat": (F.concat, (X, X), {}),
    "conv1d": (F.conv1d, (X.reshape(1, 1, 3), X[:2].reshape(1, 1, 2)), {}),
    "solve": (tl.linalg.solve, (M, X[:2]), {}),
    "eigh": (tl.ops.Eigh(), (M + M.T,), {}),
    "complex exp": (F.exp, (X + 0.5j,), {}),
    "fourier": (F.fourier_transform, (X + 0j,), {"axes": (0,)}),
    "where": (F.where, (X > 0, X, X), {}),
    "argsort": (F.argsort, (X,), {}),
    "masked_select": (F.masked_select, (X, X > 0), {}),
    "dropout": (F.dropout, (X,), {"seed": 3}),
    "layer_norm": (F.layer_norm, (X, 2.0, X), {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_are_found_right(name: str) -> None:
    function, args, attrs = RIGHT[name]
    report = tl.opcheck(function, *args, **attrs)
    assert report.is_right, report


PLANTED = {
    "gradient off by a factor": (
        "define: sin(x) * y\n  grad: {x: 2 * dy * cos(x) * y, y: dy * sin(x)}",
        {"gradient", "tangent", "second order"},
    ),
    "gradient of the wrong argument": (
        "define: sin(x) * y\n  grad: {x: dy * sin(x), y: dy * cos(x) * y}",
        {"gradient", "tangent", "second order"},
    ),
    "gradient that is right at zero only": (
        "define: exp(x) * y\n  grad: {x: dy * y, y: dy * exp(x)}",
        {"gradient", "tangent", "second order"},
    ),
    "linear though it is not": (
        "define: x * x * y\n  grad: {x: 2 * dy * x * y, y: dy * x * x}\n  linear: [x, y]",
        {"tangent", "transposition"},
    ),
    "linear together though only each is": (
        "define: x * y\n  grad: {x: dy * y, y: dy * x}\n  linear: [[x, y]]",
        {"tangent", "transposition"},
    ),
    "batched as if examples did not matter": (
        "define: (x - mean(x)) * y\n  batch: each",
        {"batching"},
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_wrong_rules_are_found(name: str) -> None:
    rules, wanted = PLANTED[name]
    class_name = "Planted" + "".join(word.capitalize() for word in name.split())
    made = tl.declare(
        f"- op: {class_name}\n"
        '  args: ["x: real floating-point", "y: real floating-point"]\n'
        f"  {rules}\n  function: {class_name.lower()}\n  doc: Wrong on purpose.\n"
    )
    report = tl.opcheck(made[class_name.lower()], X, X[::-1].copy())
    assert {finding.check for finding in report.failures} == wanted, report
    assert "WRONG" in repr(report)


def test_a_wrong_derivative_of_a_scalar_function_is_found() -> None:
    made = tl.declare(
        "- scalar: planted_square\n  args: [x: real floating-point]\n  expr: x * x\n"
        "  grad: {x: x * dy}\n  doc: Wrong on purpose.\n"
    )
    report = tl.opcheck(made.planted_square, X)
    assert {f.check for f in report.failures} == {"gradient", "tangent", "second order"}


def test_an_op_of_pythons_is_checked_too() -> None:
    class Doubled(tl.ops.OpBase):
        def define(self, x):  # type: ignore[no-untyped-def]
            return x + x

        def vjp(self, inputs, outputs, cotangents):  # type: ignore[no-untyped-def]
            return (cotangents[0],)

    report = tl.opcheck(Doubled(), X)
    assert {f.check for f in report.failures} == {"gradient", "tangent"}
