"""Inference as an expression: the key `shapes` of an op.

    shapes: x1(..., n, n), x2(..., n, k) -> (..., n, k)

Patterns name the sizes of arguments; results are made of those names, by arithmetic. Python's
grammar reads them, a whitelist says what of it has a meaning, and what comes out is data for the
core (`specs.ShapeSpec`).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from .attr_types import ATTR_TYPES
from .errors import did_you_mean, shorten
from .loader import Node, Scalar
from .model import Arg, AttrDecl
from .operators import BINARY, COMPARE
from .specs import (
    ArgShape,
    AttrExpr,
    ResultShape,
    ShapeCase,
    ShapePart,
    ShapeSpec,
    SizeCondition,
)

MAX_LENGTH = 400
MAX_NAMES = 12
MAX_CASES = 8
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64", "complex64", "complex128")  # fmt: skip
COUNTERPARTS = ("real", "complex")
PARTS = ("resized", "reduced", "reduced_some", "permuted")
UNKNOWN = "unknown"
ARITHMETIC = ("add", "subtract", "multiply", "floor_divide", "remainder")
ALWAYS = AttrExpr("literal", literal=True)
EXTREMES = {"min": "minimum", "max": "maximum"}


class ShapeMistake(Exception):
    """What is wrong with a text of shapes."""


class ShapeReader:
    """Reads the cases of one op; names keep their numbers from case to case."""

    def __init__(self, args: Sequence[Arg], attrs: Sequence[AttrDecl]) -> None:
        self.args = {arg.name: i for i, arg in enumerate(args)}
        self.attrs = {attr.name: attr for attr in attrs}
        self.sizes: dict[str, int] = {}
        self.groups: dict[str, int] = dict(self.args)
        self.bound: set[str] = set()  # in the case that is read

    def case(self, text: str, outputs: int) -> ShapeCase:
        """`x(..., n) -> (...)`, and perhaps `when` what must hold of attributes.

        There are so many results, or (-1) as many as attributes say.
        """
        signature, _, condition = text.partition(" when ")
        left, arrow, right = signature.partition("->")
        if not arrow:
            raise ShapeMistake(f"`patterns -> results` is expected; got {shorten(text)}")
        self.bound = set()
        when = self.size(_parsed(condition)[0]) if condition else ALWAYS
        patterns = [self.pattern(node) for node in _parsed(left)]
        found = [pattern for pattern in patterns if pattern.parts or pattern.text]
        results = tuple(self.result(node) for node in _parsed(right))
        if outputs not in (-1, len(results)):
            raise ShapeMistake(f"{outputs} results are expected; got {len(results)}")
        if outputs != -1 and any(result.when != ALWAYS for result in results):
            raise ShapeMistake("`flag and result` is for ops with `outputs: -1`")
        used = {part.axis.attr for result in results for part in result.parts}
        implied = tuple(
            ArgShape(0, parts=(ShapePart("reduced", axis=AttrExpr("attr", attr=attr.name)),))
            for attr in self.attrs.values()
            if ATTR_TYPES[attr.type].names_axes and attr.name not in used
        )
        return ShapeCase(when, (*found, *implied), results, " ".join(text.split()))

    def spec(self, cases: Sequence[ShapeCase], conditions: Sequence[SizeCondition]) -> ShapeSpec:
        """All of them."""
        if max(len(self.sizes), len(self.groups)) > MAX_NAMES:
            raise ShapeMistake(f"names more than {MAX_NAMES} sizes or groups")
        return ShapeSpec(
            len(self.sizes), len(self.groups), self.groups.get("...", -1),
            tuple(cases), tuple(conditions),
        )  # fmt: skip

    def condition(self, text: str) -> SizeCondition:
        """`k <= shape(x)[axis]`."""
        self.bound = set(self.sizes)
        return SizeCondition(" ".join(text.split()), self.size(_parsed(text)[0]))

    def reads_sizes(self, node: Node) -> bool:
        """Whether a condition speaks of sizes."""
        try:
            nodes = ast.walk(ast.parse(node.text if isinstance(node, Scalar) else "", mode="eval"))
        except (SyntaxError, ValueError, RecursionError):
            return False
        names = {found.id for found in nodes if isinstance(found, ast.Name)}
        return bool(names & {*self.sizes, "shape", "ndim", "size"})

    def pattern(self, node: ast.expr) -> ArgShape:
        match node:
            case ast.Name(id=name):
                return ArgShape(self.arg(name))  # any shape
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                parts = tuple(self.pattern_part(part) for part in args)
                if sum(part.kind == "group" for part in parts) > 2:
                    raise ShapeMistake(f"{name}: at most two groups may stand in a pattern")
                return ArgShape(self.arg(name), parts=parts, text=_shown(args))
            case ast.Compare(left=ast.Name(id=name), ops=[ast.LtE()], comparators=[target]):
                parts = self.parts(target)
                return ArgShape(self.arg(name), True, parts, ast.unparse(target))
        text = f"a pattern is x, x(sizes) or x <= shape; got {shorten(ast.unparse(node))}"
        raise ShapeMistake(text)

    def arg(self, name: str) -> int:
        if name not in self.args:
            raise ShapeMistake(f"there is no argument {name!r}{did_you_mean(name, self.args)}")
        return self.args[name]

    def pattern_part(self, node: ast.expr) -> ShapePart:
        match node:
            case ast.Constant(value=value) if value is ...:
                return ShapePart("group", self.groups.setdefault("...", len(self.groups)))
            case ast.Starred(value=ast.Name(id=name)):
                self.refuse_taken(name)
                return ShapePart("group", self.groups.setdefault(name, len(self.groups)))
            case ast.Constant(value=int(value)) if type(value) is int:
                return ShapePart("size", size=AttrExpr("literal", literal=value))
            case ast.Name(id=name):
                self.refuse_taken(name)
                self.bound.add(name)
                number = self.sizes.setdefault(name, len(self.sizes))
                return ShapePart("size", size=AttrExpr("size", attr=name, slot=number))
        text = f"a pattern holds names, numbers, ... and *names; got {shorten(ast.unparse(node))}"
        raise ShapeMistake(text)

    def refuse_taken(self, name: str) -> None:
        if name in self.args or name in self.attrs or name == UNKNOWN:
            raise ShapeMistake(f"{name!r} already means something here; choose a new name")

    def result(self, node: ast.expr) -> ResultShape:
        match node:
            case ast.BoolOp(op=ast.And(), values=[condition, inner]):
                return replace(self.result(inner), when=self.size(condition))
            case ast.Name(id=name) if name in self.args:
                return ResultShape("arg", self.arg(name), parts=self.parts(node))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name not in PARTS:
                parts = tuple(self.part(part) for part in args)
                return replace(self.dtype(name), parts=parts)
        return ResultShape(parts=self.parts(node))

    def dtype(self, name: str) -> ResultShape:
        """What stands before the brackets of a result."""
        if name in self.args:
            return ResultShape("arg", self.args[name])
        if name in COUNTERPARTS:
            return ResultShape(name)
        if name in DTYPES:
            return ResultShape("given", dtype=name)
        number = list(self.attrs).index(name) if name in self.attrs else -1
        kinds = {"dtype": "attr", "str": "scalar"}
        if number >= 0 and self.attrs[name].type in kinds:
            return ResultShape(kinds[self.attrs[name].type], number)
        hint = did_you_mean(name, [*self.args, *self.attrs, *COUNTERPARTS, *DTYPES, *PARTS])
        raise ShapeMistake(f"{name!r} is no argument, dtype or attribute that says one{hint}")

    def parts(self, node: ast.expr) -> tuple[ShapePart, ...]:
        """A whole shape."""
        match node:
            case ast.Tuple(elts=elements):
                return tuple(self.part(element) for element in elements)
            case ast.Name(id=name) if name in self.args:
                return (ShapePart("group", self.args[name]),)
            case ast.Call(func=ast.Name(id=name)) if name in PARTS:
                return (self.part(node),)
            case ast.Constant(value=value) if value is ...:
                return (self.part(node),)
        text = f"a shape is (sizes), an argument or one of {', '.join(PARTS)}"
        raise ShapeMistake(f"{text}; got {shorten(ast.unparse(node))}")

    def part(self, node: ast.expr) -> ShapePart:
        match node:
            case ast.Constant(value=value) if value is ...:
                return ShapePart("group", self.group("..."))
            case ast.Starred(value=ast.Name(id=name)):
                if name in self.attrs and self.attrs[name].type == "shape":
                    return ShapePart("held", size=AttrExpr("attr", attr=name))
                return ShapePart("group", self.group(name))
            case ast.Starred(value=ast.Call() as call):
                return self.part(call)
            case ast.Call(func=ast.Name(id="permuted"), args=[ast.Name(id=of), ast.Name(id=axes)]):
                if axes not in self.attrs or self.attrs[axes].type != "permutation":
                    raise ShapeMistake(f"a permutation is expected among attributes; got {axes}")
                return ShapePart("permuted", self.group(of), axis=AttrExpr("attr", attr=axes))
            case ast.Call(func=ast.Name(id=name), args=[of, axis, more]) if name in PARTS[:3]:
                group = self.group(of.id if isinstance(of, ast.Name) else ast.unparse(of))
                kind = name.replace("_", " ")
                along = self.size(axis) if name == "resized" else self.axes(axis)
                return ShapePart(kind, group, size=self.size(more), axis=along)
        return ShapePart("size", size=self.size(node))

    def axes(self, node: ast.expr) -> AttrExpr:
        attr = self.attrs.get(node.id) if isinstance(node, ast.Name) else None
        if attr is not None and ATTR_TYPES[attr.type].names_axes:
            return AttrExpr("attr", attr=attr.name)
        raise ShapeMistake(f"an attribute that names axes is expected; got {ast.unparse(node)}")

    def group(self, name: str) -> int:
        if name not in self.groups:
            hint = did_you_mean(name, self.groups)
            raise ShapeMistake(f"no pattern has the sizes {name!r}{hint}")
        return self.groups[name]

    def size(self, node: ast.expr) -> AttrExpr:
        """A number, calculated from sizes and attributes; conditions are numbers too."""
        match node:
            case ast.Constant(value=None | bool() | int() | str() as value):
                return AttrExpr("literal", literal=value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.BinOp() if BINARY.get(type(node.op)) in ARITHMETIC:
                return self.calculated(BINARY[type(node.op)], [node.left, node.right])
            case ast.Compare(ops=[op], comparators=[right]) if type(op) in COMPARE:
                return self.calculated(COMPARE[type(op)], [node.left, right])
            case ast.BoolOp(values=[left, right]):
                both = isinstance(node.op, ast.And)
                return self.calculated("logical_and" if both else "logical_or", [left, right])
            case ast.UnaryOp(op=ast.Not()):
                return self.calculated("logical_not", [node.operand])
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return AttrExpr("literal", literal=-value)
            case ast.IfExp():
                return self.calculated("where", [node.test, node.body, node.orelse])
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right]):
                return self.calculated(EXTREMES[name], [left, right])
            case ast.Call(func=ast.Name(id="ndim"), args=[ast.Name(id=name)]):
                return AttrExpr("rank", attr=f"ndim({name})", slot=self.arg(name))
            case ast.Call(func=ast.Name(id="size"), args=[ast.Name(id=name)]):
                return AttrExpr("shape", slot=self.arg(name))
            case ast.Subscript(
                value=ast.Call(func=ast.Name(id="shape"), args=[ast.Name(id=name)]), slice=axis
            ):
                is_plain = isinstance(axis, (ast.Name, ast.Constant))
                shown = f"shape({name})[{ast.unparse(axis) if is_plain else '...'}]"
                return AttrExpr("dim", attr=shown, slot=self.arg(name), parts=(self.size(axis),))
        raise ShapeMistake(f"{shorten(ast.unparse(node))} has no meaning among sizes")

    def calculated(self, function: str, nodes: Sequence[ast.expr]) -> AttrExpr:
        parts = tuple(self.size(node) for node in nodes)
        return AttrExpr("arithmetic", attr=function, parts=parts)

    def name(self, name: str) -> AttrExpr:
        if name == UNKNOWN:
            return AttrExpr("literal", literal=-1)
        if name in self.bound:
            return AttrExpr("size", attr=name, slot=self.sizes[name])
        if name in self.attrs:
            return AttrExpr("attr", attr=name)
        hint = did_you_mean(name, [*self.bound, *self.attrs])
        raise ShapeMistake(f"no pattern has the size {name!r}{hint}")


def _parsed(text: str) -> list[ast.expr]:
    if len(text) > MAX_LENGTH:
        raise ShapeMistake(f"is longer than {MAX_LENGTH} characters")
    try:
        node = ast.parse(f"[{text.strip()}]", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ShapeMistake(f"cannot read {shorten(text.strip())} as shapes") from None
    if not isinstance(node, ast.List):
        raise ShapeMistake(f"cannot read {shorten(text.strip())} as shapes")
    return node.elts


def _shown(args: Sequence[ast.expr]) -> str:
    """`(..., n, k)`."""
    inner = ", ".join(ast.unparse(arg) for arg in args)
    return f"({inner},)" if len(args) == 1 and inner != "..." else f"({inner})"


def text_of(node: Node) -> str:
    """The text of a scalar."""
    if not isinstance(node, Scalar):
        raise ShapeMistake("`patterns -> results`, or a list of such, is expected")
    return node.text


def given_dtype(spec: ShapeSpec) -> str:
    """What the dtype of the one result is whatever flows in: "bool", "int64" or else "same"."""
    dtypes = {result.dtype for case in spec.cases for result in case.results}
    return next(iter(dtypes)) if dtypes in ({"bool"}, {"int64"}) else "same"
