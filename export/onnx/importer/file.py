"""Reading an ONNX file: what may go wrong with it, as our errors; its inputs; its graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .... import _C
from ....inspection.files import path_of, read_file
from .element_types import TYPES, dtype_of, element_type
from .external_data import ExternalData
from .graph import Graph, GraphReader, count_of_nodes, opsets_of
from .narrow_types import Narrow
from .tensors import given_tensor, tensor_of

NEWEST = 28
OLDEST = 1  # what has changed its meaning until 7 is known since then
MOST_BYTES = 2**31
MOST_NODES = 1_000_000


@dataclass(frozen=True)
class Port:
    """An input of a model.

    Attributes:
        kind: "tensor", "sequence" or "optional".
        number: of the element type.
        shape: sizes, and names or None for those that are not known; None: nothing is known.
    """

    name: str
    kind: str
    number: int
    shape: tuple[int | str | None, ...] | None

    @property
    def is_narrow(self) -> bool:
        """Whether its element type is narrower than the dtype that holds it."""
        return TYPES[self.number].narrow

    @property
    def dtype(self) -> Any:
        """The dtype that holds its elements."""
        return dtype_of(self.number)

    def of_shape(self, shape: Sequence[int]) -> Port:
        """The same of these sizes."""
        return replace(self, shape=tuple(shape))

    def _check(self, shape: Sequence[Any]) -> None:
        """Refuses other sizes than those that are known."""
        if self.shape is None:
            return
        pairs = zip(self.shape, shape, strict=False)
        fits = all(not (type(n) is int and type(m) is int) or n == m for n, m in pairs)
        if not fits or len(self.shape) != len(shape):
            wanted = ", ".join("None" if size is None else str(size) for size in self.shape)
            raise _C.ShapeError(
                f"must have the model's shape ({wanted})", op="OnnxModel", argument=self.name,
                got=f"{tuple(shape)}",
            )  # fmt: skip

    def value(self, given: Any) -> Any:
        """What a caller gives, as a value of the graph.

        Raises:
            ShapeError: it has not the sizes that the model knows.
        """
        if self.kind == "tensor" or not (given is None or isinstance(given, (list, tuple))):
            value = given_tensor(given, self.number)
            self._check((value.tensor if isinstance(value, Narrow) else value).shape)
            return value
        return None if given is None else [given_tensor(one, self.number) for one in given]


@dataclass(frozen=True)
class ModelFile:
    """A model: its inputs, those that initializers fill where a call does not, and its graph."""

    inputs: tuple[Port, ...]
    defaults: tuple[Port, ...]
    graph: Graph


def read_model(source: Any) -> ModelFile:
    """A model from a path, bytes or a ModelProto.

    Raises:
        ArgumentError: it is no model of ONNX, is damaged, or has ops that are not known: all of
            them, with the names of their nodes.
    """
    import onnx

    proto, folder = _proto(source)
    opsets = opsets_of(proto.opset_import) or {"": 1}
    _check_opset(opsets)
    external = None if folder is None else ExternalData(folder)
    functions: dict[Any, Any] = {}
    for one in proto.functions:
        key = "" if one.domain == "ai.onnx" else one.domain, one.name, one.overload
        if functions.setdefault(key, one) is not one:
            raise _C.ArgumentError(
                "functions must differ in their names", op="onnx", got=f"{one.name} twice"
            )
    reader = GraphReader(opsets, functions, lambda one: tensor_of(one, external))
    try:
        graph = reader.read(proto.graph)
        named = {one.name: one for one in proto.graph.input}
        inputs = tuple(_port(named[name]) for name in graph.inputs)
        defaults = tuple(_port(named[name]) for name in named if name in graph.constants)
    except (onnx.checker.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise _C.ArgumentError("must be a model of ONNX", op="onnx", got=str(error)) from error
    if reader.unsupported:
        raise _C.ArgumentError(
            "must be of ops that are known", op="onnx.load",
            got="; ".join(sorted(set(reader.unsupported))),
            fix="write them in other ops, or as functions of the model",
        )  # fmt: skip
    count = count_of_nodes(graph)
    if count > MOST_NODES:
        raise _C.ArgumentError(
            f"must have at most {MOST_NODES} nodes, those of functions counted in each call",
            op="onnx.load", got=str(count),
        )  # fmt: skip
    return ModelFile(inputs, defaults, graph)


def _check_opset(opsets: dict[str, int]) -> None:
    opset = opsets.get("", NEWEST)
    if not OLDEST <= opset <= NEWEST:
        raise _C.ArgumentError(
            f"the opset must be from {OLDEST} to {NEWEST}", op="onnx.load", got=str(opset),
            fix="convert it: onnx.version_converter.convert_version(model, 18)",
        )  # fmt: skip


def _proto(source: Any) -> tuple[Any, Path | None]:
    import onnx

    if isinstance(source, onnx.ModelProto):
        return source, None
    folder = None
    if isinstance(source, (str, os.PathLike)):
        path = path_of(source, "onnx.load", "source")
        folder = path.resolve().parent
        source = read_file(path, "onnx.load", MOST_BYTES + 1)
    if not isinstance(source, (bytes, bytearray, memoryview)):
        raise _C.ParameterError(
            "must be a path, bytes or a ModelProto", op="onnx.load", argument="source",
            got=type(source).__name__,
        )  # fmt: skip
    if len(source) > MOST_BYTES:
        raise _C.ArgumentError(
            "must have at most 2 GiB", op="onnx.load", got=f"{len(source)} bytes",
            fix="keep the weights as external data",
        )  # fmt: skip
    from google.protobuf.message import DecodeError

    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(bytes(source))
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _C.ArgumentError("must be a model of ONNX", op="onnx.load", got=str(error)) from error
    if not proto.HasField("graph"):
        raise _C.ArgumentError("must be a model of ONNX", op="onnx.load", got="no graph")
    return proto, folder


def _port(proto: Any) -> Port:
    kind, held = "tensor", proto.type
    while held.WhichOneof("value") in ("sequence_type", "optional_type"):
        which = held.WhichOneof("value")
        kind = "optional" if which == "optional_type" or kind == "optional" else "sequence"
        held = getattr(held, which).elem_type
    if held.WhichOneof("value") != "tensor_type":
        raise _C.DTypeError(
            "must be a tensor, a sequence of tensors or an optional one", op="onnx",
            argument=proto.name, got=str(held.WhichOneof("value")),
        )  # fmt: skip
    tensor = held.tensor_type
    element_type(tensor.elem_type)
    shape: list[int | str | None] | None = None
    if tensor.HasField("shape"):
        shape = []
        for dim in tensor.shape.dim:
            which = dim.WhichOneof("value")
            size = getattr(dim, which) if which else None
            size = None if size == -1 else size  # as some exporters write what they don't know
            if isinstance(size, int) and size < 0:
                raise _C.ArgumentError(
                    "sizes must not be negative", op="onnx", argument=proto.name, got=str(size)
                )
            shape.append(size or None if isinstance(size, str) else size)
    return Port(proto.name, kind, tensor.elem_type, None if shape is None else tuple(shape))
