"""Models as other exporters write them: Python's importer and `tl-run` give what ONNX Runtime
gives, or refuse what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tensorlike as tl

from ..support.onnx_models import BOOL, FLOAT, INT64, by_onnxruntime, model_of, port, weight
from ..support.saved_runs import run_model

node = helper.make_node
RNG = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return RNG.standard_normal(shape, np.float32)


def summed_loop() -> Any:
    """Rows of a sum that goes on while it is small; x and the limit are read from outside."""
    nodes = [
        node("Add", ["sum", "x"], ["next"]), node("Cast", ["i"], ["at"], to=FLOAT),
        node("Mul", ["next", "at"], ["row"]), node("ReduceSum", ["next"], ["all"], keepdims=0),
        node("Less", ["all", "limit"], ["go"]),
    ]  # fmt: skip
    inputs = [port("i", [], INT64), port("on", [], BOOL), port("sum", None)]
    outputs = [port("go", [], BOOL), port("next", None), port("row", None)]
    return helper.make_graph(nodes, "body", inputs, outputs)


def branch(nodes: list[Any]) -> Any:
    return helper.make_graph(nodes, "branch", [], [port("made", None)])


SIZES = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0)]
WEIGHTS = [weight("zero", np.int64(0)), weight("one", np.int64(1)), weight("at0", np.array([0])),
           weight("at1", np.array([1])), weight("minus", np.array([-1])),
           weight("limit", np.float32(20)), weight("two", np.float32([2]))]  # fmt: skip
MATRIX = port("x", ["n", "m"])
SHAPES = ((3, 4), (1, 2), (5, 1))
# Nodes, opset, shapes of x; all have a result y.
CASES: dict[str, tuple[list[Any], int, Any]] = {
    "a view by sizes": ([
        *SIZES, node("Unsqueeze", ["n", "at0"], ["n1"]), node("Concat", ["n1", "minus"], ["to"],
                                                              axis=0),
        node("Reshape", ["x", "to"], ["y"])], 18, SHAPES),
    "a mask of places": ([
        *SIZES, node("Range", ["zero", "n", "one"], ["r"]), node("Unsqueeze", ["r", "at1"], ["c"]),
        node("Cast", ["c"], ["f"], to=FLOAT), node("Less", ["x", "f"], ["l"]),
        node("Where", ["l", "x", "f"], ["y"])], 18, SHAPES),
    "rows of a loop": ([
        node("Mul", ["x", "limit"], ["x0"]), node("Loop", ["five", "", "x0"], ["last", "rows"],
                                                  body=summed_loop()),
        node("Add", ["last", "rows"], ["y"])], 18, SHAPES),
    "branches of other shapes": ([
        node("ReduceSum", ["x"], ["all"], keepdims=0), node("Greater", ["all", "limit"], ["big"]),
        node("If", ["big"], ["y"], then_branch=branch([node("Identity", ["x"], ["made"])]),
             else_branch=branch([node("Mul", ["x", "two"], ["twice"]),
                                 node("ReduceMax", ["twice"], ["made"], axes=[0])]))], 13, SHAPES),
    "bounds that are attributes": ([node("Clip", ["x"], ["y"], min=-0.5)], 7, SHAPES),
    "a bound that is left out": ([node("Clip", ["x", "", "limit"], ["y"])], 13, SHAPES),
    "slices that are attributes": ([
        node("Slice", ["x"], ["y"], starts=[-1], ends=[2**63 - 1], axes=[1])], 7, SHAPES),
    "softmax of all that follows": ([node("Softmax", ["x"], ["y"], axis=0)], 11, SHAPES),
    "chosen places": ([
        node("NonZero", ["x"], ["p"]), node("Transpose", ["p"], ["q"]),
        node("GatherND", ["x", "q"], ["y"])], 13, SHAPES),
    "a matrix by a vector": ([
        node("Transpose", ["x"], ["t"]), node("Squeeze", ["v0"], ["v"]),
        node("MatMul", ["x", "v"], ["u"]), node("MatMul", ["u", "x"], ["y"])], 13,
        ((3, 2), (4, 2))),
    "no axes to sum": ([
        node("ReduceSum", ["x", "none"], ["y"], noop_with_empty_axes=1)], 13, SHAPES),
    "as many as there are": ([
        *SIZES, node("Unsqueeze", ["n", "at0"], ["k"]), node("TopK", ["x", "k"], ["y", "i"], axis=0,
                                                             largest=0)], 13, SHAPES),
    "a matrix of no rows": ([node("Trilu", ["x"], ["y"], upper=0)], 18, ((0, 3), (3, 2))),
    "flat in two": ([node("Flatten", ["x"], ["y"], axis=0)], 13, SHAPES),
}  # fmt: skip
MORE = [weight("five", np.int64(5)), weight("none", np.array([], np.int64)),
        weight("v0", np.float32([[3.0, 4.0]]))]  # fmt: skip


def used(nodes: list[Any]) -> list[Any]:
    text = str(nodes)
    return [one for one in (*WEIGHTS, *MORE) if f'"{one.name}"' in text]


def same(found: Any, wanted: Any) -> None:
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)


def held(proto: Any, feed: dict[str, Any], folder: Path) -> None:
    wanted = by_onnxruntime(proto, feed)[0]
    same(np.asarray(tl.export.onnx.load(proto).named(feed)["y"]), wanted)
    same(run_model(proto, folder, feed)[1][0], wanted)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rank", ["known", "unknown"])
def test_both_readers_give_what_onnxruntime_gives(name: str, rank: str, tmp_path: Path) -> None:
    nodes, opset, shapes = CASES[name]
    given = MATRIX if rank == "known" else port("x", None)
    proto = model_of(nodes, [given], [port("y", None)], used(nodes), opset)
    for shape in shapes:
        held(proto, {"x": drawn(*shape)}, tmp_path)


def test_an_initializer_that_is_an_input_may_be_fed(tmp_path: Path) -> None:
    proto = model_of(
        [node("Mul", ["x", "w"], ["y"])], [MATRIX, port("w", [1])], [port("y", None)],
        [weight("w", np.float32([2]))],
    )  # fmt: skip
    for more in ({}, {"w": np.float32([5])}, {}):
        held(proto, {"x": drawn(2, 3), **more}, tmp_path)
    model = tl.export.onnx.load(proto)
    assert model(drawn(1, 1), w=[0.0]).tolist() == [[0.0]]


@pytest.mark.parametrize("shape", [(3,), (2, 5), (2, 3, 1), ()])
def test_what_has_another_shape_than_the_model_says_is_refused(shape: Any, tmp_path: Path) -> None:
    proto = model_of(
        [node("MatMul", ["x", "w"], ["y"])], [port("x", ["n", 3])], [port("y", None)],
        [weight("w", drawn(3, 2))],
    )  # fmt: skip
    said = r"x must have the model's shape \(n, 3\); got"
    with pytest.raises(tl.ShapeError, match=said):
        tl.export.onnx.load(proto)(np.zeros(shape, np.float32))
    with pytest.raises(AssertionError, match=said):
        run_model(proto, tmp_path, {"x": np.zeros(shape, np.float32)})
    held(proto, {"x": drawn(0, 3)}, tmp_path)
