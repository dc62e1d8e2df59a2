"""One-hot rows times a table: the rows of the table, where that is the same number for number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

ROWS, WIDTH = 7, 5
TABLE = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)
TABLE[3] = -0.0


def model(
    kind: Any, table: Any = TABLE, numbers: Any = None, *, is_turned: bool = False, to: int = 1
) -> Any:
    """Indices (2, 3, 1) against numbers, as reals, times a table."""
    numbers = np.arange(ROWS) if numbers is None else numbers
    both = ["numbers", "x"] if is_turned else ["x", "numbers"]
    nodes = [
        helper.make_node("Equal", both, ["is_own"]),
        helper.make_node("Cast", ["is_own"], ["ones"], to=to),
        helper.make_node("MatMul", ["ones", "table"], ["y"]),
    ]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    constants = [
        numpy_helper.from_array(np.asarray(numbers, kind), "numbers"),
        numpy_helper.from_array(table, "table"),
    ]
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info("x", element, ["n", 3, None])],
        [helper.make_tensor_value_info("y", to, None)],
        constants,
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def ops_of(loaded: Any) -> set[str]:
    """Those of the programs that have run."""
    programs = [one.program for one in (*loaded._usual.values(), *loaded._sized.values())]
    assert programs
    return {type(step.op).__name__ for program in programs for step in program.applied()}


def product(x: Any, numbers: Any, table: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (x == numbers).astype(table.dtype) @ table


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_rows_are_picked_and_other_indices_give_zeros(kind: Any, is_turned: bool) -> None:
    loaded = tl.export.onnx.load(model(kind, is_turned=is_turned))
    rng = np.random.default_rng(1)
    least = 0 if kind is np.uint8 else -3
    for n in (2, 5, 0):
        x = rng.integers(least, ROWS + 3, (n, 3, 1)).astype(kind)
        found, wanted = np.asarray(loaded(x)), product(x, np.arange(ROWS), TABLE)
        np.testing.assert_array_equal(found, wanted)
        assert not np.signbit(found[found == 0]).any()
    assert "MatMul" not in ops_of(loaded)


@pytest.mark.parametrize("case", ["infinite", "nan", "other numbers", "more columns", "doubles"])
def test_what_is_no_lookup_stays_a_product(case: str) -> None:
    table, numbers, x = TABLE.copy(), np.arange(ROWS), np.array([[[1], [4], [9]]])
    if case == "infinite":
        table[2, 1] = np.inf
    elif case == "nan":
        table[0, 0] = np.nan
    elif case == "other numbers":
        numbers = np.array([0, 1, 2, 2, 4, 5, 6])
    elif case == "more columns":
        x = np.broadcast_to(x, (1, 3, ROWS)).copy()
    elif case == "doubles":
        table = table.astype(np.float64)
    to = TensorProto.DOUBLE if case == "doubles" else TensorProto.FLOAT
    loaded = tl.export.onnx.load(model(np.int64, table, numbers, to=to))
    found = np.asarray(loaded(x))
    np.testing.assert_allclose(found, product(x, numbers, table), rtol=1e-6)
    assert "MatMul" in ops_of(loaded)
