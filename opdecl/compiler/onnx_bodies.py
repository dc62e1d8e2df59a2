"""What the bodies of onnx/*.yaml may say beyond those of declared ops.

They are the expression language of bodies, read by its reader. ONNX's attributes need a little
more, since they are lists that have to be turned around before a call takes them: functions of
numbers and lists, `given(x)` of an input that may be left out, numbers that stand in expressions,
and `run(graph, x)`, the first result of a graph that is an attribute. What the functions mean is
said twice, for Python in export/onnx/importer/attribute_functions.py, where sizes may be unknown,
and for the core in csrc/onnx/numbers.cpp.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from .expression import Attr, Call, Expr, Num
from .parse import Parsed, parse_body
from .rule_reader import RuleReader

GIVEN = "given"
KIND = "kind"
NUMBER = "number"
RUN = "run"
ITEM = "item"
NUMBER_FUNCTIONS = frozenset([
    "axes_or_all", "backwards", "dtype_named", "either", "integer", "is_empty", "is_integer",
    "is_symmetric", "item", "joined", "length", "limit", "margins", "normal_axis", "ones_like",
    "part", "product", "repeated", "root", "upwards", "widths_of", "window_pads",
])  # fmt: skip


class BodyReader(RuleReader):
    """Reads the body of an op of ONNX; `attrs` are the names of its attributes."""

    attrs: Collection[str] = ()

    def is_number(self, node: ast.expr) -> bool:
        """Whether it is calculated from sizes and attributes alone."""
        match node:
            case ast.Name(id=name) if name in self.attrs:
                return True
            case ast.Call(func=ast.Name(id=name)) if name in NUMBER_FUNCTIONS or name in _FORMS:
                return True
            case ast.Subscript(value=ast.Name(id=name), slice=index) if self.is_list(name):
                return not isinstance(index, ast.Slice)
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_number(body) and self.is_number(orelse)
            case ast.Compare(left=left, comparators=[right]):  # of a tensor it is one
                return self.are_numbers([left, right])
        return super().is_number(node)

    def is_list(self, name: str) -> bool:
        """Whether it names a list of numbers, where it names something that has elements."""
        return name in self.attrs or name in self.numbers

    def expr(self, node: ast.expr, depth: int) -> Expr:
        """A size, or a number of a list, may stand where an expression is expected."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if self.is_list(name):
                if not isinstance(index, ast.Slice):
                    return Call(NUMBER, (), (("value", self.attribute(node, depth)),))
            case ast.Subscript(value=ast.Call(func=ast.Name(id="shape"))):
                return Call(NUMBER, (), (("value", self.attribute(node, depth)),))
        return super().expr(node, depth)

    def name(self, node: ast.Name) -> Expr:
        """A number is read where an expression is expected."""
        if node.id in self.numbers:
            self.unread.pop(node.id, None)
            return Call(NUMBER, (), (("value", self.numbers[node.id]),))
        return super().name(node)

    def call(self, node: ast.Call, depth: int) -> Expr:
        """A function of attributes gives a number where an expression is expected."""
        if isinstance(node.func, ast.Name) and (
            node.func.id in NUMBER_FUNCTIONS or node.func.id in _FORMS
        ):
            return Call(NUMBER, (), (("value", self.attribute(node, depth)),))
        return super().call(node, depth)

    def attribute(self, node: ast.expr, depth: int) -> Attr:
        """The value of a keyword argument."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=[value]) if name == NUMBER:
                return self.attribute(value, depth + 1)
            case ast.Call(func=ast.Name(id=name), args=[value]) if name in (GIVEN, KIND):
                return Attr(name, of=self.expr(value, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=args) if name in NUMBER_FUNCTIONS:
                parts = tuple(self.attribute(arg, depth + 1) for arg in args)
                return Attr("list", name=name, parts=parts)
            case ast.Subscript(value=ast.Name() as value, slice=index):
                parts = (self.attribute(value, depth + 1), self.attribute(index, depth + 1))
                return Attr("list", name=ITEM, parts=parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = tuple(self.attribute(x, depth + 1) for x in (test, body, orelse))
                return Attr("choice", parts=parts)
        return super().attribute(node, depth)

    def literal(self, node: ast.expr) -> bool | int | float | str | tuple[int, ...] | None:
        """A literal; an empty tuple is one."""
        if isinstance(node, ast.Tuple) and not node.elts:
            return ()
        return super().literal(node)


_FORMS = frozenset([GIVEN, KIND, NUMBER])


def read_body(
    text: str, inputs: Collection[str], attrs: Collection[str]
) -> tuple[Sequence[Expr], list[tuple[int, str]]]:
    """The results of a body over these inputs and attributes, and what is wrong with its text."""

    def reader(parsed: Parsed, taken: Collection[str]) -> BodyReader:
        made = BodyReader(parsed, taken)
        made.attrs = frozenset(attrs) - frozenset(inputs)
        return made

    parsed: Parsed = parse_body(text, {*inputs, *attrs}, reader)
    return parsed.results or (Num(0),), parsed.mistakes
