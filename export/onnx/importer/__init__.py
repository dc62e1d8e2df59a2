"""ONNX models become programs: the files of this package read, check and record them."""

from __future__ import annotations

from typing import Any

from .file import read_model
from .model import OnnxModel

__all__ = ["OnnxModel", "load"]


def load(source: Any) -> OnnxModel:
    """A model of ONNX as a program of ours.

    Ops mean what opdecl/onnx says of them; all that are not known are named at once. Initializers
    of floating-point dtypes become states of the program, other ones constants. External data is
    read from the model's folder alone. Files may be hostile: nothing in one runs code.

    Args:
        source: a path, the bytes of a file, or an `onnx.ModelProto`, of opset 7 to 28.

    Returns:
        A function of the model's inputs, by position or by name. Its `program`, with the names of
        the model, is compiled, saved, differentiated and called as an op like any other.

    Raises:
        ArgumentError: it is no model of ONNX, is damaged, or has ops that are not known.
        DTypeError: it has strings, or another element type that is none of numbers.
        OSError: the file cannot be read.

    Source:
        The standard, https://github.com/onnx/onnx/blob/main/docs/Operators.md.

    Example:
        >>> import onnx
        >>> import tensorlike as tl
        >>> node = onnx.helper.make_node("Relu", ["x"], ["y"])
        >>> ports = [
        ...     onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n"])
        ...     for name in ("x", "y")
        ... ]
        >>> graph = onnx.helper.make_graph([node], "clip", ports[:1], ports[1:])
        >>> model = tl.export.onnx.load(onnx.helper.make_model(graph))
        >>> model([-1.0, 2.0]).tolist()
        [0.0, 2.0]
        >>> list(model.program.block.vars)
        ['x', 'y']
    """
    return OnnxModel(read_model(source))
