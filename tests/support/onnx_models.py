"""Models of ONNX, made by hand, and what ONNX Runtime gives for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def port(name: str, shape: Any, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name: str, values: Any) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(values), name)


def model_of(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Any = (), opset: int = 18,
    **more: Any,
) -> Any:  # fmt: skip
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(weights))
    imports = [helper.make_opsetid("", opset), *more.pop("imports", [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, **more)


def by_onnxruntime(model: Any, feed: dict[str, Any], threads: int = 0) -> list[Any]:
    """What ONNX Runtime gives, by as many threads as it takes or by so many."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found: list[Any] = session.run(None, feed)
    return found


def two_layers() -> Any:
    """x (n, 3) by a layer, reshaped by sizes that the graph calculates, by another one."""
    random = np.random.default_rng(0)
    weights = [
        weight("w", random.standard_normal((3, 4)).astype(np.float32)),
        weight("b", random.standard_normal(4).astype(np.float32)),
        weight("zero", np.int64(0)),
        weight("two", np.array([2, 2], np.int64)),
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n", "at"], ["rows"]),
        helper.make_node("Concat", ["rows", "two"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["r", "wanted"], ["y"]),
    ]
    weights.append(weight("at", np.array([0], np.int64)))
    return model_of(nodes, [port("x", ["n", 3])], [port("y", ["n", 2, 2])], weights)


def graph(name: str, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> Any:
    return helper.make_graph(nodes, name, inputs, outputs)


def loop_body(*, ends: bool) -> Any:
    """total + x and a row of it, as long as it is below 20 or for ever."""
    nodes = [helper.make_node("Add", ["total", "x"], ["next"])]
    if ends:
        nodes += [
            helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0),
            helper.make_node("Less", ["sum", "most"], ["go"]),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["on"], ["go"]))
    outputs = [port("go", [], BOOL), port("next", [2])]
    if not ends:
        nodes.append(helper.make_node("Identity", ["next"], ["row"]))
        outputs.append(port("row", [2]))
    return graph(
        "body", nodes, [port("i", [], INT64), port("on", [], BOOL), port("total", [2])], outputs
    )
