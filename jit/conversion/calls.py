"""Calls: what is called is converted first, and is then called where the user calls it."""

from __future__ import annotations

import ast

from .templates import OPERATORS, Pass, expression

# They look at the frame that calls them, or are ours.
_DIRECT = {"breakpoint", "locals", "globals", "vars", "dir", "eval", "exec", "super"}


class Calls(Pass):
    """``f(x)`` becomes ``_jit.callee(f)(x)``: its frame, for debuggers, stays the user's."""

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self._first: list[str] = []

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        args = [*node.args.posonlyargs, *node.args.args]
        self._first.append(args[0].arg if args else "")
        made = super().function(node)
        self._first.pop()
        return made

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name):
            if function.id == "super" and not node.args and self._first:
                node.args = [
                    expression("__class__", node),
                    expression(self._first[-1], node),
                ]
            if function.id in _DIRECT:
                return node
        if isinstance(function, ast.Attribute):
            is_ours = isinstance(function.value, ast.Name) and function.value.id == OPERATORS
            if is_ours or function.attr == "set_trace":
                return node
        node.func = expression(f"{OPERATORS}.callee(f)", function, f=function)
        return node
