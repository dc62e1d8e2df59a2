"""The bodies that ONNX itself gives of its ops, for those that have no entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .... import _C
from ....imperative import Size, Tensor
from .element_types import number_of_dtype
from .graph import FunctionGraph, GraphReader, Node, Reference, SchemaFunction
from .narrow_types import Narrow


def function_of(
    target: SchemaFunction, node: Node, given: Sequence[Any], attributes: Mapping[str, Any]
) -> FunctionGraph:
    """The body of an op of a schema, for inputs of these dtypes and shapes, and these attributes.

    What an attribute of a node in a function is, only a call of the function says.
    """
    from .tensors import tensor_of

    named = [name for name, value in node.attributes.items() if isinstance(value, Reference)]
    key = (*map(_described, given), *((name, repr(attributes[name])) for name in named))
    if key not in target.made:
        proto = _function_proto(target, _resolved(target.proto, attributes), given)
        reader = GraphReader(target.opsets, {}, tensor_of)
        made = reader.read_function(proto)
        if reader.unsupported:
            raise _C.ArgumentError(
                "the op's body must be of ops that are known", op=node.op, argument=node.label,
                got=", ".join(reader.unsupported),
            )  # fmt: skip
        target.made[key] = made
    return target.made[key]


def _described(value: Any) -> Any:
    """What the body may depend on."""
    if isinstance(value, Narrow):
        return value.number, len(value.tensor.shape)
    if isinstance(value, Tensor):
        return value.dtype.name, tuple(map(str, value.shape))
    return type(value).__name__


def _resolved(proto: Any, attributes: Mapping[str, Any]) -> Any:
    """A node with the values of the attributes that it has of its function."""
    import onnx

    if not any(one.ref_attr_name for one in proto.attribute):
        return proto
    made = onnx.NodeProto()
    made.CopyFrom(proto)
    del made.attribute[:]
    for one in proto.attribute:
        if not one.ref_attr_name:
            made.attribute.append(one)
        elif attributes[one.name] is not None:
            made.attribute.append(onnx.helper.make_attribute(one.name, attributes[one.name]))
    return made


def _function_proto(target: SchemaFunction, proto: Any, given: Sequence[Any]) -> Any:
    import onnx

    schema = target.schema
    if schema.has_context_dependent_function:
        types = [_type_of(value).SerializeToString() for value in given]
        data = schema.get_context_dependent_function_with_opset_version(
            _version(schema.context_dependent_function_opset_versions, target.opset),
            proto.SerializeToString(), types,
        )  # fmt: skip
    else:
        data = schema.get_function_with_opset_version(
            _version(schema.function_opset_versions, target.opset)
        )
    found = onnx.FunctionProto()
    found.ParseFromString(data)
    return found


def _version(known: Sequence[int], opset: int) -> int:
    """The newest that is no newer than the model's opset."""
    fitting = [version for version in known if version <= opset]
    return max(fitting) if fitting else min(known)


def _type_of(value: Any) -> Any:
    import onnx

    if isinstance(value, Narrow):
        return onnx.helper.make_tensor_type_proto(value.number, list(value.tensor.shape))
    if isinstance(value, Tensor):
        sizes: tuple[Any, ...] = value.shape
        shape = [None if isinstance(size, Size) else size for size in sizes]
        return onnx.helper.make_tensor_type_proto(number_of_dtype(value.dtype), shape)
    return onnx.TypeProto()
