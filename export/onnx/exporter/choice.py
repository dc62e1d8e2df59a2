"""The key `onnx` of declarations: an op as the one op of ONNX that it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .... import _C
from ....functional.promotion import result_type
from ....opdecl.compiler.expression import Category
from ....opdecl.compiler.model import Arg, Entry, ReductionEntry, ScalarEntry
from ....opdecl.compiler.onnx_node import OnnxNode
from .dtypes import element_type, type_text, wider
from .graph import Graph, Value
from .numbers import Unknown
from .site import Site, Spec

_KINDS: Mapping[str, int] = {"bool": 0, "integer": 1, "floating": 2, "complex": 3}


class Called:
    """A call of what is declared, as the key is asked about it.

    Args:
        entry: its declaration.
        inputs: the values, in the order of the arguments.
        outputs: dtypes and shapes of results.
        attrs: attributes by name.
        dtype: what arguments that flow together are made first.
    """

    def __init__(
        self,
        entry: Entry,
        inputs: Sequence[Value],
        outputs: Sequence[Spec],
        attrs: Mapping[str, Any],
        dtype: _C.dtype,
    ) -> None:
        self.entry = entry
        self.outputs = outputs
        self.attrs = attrs
        self.dtype = dtype
        self.groups = grouped(entry.args, inputs)

    def joins(self, name: str) -> bool:
        """Whether an argument is made of the dtype that they have in common."""
        first = self.entry.args[0].category
        arg = next(arg for arg in self.entry.args if arg.name == name)
        if isinstance(self.entry, ScalarEntry):
            return not is_condition(arg, self.entry.args)
        return arg.category is first

    def dtype_of(self, name: str, value: Value) -> _C.dtype:
        """The dtype in which an argument is given."""
        return self.dtype if self.joins(name) else value.dtype

    def literal(self, name: str) -> Any:
        """The value of an attribute, or the number that an argument is; else None."""
        if name in self.attrs:
            return self.attrs[name]
        values = self.groups.get(name, ())
        return values[0].literal if len(values) == 1 else None


def grouped(args: Sequence[Arg], inputs: Sequence[Value]) -> dict[str, Sequence[Value]]:
    """The values by the names of the arguments; a variadic one takes what is left."""
    found: dict[str, Sequence[Value]] = {}
    for i, arg in enumerate(args):
        found[arg.name] = inputs[i:] if arg.is_variadic else inputs[i : i + 1]
    return found


def is_condition(arg: Arg, args: Sequence[Arg]) -> bool:
    """Whether it is a boolean that chooses between others."""
    return arg.category is Category.BOOLEAN and any(a.category.rank > 0 for a in args)


def is_in(dtype: _C.dtype, category: Category) -> bool:
    """Whether a dtype belongs to a category."""
    kind = _KINDS[dtype.kind]
    has_bool = category in (
        Category.ALL, Category.REAL_OR_BOOLEAN, Category.INTEGER_OR_BOOLEAN, Category.BOOLEAN,
    )  # fmt: skip
    least = {Category.FLOATING: 2, Category.REAL_FLOATING: 2}.get(category, 0 if has_bool else 1)
    return least <= kind <= category.rank


def joint_dtype(entry: Entry, inputs: Sequence[Value], outputs: Sequence[Spec]) -> _C.dtype:
    """The dtype in which the arguments that flow together are taken."""
    if isinstance(entry, ReductionEntry):
        takes = entry.args[0].category
        same = entry.result in ("same", "sum")
        return outputs[0].dtype if same else lifted(inputs[0].dtype, takes)
    same = entry.result in ("same", "real")
    return outputs[0].dtype if same else promoted(entry, inputs)


def lifted(dtype: _C.dtype, category: Category) -> _C.dtype:
    """A dtype of the category, in which the values are the same."""
    if is_in(dtype, category):
        return dtype
    needs_floats = category in (Category.FLOATING, Category.REAL_FLOATING)
    return _C.float32 if needs_floats else _C.int32


def promoted(entry: Entry, inputs: Sequence[Value]) -> _C.dtype:
    """What the arguments that flow together promote to."""
    named = grouped(entry.args, inputs)
    flowing = [
        value.dtype
        for arg in entry.args
        if not is_condition(arg, entry.args) and arg.category is entry.args[0].category
        for value in named[arg.name]
    ] or [value.dtype for value in inputs]
    return lifted(result_type(*flowing), entry.args[0].category)


def divides(entry: Entry, dtype: _C.dtype, inputs: Sequence[Value]) -> bool:
    """Whether integers are divided by what may be 0: then runtimes fail, where we give 0."""
    if entry.name not in ("remainder", "floor_divide") or dtype.kind != "integer":
        return False
    return inputs[1].literal in (None, 0)


def write_by_key(site: Site) -> list[str] | None:
    """The node, where a node of the key holds here."""
    entry = site.entry
    if entry is None or not entry.onnx:
        return None
    joint = joint_dtype(entry, site.inputs, site.outputs)
    if divides(entry, joint, site.inputs):
        return None
    is_scalar = isinstance(entry, ScalarEntry)  # has a formula, which says in what it computes
    for dtype in (joint, None if is_scalar else wider(joint)):
        if dtype is not None:
            called = Called(entry, site.inputs, site.outputs, site.attrs, dtype)
            found = write_called(site.graph, called, site.writer.opset)
            if found is not None:
                return found
    return None


def write_called(graph: Graph, called: Called, opset: int) -> list[str] | None:
    """The node of the first of the key's that holds, or None."""
    for node in called.entry.onnx:
        found = _Choice(graph, called, node, opset).write()
        if found is not None:
            return found
    return None


class _Choice:
    """One node of a key, at one place."""

    def __init__(self, graph: Graph, called: Called, node: OnnxNode, opset: int) -> None:
        self.graph = graph
        self.called = called
        self.node = node
        self.opset = opset

    def write(self) -> list[str] | None:
        node, called = self.node, self.called
        if node.since > self.opset or (node.of is not None and not is_in(called.dtype, node.of)):
            return None
        if any(not _is_same(called.literal(name), value) for name, value in node.when):
            return None
        attrs = self._attrs()
        formals = self._formals()
        if attrs is None or formals is None:
            return None
        schema, pairs = formals
        names = [
            self.graph.cast(value.name, value.dtype, wanted)
            if isinstance(value, Value)
            else self._as_input(value, wanted)
            for value, wanted in pairs
        ]
        while names and not names[-1]:
            names.pop()
        found = self.graph.node(node.op, names, len(called.outputs), **attrs)
        return [
            self.graph.cast(name, self._dtype_of(schema, i, pairs), spec.dtype)
            for i, (name, spec) in enumerate(zip(found, called.outputs, strict=True))
        ]

    def _attrs(self) -> dict[str, Any] | None:
        """ONNX's attributes, or None where ONNX cannot hold one."""
        attrs: dict[str, Any] = {}
        literals = [(theirs, self.called.literal(ours)) for theirs, ours in self.node.attrs]
        for name, value in (*literals, *self.node.fixed):
            parts = value if isinstance(value, tuple) else (value,)
            if value is None or any(isinstance(part, Unknown) for part in parts):
                return None
            is_wide = isinstance(value, float) and self.called.dtype.name == "float64"
            if is_wide and float(np.float32(value)) != value:  # attributes are of float32
                return None
            attrs[name] = self._held(name, value)
        return attrs

    def _held(self, name: str, value: Any) -> Any:
        from onnx import defs

        if isinstance(value, _C.dtype):
            return element_type(value)
        wanted = defs.get_schema(self.node.op, self.opset).attributes[name].type
        if str(wanted).endswith("FLOAT"):
            return float(value)
        return int(value) if isinstance(value, bool) else value

    def _formals(self) -> tuple[Any, list[tuple[Any, Any]]] | None:
        """The schema, and each input with its dtype; None where ONNX does not take one."""
        from onnx import defs

        schema = defs.get_schema(self.node.op, self.opset)
        pairs: list[tuple[Any, Any]] = []
        for given in self.node.inputs:
            if given.name in self.called.groups:
                for value in self.called.groups[given.name]:
                    pairs.append((value, self.called.dtype_of(given.name, value)))
                continue
            value = self.called.attrs[given.name]
            if (given.is_list and value == ()) or (value is None and not given.is_list):
                return None  # an empty list would be all axes
            pairs.append(((value, given.is_list), None))
        for i, (_, dtype) in enumerate(pairs):
            formal = schema.inputs[min(i, len(schema.inputs) - 1)]
            if dtype is not None and type_text(dtype) not in formal.types:
                return None
        results = [type_text(spec.dtype) for spec in self.called.outputs]
        if any(
            text not in formal.types and not self._is_bound(schema, i)
            for i, (text, formal) in enumerate(zip(results, _repeated(schema.outputs, len(results)),
                                                   strict=True))
        ):  # fmt: skip
            return None
        return schema, pairs

    @staticmethod
    def _is_bound(schema: Any, output: int) -> bool:
        formal = schema.outputs[min(output, len(schema.outputs) - 1)]
        return any(formal.type_str == other.type_str for other in schema.inputs)

    def _dtype_of(self, schema: Any, output: int, pairs: Sequence[tuple[Any, Any]]) -> _C.dtype:
        """The dtype that a result of the node has."""
        formal = schema.outputs[min(output, len(schema.outputs) - 1)]
        for i, (_, dtype) in enumerate(pairs):
            known = schema.inputs[min(i, len(schema.inputs) - 1)]
            if dtype is not None and known.type_str == formal.type_str:
                found: _C.dtype = dtype
                return found
        return self.called.outputs[output].dtype

    def _as_input(self, given: tuple[Any, bool], _: Any) -> str:
        value, is_list = given
        if value is None:
            return ""
        if is_list or isinstance(value, tuple):
            return self.graph.ints(value if isinstance(value, tuple) else (value,))
        return self.graph.scalar(value)


def _repeated(formals: Any, count: int) -> list[Any]:
    return [formals[min(i, len(formals) - 1)] for i in range(count)]


def _is_same(found: Any, wanted: Any) -> bool:
    return bool(type(found) in (bool, int, float, str, type(None)) and found == wanted)
