"""The body of an op of ONNX, run as calls of functional: at once on values, recorded on variables.

A body is a tree of calls (`opdecl/compiler/onnx_bodies.py`). Running it applies the functional call
of each name, so on variables of a program the calls are recorded, and nothing about an op has to be
said twice.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from .... import _C, functional, imperative
from ....functional import linalg
from ....opdecl.compiler.expression import (
    CHOICE,
    REFUSAL,
    RESULT,
    SIZE,
    Attr,
    Call,
    Expr,
    Name,
    Num,
)
from ....opdecl.compiler.onnx_bodies import NUMBER, RUN
from ....opdecl.compiler.simplify import COMPARE
from .attribute_functions import FUNCTIONS
from .element_types import converted

_PYTHON: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "minimum": min,
    "maximum": max,
    **COMPARE,
    "logical_not": lambda a: not a,
    "swapped": lambda rank: (*range(rank - 2), rank - 1, rank - 2),
}


def function_named(name: str) -> Callable[..., Any] | None:
    """The functional call of this name."""
    found = getattr(functional, name, None) or getattr(linalg, name, None)
    return found if callable(found) else None


@cache
def _takes_many(function: Callable[..., Any]) -> bool:
    """Whether its first parameter is a sequence of tensors, which bodies give one by one."""
    first = next(iter(inspect.signature(function).parameters.values()))
    return str(first.annotation).startswith("Sequence")


class Evaluation:
    """One run of a body: its values by node, so that what is written once is computed once."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        """With the inputs and attributes under their names."""
        self.values = values
        self._known: dict[Expr, Any] = {}

    def value(self, node: Expr) -> Any:
        """What a node of the tree gives."""
        if isinstance(node, Num):
            return node.value
        if isinstance(node, Name):
            return self.values[node.id]
        if node not in self._known:
            assert isinstance(node, Call), "a tree has numbers, names and calls"
            self._known[node] = self._call(node)
        return self._known[node]

    def _call(self, node: Call) -> Any:
        attrs = dict(node.attrs)
        if node.function == CHOICE:
            return self.value(node.args[0 if self.attribute(attrs["when"]) else 1])
        if node.function == RESULT:
            return self.value(node.args[0])[self.attribute(attrs["number"])]
        if node.function == NUMBER:
            return self.attribute(attrs["value"])
        if node.function == REFUSAL:
            text = str(self.attribute(attrs["text"]))
            raise _C.ArgumentError(text, op="onnx")
        args = [self.value(arg) for arg in node.args]
        if node.function == SIZE:
            return args[0].size
        if node.function == RUN:
            return args[0](*args[1:])[0]
        function = function_named(node.function)
        assert function is not None, f"{node.function} is a function: the entries' check says so"
        if node.function == "astype":
            return converted(args[0], self.attribute(attrs["dtype"]))
        while args and args[-1] is None:  # what may be left out, and is
            args.pop()
        given = [args] if _takes_many(function) else args
        return function(*given, **{name: self.attribute(attr) for name, attr in attrs.items()})

    def attribute(self, attr: Attr) -> Any:
        """The value of a keyword argument."""
        match attr.kind:
            case "literal":
                return attr.literal
            case "attr":
                return self.values[attr.name]
            case "list" | "arithmetic":
                return self._calculated(attr)
            case "tuple":
                return self._tuple(attr.parts)
            case "choice":
                when, first, second = attr.parts
                return self.attribute(first if self.attribute(when) else second)
        assert attr.of is not None, "what is left reads a node"
        value = self.value(attr.of)
        match attr.kind:
            case "given":
                return value is not None
            case "shape":
                return tuple(value.shape)
            case "dtype":
                return value.dtype
            case "kind":
                return (
                    "integer" if imperative.isdtype(value.dtype, "integral") else value.dtype.kind
                )
            case "rank":
                return len(value.shape)
            case "size":
                return value.size
            case "dim":
                return value.shape[self.attribute(attr.parts[0]) if attr.parts else attr.dim]
        raise AssertionError(f"{attr.kind} is no kind of attribute that bodies have")

    def _calculated(self, attr: Attr) -> Any:
        if attr.name in ("logical_and", "logical_or"):
            first, second = attr.parts
            found = self.attribute(first)
            is_decided = bool(found) == (attr.name == "logical_or")
            return found if is_decided else self.attribute(second)
        parts = [self.attribute(part) for part in attr.parts]
        if attr.name == "sliced":
            values, first, last = parts
            none = -(2**63)
            return tuple(values)[None if first == none else first : None if last == none else last]
        return (FUNCTIONS.get(attr.name) or _PYTHON[attr.name])(*parts)

    def _tuple(self, parts: Sequence[Attr]) -> tuple[Any, ...]:
        found: list[Any] = []
        for part in parts:
            value = self.attribute(part)
            found.extend(value if isinstance(value, (tuple, list)) else [value])
        return tuple(found)


def run_body(results: Sequence[Expr], values: Mapping[str, Any]) -> list[Any]:
    """What a body gives for these inputs and attributes."""
    evaluation = Evaluation(values)
    return [evaluation.value(result) for result in results]
