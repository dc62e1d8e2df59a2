"""Models in float64: what a network of float32 would give without its rounding."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


def in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model whose numbers of float32 are of float64."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _convert(made.graph)
    for function in made.functions:
        _convert_nodes(function.node)
    return made


def _convert(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen(tensor)
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = DOUBLE
    del graph.value_info[:]
    _convert_nodes(graph.node)


def _convert_nodes(nodes: Iterable[onnx.NodeProto]) -> None:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen(attribute.t)
            if attribute.HasField("g"):
                _convert(attribute.g)
            if attribute.name in ("to", "dtype") and attribute.i == FLOAT:
                attribute.i = DOUBLE


def _widen(tensor: TensorProto) -> None:
    if tensor.data_type == FLOAT:
        wide = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))


def with_last_input(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with one more result: what the op reads that makes the first one."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    name = made.graph.output[0].name
    last = next(node for node in made.graph.node if name in node.output)
    made.graph.output.append(onnx.helper.make_tensor_value_info(last.input[0], FLOAT, None))
    return made
