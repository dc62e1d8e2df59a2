"""Graph: a graph of ONNX, read once and checked, with what each of its nodes means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .... import _C
from .entries import Entry, entry_for

DEEPEST = 64  # graphs within graphs, and functions that call functions


@dataclass(frozen=True)
class Reference:
    """An attribute of a node of a function: that of the function of this name."""

    name: str


@dataclass(frozen=True)
class Node:
    """A node: its op, the names that it reads and makes, and its attributes."""

    op: str
    domain: str
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    target: Entry | FunctionGraph | SchemaFunction
    same_types: tuple[tuple[int, int], ...]  # outputs of the type of an input

    def is_standard(self, *ops: str) -> bool:
        """Whether it is one of these ops of the standard."""
        return not self.domain and self.op in ops


@dataclass
class Graph:
    """Nodes in an order in which all is made before it is read.

    Attributes:
        inputs: the names that a call gives.
        outputs: the names that it gets.
        constants: tensors by name.
        makers: by a name, the node that makes it.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: dict[str, Any]
    nodes: list[Node]
    makers: dict[str, Node] = field(default_factory=dict)

    @cached_property
    def around(self) -> tuple[str, ...]:
        """The names that are read here, or in graphs within, and made outside."""
        own, found = {*self.constants, *self.inputs}, dict[str, None]()
        for node in self.nodes:
            inner = [x.around for x in node.attributes.values() if isinstance(x, Graph)]
            read = [*node.inputs, *(name for names in inner for name in names)]
            found.update((name, None) for name in read if name and name not in own)
            own.update(node.outputs)
        found.update((name, None) for name in self.outputs if name not in own)
        return tuple(found)


@dataclass
class FunctionGraph:
    """A function of a model: its graph, and the attributes that it takes."""

    graph: Graph
    defaults: Mapping[str, Any]


@dataclass
class SchemaFunction:
    """An op of which ONNX itself has a body in other ops: made for the dtypes of a call."""

    schema: Any
    proto: Any
    opset: int
    opsets: Mapping[str, int]
    made: dict[Any, FunctionGraph] = field(default_factory=dict)


class GraphReader:
    """Reads graphs of a model, and gathers what is not supported.

    Attributes:
        unsupported: a line for each node that has no meaning here.
    """

    def __init__(
        self, opsets: Mapping[str, int], functions: Mapping[Any, Any], read_tensor: Any
    ) -> None:
        """Of a model with these opsets and functions, by domain, name and overload."""
        self.opsets = dict(opsets)
        self.functions = functions
        self.read_tensor = read_tensor
        self.unsupported: list[str] = []
        self._made: dict[Any, FunctionGraph] = {}
        self._open: list[Any] = []  # functions that are being read

    def read(self, proto: Any, outer: frozenset[str] = frozenset(), depth: int = 0) -> Graph:
        """A graph, within which names of the outside may be read.

        Raises:
            ArgumentError: it is no graph: names are made twice, or read before they are made.
        """
        if depth > DEEPEST:
            raise _C.ArgumentError(
                f"graphs must be nested {DEEPEST} deep at most", op="onnx", got="a deeper one"
            )
        held = [one.values for one in proto.sparse_initializer]
        _check_names(one.name for one in (*proto.input, *proto.output, *proto.initializer, *held))
        constants = {one.name: self.read_tensor(one) for one in proto.initializer}
        for sparse in proto.sparse_initializer:
            constants[sparse.values.name] = self.read_tensor(sparse)
        given = tuple(one.name for one in proto.input)
        inputs = tuple(name for name in given if name not in constants)
        known = {*constants, *given}
        if len(set(given)) != len(given) or len(constants) != len(proto.initializer) + len(
            proto.sparse_initializer
        ):
            _refuse(proto.name, "names of inputs and initializers must differ", "one twice")
        nodes = self._nodes(proto.node, known, outer, depth)
        outputs = tuple(one.name for one in proto.output)
        return _finished(proto.name, inputs, outputs, constants, nodes, known | outer)

    def _nodes(
        self, protos: Sequence[Any], known: set[str], outer: frozenset[str], depth: int
    ) -> list[Node]:
        nodes = []
        for number, proto in enumerate(protos):
            label = proto.name or f"number {number}"
            for name in proto.input:
                if name and name not in known and name not in outer:
                    _refuse(
                        f"{proto.op_type} ({label})",
                        "a node must read what is made before it: graphs have no cycles",
                        repr(name),
                    )
            has_graphs = any(one.HasField("g") or one.graphs for one in proto.attribute)
            around = frozenset(known | outer) if has_graphs else frozenset()
            nodes.append(self.node(proto, label, around, depth))
            for name in proto.output:
                if name and name in known:
                    _refuse(f"{proto.op_type} ({label})", "a name must be made once", repr(name))
                known.add(name)
        return nodes

    def node(self, proto: Any, label: str, known: frozenset[str], depth: int) -> Node:
        """A node with its meaning."""
        attached = (one.name for one in proto.attribute)
        _check_names([proto.op_type, proto.domain, *proto.input, *proto.output, *attached])
        _check_differ(f"{proto.op_type} ({label})", [one.name for one in proto.attribute])
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        attributes = {one.name: self._attribute(one, known, depth) for one in proto.attribute}
        target = self._target(proto, domain, label, depth)
        return Node(
            proto.op_type, domain, label, tuple(proto.input), tuple(proto.output), attributes,
            target, _same_types(self._schema(domain, proto.op_type), proto),
        )  # fmt: skip

    def _attribute(self, proto: Any, known: frozenset[str], depth: int) -> Any:
        import onnx

        if proto.ref_attr_name:
            return Reference(proto.ref_attr_name)
        kind = proto.type
        kinds = onnx.AttributeProto
        if kind == kinds.GRAPH:
            return self.read(proto.g, known, depth + 1)
        if kind == kinds.GRAPHS:
            return [self.read(one, known, depth + 1) for one in proto.graphs]
        if kind == kinds.TENSOR:
            return self.read_tensor(proto.t)
        if kind == kinds.SPARSE_TENSOR:
            return self.read_tensor(proto.sparse_tensor)
        if kind == kinds.TYPE_PROTO:
            return proto.tp
        value = onnx.helper.get_attribute_value(proto)
        if isinstance(value, bytes):
            return _text(value)
        if kind == kinds.STRINGS:
            return tuple(map(_text, value))
        return (
            tuple(value) if isinstance(value, (list, tuple)) or hasattr(value, "extend") else value
        )

    def _target(self, proto: Any, domain: str, label: str, depth: int) -> Any:
        key = (domain, proto.op_type, getattr(proto, "overload", ""))
        if key in self.functions:
            return self._function(key, depth)
        opset = self.opsets.get(domain, 1)
        entry = entry_for(domain, proto.op_type, opset)
        if entry is not None:
            return entry
        schema = self._schema(domain, proto.op_type)
        if schema is not None and (schema.has_function or schema.has_context_dependent_function):
            return SchemaFunction(schema, proto, opset, dict(self.opsets))
        shown = f"{domain}.{proto.op_type}" if domain else proto.op_type
        self.unsupported.append(f"{shown} (node {label})")
        return None

    def _schema(self, domain: str, name: str) -> Any:
        import onnx

        try:
            return onnx.defs.get_schema(name, self.opsets.get(domain, 1), domain)
        except onnx.defs.SchemaError:
            return None

    def _function(self, key: Any, depth: int) -> FunctionGraph:
        if key in self._open:
            _refuse(f"the function {key[1]}", "functions must not call themselves", key[1])
        if key not in self._made:
            self._open.append(key)
            self._made[key] = self.read_function(self.functions[key], depth + 1)
            self._open.remove(key)
        return self._made[key]

    def read_function(self, proto: Any, depth: int = 0) -> FunctionGraph:
        """A function, in the opsets that it names."""
        if depth > DEEPEST:
            _refuse(proto.name, f"functions must be nested {DEEPEST} deep at most", "deeper ones")
        outer, self.opsets = self.opsets, {**self.opsets, **opsets_of(proto.opset_import)}
        try:
            _check_names([proto.name, *proto.input, *proto.output, *proto.attribute])
            _check_differ(proto.name, proto.input)
            known = set(proto.input)
            nodes = self._nodes(proto.node, known, frozenset(), depth)
        finally:
            self.opsets = outer
        defaults: dict[str, Any] = dict.fromkeys(proto.attribute)
        for one in proto.attribute_proto:
            defaults[one.name] = self._attribute(one, frozenset(), depth)
        outputs = tuple(proto.output)  # of which a node's inputs and attributes may leave some out
        graph = _finished(proto.name, tuple(proto.input), outputs, {}, nodes, frozenset(outputs))
        return FunctionGraph(graph, defaults)


def _check_names(names: Iterable[Any]) -> None:
    """Raises where a name is no text: protobuf gives the bytes then."""
    for name in names:
        if not isinstance(name, str):
            _refuse("a name", "must be text in UTF-8", repr(name)[:80])


def _check_differ(where: str, names: Sequence[str]) -> None:
    """Raises where a name of inputs of a function, or of attributes, is there twice."""
    if len(set(names)) != len(names):
        _refuse(where, "names of inputs and attributes must differ", "one twice")


def opsets_of(imports: Sequence[Any]) -> dict[str, int]:
    """Versions by domain."""
    _check_names(one.domain for one in imports)
    found: dict[str, int] = {}
    for one in imports:
        domain = "" if one.domain == "ai.onnx" else one.domain
        if found.setdefault(domain, one.version) != one.version:
            _refuse("opset_import", "a domain must be of one version", repr(one.domain))
    return found


def _finished(
    name: str, inputs: tuple[str, ...], outputs: tuple[str, ...], constants: dict[str, Any],
    nodes: list[Node], known: set[str] | frozenset[str],
) -> Graph:  # fmt: skip
    for output in outputs:
        if output and output not in known:
            _refuse(name or "the graph", "an output must be made by a node", repr(output))
    makers = {made: node for node in nodes for made in node.outputs if made}
    return Graph(name, inputs, outputs, constants, nodes, makers)


def _same_types(schema: Any, proto: Any) -> tuple[tuple[int, int], ...]:
    """For each output whose type is one of ONNX's type variables, an input that has it too."""
    if schema is None:
        return ()
    found = []
    for i in range(len(proto.output)):
        formal = schema.outputs[min(i, len(schema.outputs) - 1)].type_str if schema.outputs else ""
        for j in range(len(proto.input)):
            if not schema.inputs:
                break
            if (
                schema.inputs[min(j, len(schema.inputs) - 1)].type_str == formal
                and "(" not in formal
            ):
                found.append((i, j))
                break
    return tuple(found)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _refuse(where: str, must: str, got: str) -> None:
    raise _C.ArgumentError(must, op="onnx", argument=where, got=got)


def count_of_nodes(graph: Graph, known: dict[int, int] | None = None) -> int:
    """How many nodes a run goes through, each call of a function with those of the function."""
    known = {} if known is None else known
    if id(graph) not in known:
        total = 0
        for node in graph.nodes:
            inner = [value for value in node.attributes.values() if isinstance(value, Graph)]
            if isinstance(node.target, FunctionGraph):
                inner.append(node.target.graph)
            total += 1 + sum(count_of_nodes(one, known) for one in inner)
        known[id(graph)] = total
    return known[id(graph)]
