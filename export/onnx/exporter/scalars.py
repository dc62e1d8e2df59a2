"""Scalar functions as functions of ONNX, from their formulas.

`opdecl/compiler/scalar_code.py` makes straight-line code of every scalar function, for each dtype,
over a few primitives; here is what the primitives are in ONNX, where they are no op of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .... import _C
from ....opdecl import DeclarationError
from ....opdecl.compiler.scalar_code import Code, Operand, ScalarCode
from ....ops.declaring import known_declarations
from .choice import Called, divides, joint_dtype, write_called
from .dtypes import WIDER
from .graph import Graph, Value
from .site import Site, Spec, UnsupportedError


def write_scalar(site: Site) -> list[str] | None:
    """A call of the function, for the dtype at hand."""
    if type(site.op).__name__ != "Elemwise":
        return None
    scalars = _scalars_of(site)
    entry = scalars.code.functions.get(site.op.mode)
    if entry is None:
        return None
    dtype = joint_dtype(entry, site.inputs, site.outputs)
    of = WIDER.get(dtype.name, dtype.name)
    try:
        code = scalars.code.code(entry.name, of)
    except DeclarationError:
        return None
    values = [
        _cast(site.graph, value, wanted)
        for value, wanted in zip(site.inputs, code.args, strict=True)
    ]
    found = scalars.call(site.graph, entry.name, of, values)
    return [
        site.graph.cast(name, _dtype(result.dtype), spec.dtype)
        for name, result, spec in zip(found, code.results, site.outputs, strict=True)
    ]


def _scalars_of(site: Site) -> Scalars:
    writer = site.writer
    if writer.scalars is None:
        writer.scalars = Scalars(writer)
    found: Scalars = writer.scalars
    return found


def _cast(graph: Graph, value: Value, wanted: str) -> Value:
    name = graph.cast(value.name, value.dtype, _dtype(wanted))
    return Value(name, _dtype(wanted), value.shape, value.literal)


def _dtype(name: str) -> _C.dtype:
    found: _C.dtype = getattr(_C, "bool_" if name == "bool" else name)
    return found


class Scalars:
    """The functions that a model has of scalar functions."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self.code = ScalarCode(known_declarations())
        self._made: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}

    def call(self, graph: Graph, name: str, of: str, values: Sequence[Value]) -> list[str]:
        """Applies a function for a dtype: an op of ONNX, a primitive, or a function."""
        code = self.code.code(name, of)
        entry: Any = self.code.functions[name]
        outputs = [Spec(_dtype(result.dtype), ()) for result in code.results]
        called = Called(entry, values, outputs, {}, _dtype(of))
        is_guarded = code.is_primitive and divides(entry, called.dtype, values)
        found = None if is_guarded else write_called(graph, called, self.writer.opset)
        if found is not None:
            return found
        if code.is_primitive:
            primitive = PRIMITIVES.get(name)
            if primitive is None:
                raise UnsupportedError(f"it is made of {name} of {of}, which ONNX has not")
            return [primitive(graph, *(value.name for value in values), of=of)]
        function, lifted = self._function(code)
        return list(self.writer.call(graph, function, [value.name for value in values], lifted))

    def _function(self, code: Code) -> tuple[str, dict[str, Any]]:
        key = (code.name, code.of)
        if key not in self._made:
            graph = Graph(is_function=True)
            inputs = [graph.unique(f"x{i}") for i in range(len(code.args))]
            results = self._write(graph, code, inputs)
            results = [
                _spread(graph, name, unread, inputs)
                for name, unread in zip(results, _unread(code), strict=True)
            ]
            outputs = graph.results(results)
            name = self.writer.add_function(f"{code.name}_{code.of}", graph, inputs, outputs)
            self._made[key] = (name, graph.lifted)
        return self._made[key]

    def _write(self, graph: Graph, code: Code, inputs: Sequence[str]) -> list[str]:
        values = [
            Value(name, _dtype(dtype), ()) for name, dtype in zip(inputs, code.args, strict=True)
        ]
        for step in code.steps:
            given = [self._operand(graph, operand, values) for operand in step.operands]
            (found,) = self.call(graph, step.function, step.of, given)
            values.append(Value(found, _dtype(step.dtype), ()))
        return [self._operand(graph, operand, values).name for operand in code.results]

    @staticmethod
    def _operand(graph: Graph, operand: Operand, values: Sequence[Value]) -> Value:
        dtype = _dtype(operand.dtype)
        if operand.index < 0:
            name = graph.constant(np.asarray(operand.number), operand.dtype)
            return Value(name, dtype, (), operand.number)
        return _cast(graph, values[operand.index], operand.dtype)


def _unread(code: Code) -> list[set[int]]:
    """For each result, the arguments that it does not depend on."""
    count = len(code.args)
    read: list[set[int]] = [{i} for i in range(count)]
    for step in code.steps:
        read.append(set().union(*(read[o.index] for o in step.operands if o.index >= 0)))
    return [set(range(count)) - (read[o.index] if o.index >= 0 else set()) for o in code.results]


def _spread(graph: Graph, name: str, unread: Iterable[int], inputs: Sequence[str]) -> str:
    """A result has the shape of all arguments, of those that it does not read, too."""
    for i in sorted(unread):
        name = graph.one("Expand", name, graph.one("Shape", inputs[i]))
    return name


Primitive = Callable[..., str]


def _multiply_add(g: Graph, x: str, y: str, z: str, of: str) -> str:
    return g.one("Add", g.one("Mul", x, y), z)


def _exp2(g: Graph, x: str, of: str) -> str:
    return g.one("Pow", g.constant(2, of), x)


def _divisor(g: Graph, y: str, of: str) -> str:
    """An integer, and 1 for 0: by which runtimes fail, even where nobody chooses the result."""
    return g.one("Where", g.one("Equal", y, g.constant(0, of)), g.constant(1, of), y)


def _floor_divide(g: Graph, x: str, y: str, of: str) -> str:
    """Of integers; ONNX's Div rounds towards 0, Mod has the sign of the divisor."""
    zero, other = g.constant(0, of), _divisor(g, y, of)
    found = g.one("Div", g.one("Sub", x, g.one("Mod", x, other)), other)
    return g.one("Where", g.one("Equal", y, zero), zero, found)


def _where(g: Graph, condition: str, x: str, y: str, of: str) -> str:
    """Of booleans, which not every runtime selects."""
    taken, other = g.one("And", condition, x), g.one("And", g.one("Not", condition), y)
    return g.one("Or", taken, other)


def _remainder(g: Graph, x: str, y: str, of: str) -> str:
    """Of floats: what C's fmod gives, moved to the sign of the divisor."""
    if not of.startswith("float"):
        zero, found = g.constant(0, of), g.one("Mod", x, _divisor(g, y, of))
        return g.one("Where", g.one("Equal", y, zero), zero, found)
    zero = g.constant(0, of)
    rest = g.one("Mod", x, y, fmod=1)
    differs = g.one("Xor", g.one("Less", rest, zero), g.one("Less", y, zero))
    moves = g.one("And", differs, g.one("Not", g.one("Equal", rest, zero)))
    signed = _copysign(g, zero, y, of)
    found = g.one("Where", moves, g.one("Add", rest, y), rest)
    return g.one("Where", g.one("Equal", rest, zero), signed, found)


def _copysign(g: Graph, x: str, y: str, of: str) -> str:
    """The sign of a zero is that of its reciprocal."""
    zero = g.constant(0, of)
    below = g.one("Less", g.one("Reciprocal", y), zero)
    is_zero = g.one("Equal", y, zero)
    is_negative = g.one("Or", g.one("Less", y, zero), g.one("And", is_zero, below))
    size = g.one("Abs", x)
    return g.one("Where", is_negative, g.one("Neg", size), size)


def _less(g: Graph, x: str, y: str, of: str) -> str:
    """Of booleans, which ONNX does not compare."""
    return g.one("And", g.one("Not", x), y)


def _left_shift(g: Graph, x: str, n: str, of: str) -> str:
    zero, last = g.constant(0, of), g.constant(_bits(of), of)
    if of.startswith("u"):
        last = g.constant(_bits(of) - 1, of)
        moved = g.one("BitShift", x, g.one("Min", n, last), direction="LEFT")
        return g.one("Where", g.one("LessOrEqual", n, last), moved, zero)
    power = g.one("Pow", g.constant(2, of), g.one("Min", n, last))
    return g.one("Where", g.one("LessOrEqual", n, last), g.one("Mul", x, power), zero)


def _right_shift(g: Graph, x: str, n: str, of: str) -> str:
    """Rounds down, by a power of two that is no more than the dtype holds."""
    if of.startswith("u"):
        most = g.constant(_bits(of) - 1, of)
        moved = g.one("BitShift", x, g.one("Min", n, most), direction="RIGHT")
        return g.one("Where", g.one("LessOrEqual", n, most), moved, g.constant(0, of))
    last = g.constant(_bits(of) - 1, of)
    power = g.one("Pow", g.constant(2, of), g.one("Min", n, last))
    found = _floor_divide(g, x, power, of)
    return g.one("Where", g.one("Greater", n, last), _floor_divide(g, found, g.constant(2, of), of),
                 found)  # fmt: skip


def _bits(of: str) -> int:
    return np.dtype(of).itemsize * 8 - (0 if of.startswith("u") else 1)


PRIMITIVES: Mapping[str, Primitive] = {
    "multiply_add": _multiply_add,
    "exp2": _exp2,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "copysign": _copysign,
    "less": _less,
    "where": _where,
    "bitwise_left_shift": _left_shift,
    "bitwise_right_shift": _right_shift,
}
