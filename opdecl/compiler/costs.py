"""The key `flops`: how many operations on numbers the products of an op are.

An expression over the shapes of the op's arguments and results: what pictures of programs show.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence

from .fields import Fields
from .model import Arg, AttrDecl

_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
Shapes = Mapping[str, Sequence[int]]


def read_flops(
    fields: Fields, args: Sequence[Arg], attrs: Sequence[AttrDecl], results: Collection[str]
) -> str:
    """`flops: 2 * size(y) * shape(a)[-1]`; refuses what cannot be calculated."""
    text = fields.text("flops")
    tensors = {*results, *(arg.name for arg in args)}
    numbers = {attr.name for attr in attrs if attr.type == "int"}
    try:
        if text:
            _check(_parsed(text), tensors, numbers)
    except (ValueError, RecursionError) as error:
        fields.refuse(fields.place("flops"), f"flops: {error}")
    return text


def flops_in(text: str, shapes: Shapes, attrs: Mapping[str, int]) -> int:
    """The number that the expression is for shapes of arguments and results.

    Raises:
        ValueError: it is none, or reads a tensor that is not there.
    """
    try:
        return _value(_parsed(text), shapes, attrs)
    except (KeyError, IndexError, ZeroDivisionError) as error:
        raise ValueError(f"flops: {text} cannot be calculated: {error!r}") from None


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"an expression is expected; got {text!r:.80}") from None


def _check(node: ast.expr, tensors: Collection[str], numbers: Collection[str]) -> None:
    match node:
        case ast.Constant(value=int()) if type(node.value) is int:
            return
        case ast.Name(id=name) if name in numbers:
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            _check(left, tensors, numbers)
            _check(right, tensors, numbers)
            return
        case ast.Call(func=ast.Name(id="size" | "ndim"), args=[ast.Name(id=name)], keywords=[]):
            if name in tensors:
                return
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="shape"), args=[ast.Name(id=name)], keywords=[]),
            slice=axis,
        ) if name in tensors and _axis(axis) is not None:
            return
    raise ValueError(
        "size(x), ndim(x), shape(x)[axis] of arguments and results, integer attributes and numbers "
        f"are expected, joined by + - * //; got {ast.unparse(node):.80}"
    )


def _axis(node: ast.expr) -> int | None:
    """`0` or `-1`."""
    is_negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    number = node.operand if is_negative and isinstance(node, ast.UnaryOp) else node
    if not isinstance(number, ast.Constant) or type(number.value) is not int:
        return None
    return -number.value if is_negative else number.value


def _value(node: ast.expr, shapes: Shapes, attrs: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return attrs[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_value(left, shapes, attrs), _value(right, shapes, attrs))
        case ast.Call(func=ast.Name(id="size"), args=[ast.Name(id=name)]):
            return math.prod(shapes[name])
        case ast.Call(func=ast.Name(id="ndim"), args=[ast.Name(id=name)]):
            return len(shapes[name])
        case ast.Subscript(value=ast.Call(args=[ast.Name(id=name)]), slice=axis):
            return shapes[name][_axis(axis) or 0]
    raise ValueError(f"flops: {ast.unparse(node):.80} cannot be calculated")
