"""If, Loop, Scan and sequences of ONNX: in a program where they can be, else node by node."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper
from support.onnx_models import (
    BOOL,
    FLOAT,
    INT64,
    by_onnxruntime,
    graph,
    loop_body,
    model_of,
    port,
    weight,
)

import tensorlike as tl


def test_if_reads_what_is_outside_and_is_recorded() -> None:
    then = graph("then", [helper.make_node("Add", ["x", "w"], ["t"])], [], [port("t", [3])])
    other = graph("else", [helper.make_node("Mul", ["x", "w"], ["e"])], [], [port("e", [3])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    proto = model_of(
        [node], [port("c", [], BOOL), port("x", [3])], [port("y", [3])],
        [weight("w", np.array([1, 2, 3], np.float32))],
    )  # fmt: skip
    model = tl.export.onnx.load(proto)
    assert "Cond" in str(model.program)
    x = np.array([4, 5, 6], np.float32)
    for flag in (True, False):
        feed = {"c": np.array(flag), "x": x}
        np.testing.assert_allclose(model.named(feed)["y"], by_onnxruntime(proto, feed)[0])


def test_branches_of_different_shapes_run_node_by_node() -> None:
    then = graph("then", [helper.make_node("Add", ["x", "x"], ["t"])], [], [port("t", [3])])
    other = graph("else", [helper.make_node("ReduceSum", ["x"], ["e"])], [], [port("e", [1])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    proto = model_of([node], [port("c", [], BOOL), port("x", [3])], [port("y", None)])
    model = tl.export.onnx.load(proto)
    assert "not both branches" in model.why
    x = np.array([4, 5, 6], np.float32)
    for _ in range(3):  # node by node, and then by a program for this flag
        assert model(np.array(True), x).shape == (3,)
        assert model(np.array(True), x).tolist() == [8, 10, 12]
        assert model(np.array(False), x).shape == (1,)


def test_a_loop_of_known_length_is_recorded_with_its_rows() -> None:
    node = helper.make_node(
        "Loop", ["n", "", "start"], ["last", "rows"], body=loop_body(ends=False)
    )
    proto = model_of(
        [node], [port("x", [2]), port("start", [2])], [port("last", [2]), port("rows", [3, 2])],
        [weight("n", np.int64(3))],
    )  # fmt: skip
    model = tl.export.onnx.load(proto)
    assert model.why == ""
    feed = {"x": np.array([1, 2], np.float32), "start": np.array([10, 20], np.float32)}
    for ours, theirs in zip(model(**feed), by_onnxruntime(proto, feed), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_a_loop_that_ends_by_its_numbers_is_recorded() -> None:
    node = helper.make_node("Loop", ["n", "c", "start"], ["last"], body=loop_body(ends=True))
    proto = model_of(
        [node],
        [port("x", [2]), port("start", [2]), port("n", [], INT64), port("c", [], BOOL)],
        [port("last", [2])],
        [weight("most", np.float32(20))],
    )
    model = tl.export.onnx.load(proto)
    assert "WhileLoop" in str(model.program)
    for n, flag in ((100, True), (2, True), (5, False)):
        feed = {
            "x": np.array([1, 2], np.float32), "start": np.array([1, 1], np.float32),
            "n": np.array(n), "c": np.array(flag),
        }  # fmt: skip
        np.testing.assert_allclose(model.named(feed)["last"], by_onnxruntime(proto, feed)[0])


def test_scan_goes_along_other_axes_and_backwards() -> None:
    nodes = [
        helper.make_node("Add", ["total", "x"], ["next"]),
        helper.make_node("Mul", ["next", "x"], ["row"]),
    ]
    body = graph(
        "body", nodes, [port("total", [2]), port("x", [2])], [port("next", [2]), port("row", [2])]
    )
    node = helper.make_node(
        "Scan", ["start", "xs"], ["last", "rows"], body=body, num_scan_inputs=1,
        scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1],
    )  # fmt: skip
    proto = model_of(
        [node], [port("start", [2]), port("xs", [2, "t"])],
        [port("last", [2]), port("rows", [2, "t"])],
    )  # fmt: skip
    model = tl.export.onnx.load(proto)
    assert "ScanLoop" in str(model.program)
    feed = {
        "start": np.zeros(2, np.float32),
        "xs": np.random.default_rng(0).standard_normal((2, 5)).astype(np.float32),
    }
    for ours, theirs in zip(model(**feed), by_onnxruntime(proto, feed), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_sequences_are_lists() -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=1),
        helper.make_node("SequenceInsert", ["s", "x", "zero"], ["t"]),
        helper.make_node("SequenceLength", ["t"], ["n"]),
        helper.make_node("SequenceErase", ["t", "zero"], ["u"]),
        helper.make_node("SequenceAt", ["u", "last"], ["one"]),
        helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    proto = model_of(
        nodes, [port("x", [3, 2])], [port("y", [6, 2]), port("n", [], INT64), port("one", [1, 2])],
        [weight("zero", np.int64(0)), weight("last", np.int64(-1))],
    )  # fmt: skip
    model = tl.export.onnx.load(proto)
    assert model.why == ""
    feed = {"x": np.arange(6, dtype=np.float32).reshape(3, 2)}
    for ours, theirs in zip(model(**feed), by_onnxruntime(proto, feed), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_a_model_may_give_and_take_a_sequence() -> None:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    given, made = onnx.ValueInfoProto(name="s", type=kind), onnx.ValueInfoProto(name="t", type=kind)
    node = helper.make_node("SequenceInsert", ["s", "x"], ["t"])
    model = tl.export.onnx.load(model_of([node], [given, port("x", [2])], [made]))
    found = model([np.ones(3, np.float32)], np.zeros(2, np.float32))
    assert [one.shape for one in found] == [(3,), (2,)]


def test_shapes_that_hang_on_numbers_run_node_by_node_and_then_as_a_program() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    proto = model_of(nodes, [port("x", [6]), port("shape", [2], INT64)], [port("y", None)])
    model = tl.export.onnx.load(proto)
    assert "shape" in model.why
    x = np.arange(6, dtype=np.float32)
    for shape in ([2, 3], [2, 3], [2, 3], [3, -1], [3, -1]):
        found = model(x, np.array(shape))
        np.testing.assert_array_equal(found, x.reshape(shape))
