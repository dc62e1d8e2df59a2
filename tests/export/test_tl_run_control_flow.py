"""`tl-run model.onnx` with graphs in graphs, sequences, and shapes that hang on elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models import (
    BOOL,
    INT64,
    by_onnxruntime,
    graph,
    loop_body,
    model_of,
    port,
    weight,
)
from support.saved_runs import run_model

import tensorlike as tl

X = np.array([1.5, -2.0, 3.0], np.float32)


def branches(*, same_shapes: bool) -> Any:
    """An If, whose branches give as many elements, or not."""
    then = graph("then", [helper.make_node("Add", ["x", "x"], ["t"])], [], [port("t", None)])
    op = "Neg" if same_shapes else "ReduceSum"
    other = graph("else", [helper.make_node(op, ["x"], ["e"])], [], [port("e", None)])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    return model_of([node], [port("c", [], BOOL), port("x", [3])], [port("y", None)])


@pytest.mark.parametrize("same_shapes", [True, False])
@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_is_taken_as_the_input_says(tmp_path: Path, flag: bool, same_shapes: bool) -> None:
    """Branches of other shapes are no op, so that the program is made for the flag."""
    proto = branches(same_shapes=same_shapes)
    feed = {"c": np.array(flag), "x": X}
    said, (found,) = run_model(proto, tmp_path, feed, "--print")
    np.testing.assert_array_equal(found, by_onnxruntime(proto, feed)[0])
    assert ("Cond(" in said) == same_shapes


def test_a_program_that_is_saved_for_elements_says_so(tmp_path: Path) -> None:
    saved = tmp_path / "saved.tlp"
    feed = {"c": np.array(True), "x": X}
    said, _ = run_model(branches(same_shapes=False), tmp_path, feed, "--save", str(saved))
    assert said == "saved for the elements of c, on which shapes hang\n"
    program = tl.static.load(saved)
    (y,) = tl.static.Executor().run(program, {"x": X}, list(program.results.values()))
    np.testing.assert_array_equal(y, X + X)


@pytest.mark.parametrize("count", [4, 0])
def test_loops_give_values_and_rows(tmp_path: Path, count: int) -> None:
    node = helper.make_node(
        "Loop", ["n", "", "start"], ["last", "rows"], body=loop_body(ends=False)
    )
    proto = model_of(
        [node],
        [port("n", [], INT64), port("x", [2]), port("start", [2])],
        [port("last", [2]), port("rows", [None, 2])],
    )
    feed = {"n": np.array(count), "x": X[:2], "start": X[1:]}
    said, found = run_model(proto, tmp_path, feed, "--print")
    assert "ScanLoop(" in said
    for ours, theirs in zip(found, by_onnxruntime(proto, feed), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_loop_ends_when_an_element_says_so(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["v", "v"], ["v2"]),
        helper.make_node("ReduceMax", ["v2"], ["most"], keepdims=0),
        helper.make_node("Less", ["most", "limit"], ["k2"]),
    ]
    body = graph(
        "body", nodes, [port("i", [], INT64), port("k", [], BOOL), port("v", [3])],
        [port("k2", [], BOOL), port("v2", [3])],
    )  # fmt: skip
    node = helper.make_node("Loop", ["", "go", "x"], ["y"], body=body)
    proto = model_of(
        [node], [port("go", [], BOOL), port("x", [3]), port("limit", [])], [port("y", [3])]
    )
    for flag in (True, False):
        feed = {"go": np.array(flag), "x": X, "limit": np.array(100, np.float32)}
        said, (found,) = run_model(proto, tmp_path, feed, "--print")
        np.testing.assert_array_equal(found, by_onnxruntime(proto, feed)[0])
        assert "WhileLoop(" in said


def test_a_loop_whose_values_grow_is_written_out(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Concat", ["v", "x"], ["v2"], axis=0),
        helper.make_node("Identity", ["k"], ["k2"]),
    ]
    body = graph(
        "body", nodes, [port("i", [], INT64), port("k", [], BOOL), port("v", [None])],
        [port("k2", [], BOOL), port("v2", [None])],
    )  # fmt: skip
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    proto = model_of([node], [port("n", [], INT64), port("x", [3])], [port("y", [None])])
    _, (found,) = run_model(proto, tmp_path, {"n": np.array(3), "x": X})
    np.testing.assert_array_equal(found, np.tile(X, 4))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("back", [0, 1])
def test_a_scan_goes_along_an_axis_either_way(tmp_path: Path, axis: int, back: int) -> None:
    nodes = [
        helper.make_node("Add", ["s", "r"], ["s2"]),
        helper.make_node("Mul", ["s2", "w"], ["y"]),
    ]
    body = graph("body", nodes, [port("s", [3]), port("r", [3])], [port("s2", [3]), port("y", [3])])
    node = helper.make_node(
        "Scan", ["x", "rows"], ["last", "made"], body=body, num_scan_inputs=1,
        scan_input_axes=[axis], scan_input_directions=[back], scan_output_axes=[1],
        scan_output_directions=[back],
    )  # fmt: skip
    shape = [4, 3] if axis == 0 else [3, 4]
    proto = model_of(
        [node], [port("x", [3]), port("w", [3]), port("rows", shape)],
        [port("last", [3]), port("made", [3, 4])],
    )  # fmt: skip
    rows = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    feed = {"x": X, "w": X + 1, "rows": rows}
    said, found = run_model(proto, tmp_path, feed, "--print")
    assert "ScanLoop(" in said
    for ours, theirs in zip(found, by_onnxruntime(proto, feed), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_sequences_are_made_and_taken_apart(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x", "sizes"], ["parts"], axis=0),
        helper.make_node("SequenceAt", ["parts", "one"], ["second"]),
        helper.make_node("SequenceInsert", ["parts", "second"], ["more"]),
        helper.make_node("SequenceErase", ["more", "zero"], ["fewer"]),
        helper.make_node("ConcatFromSequence", ["fewer"], ["y"], axis=0),
        helper.make_node("SequenceLength", ["fewer"], ["count"]),
    ]
    constants = [
        weight("sizes", np.array([1, 2], np.int64)),
        weight("one", np.int64(1)), weight("zero", np.int64(0)),
    ]  # fmt: skip
    proto = model_of(
        nodes, [port("x", [3])], [port("y", [None]), port("count", [], INT64)], constants
    )
    _, (y, count) = run_model(proto, tmp_path, {"x": X})
    np.testing.assert_array_equal(y, [-2.0, 3.0, -2.0, 3.0])
    assert count == 2


def test_shapes_that_hang_on_elements_are_those_of_what_is_fed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["shape", "none"], ["to"]),
        helper.make_node("Reshape", ["x", "to"], ["y"]),
    ]
    proto = model_of(
        nodes, [port("x", [6]), port("shape", [2], INT64)], [port("y", None)],
        [weight("none", np.array([0, 0], np.int64))],
    )  # fmt: skip
    x = np.arange(6, dtype=np.float32)
    for shape in ([2, 3], [-1, 2]):
        _, (found,) = run_model(proto, tmp_path, {"x": x, "shape": np.array(shape)})
        np.testing.assert_array_equal(found, x.reshape(shape))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrences_go_to_the_length_of_each_example(
    tmp_path: Path, kind: str, gates: int, direction: str
) -> None:
    random = np.random.default_rng(0)
    count, size, batch, steps = 1 + (direction == "bidirectional"), 4, 3, 5
    shapes = {"w": (count, gates * size, 2), "r": (count, gates * size, size)}
    shapes |= {"b": (count, 2 * gates * size), "h": (count, batch, size)}
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    node = helper.make_node(
        kind, ["x", "w", "r", "b", "lengths", "h"], ["y", "last"], hidden_size=size,
        direction=direction, **more,
    )  # fmt: skip
    proto = model_of(
        [node], [port("x", [steps, batch, 2]), port("lengths", [batch], TensorProto.INT32)],
        [port("y", None), port("last", None)],
        [weight(name, random.standard_normal(s).astype(np.float32)) for name, s in shapes.items()],
    )  # fmt: skip
    x = random.standard_normal((steps, batch, 2)).astype(np.float32)
    model = tl.export.onnx.load(proto)
    for lengths in ([5, 2, 3], [5, 5, 5], [1, 0, 2]):
        feed = {"x": x, "lengths": np.array(lengths, np.int32)}
        _, found = run_model(proto, tmp_path, feed)
        in_python = model.named(feed)
        for ours, name, theirs in zip(found, in_python, by_onnxruntime(proto, feed), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(in_python[name], theirs, rtol=1e-5, atol=1e-6)
