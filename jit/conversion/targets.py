"""Attributes and items that are assigned to or deleted: a branch may have to undo it."""

from __future__ import annotations

import ast
from copy import deepcopy

from .templates import OPERATORS, Pass, expression, statements


class Targets(Pass):
    """What is changed is told first: ``_jit.changing(obj, "x").x = value``."""

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        told: list[ast.stmt] = []
        if _is_simple(node.target):
            loaded = deepcopy(node.target)
            loaded.ctx = ast.Load()
            told = statements(f"{OPERATORS}.in_place(x)", node, x=loaded)
        self.generic_visit(node)
        return [*told, node]

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            text = f"{OPERATORS}.changing(x, {node.attr!r})"
            node.value = expression(text, node.value, x=node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = expression(f"{OPERATORS}.changing(x)", node.value, x=node.value)
        return node


def _is_simple(node: ast.expr) -> bool:
    """Whether it may be evaluated once more."""
    if isinstance(node, ast.Subscript):
        return _is_simple(node.value) and isinstance(node.slice, (ast.Name, ast.Constant))
    if isinstance(node, ast.Attribute):
        return _is_simple(node.value)
    return isinstance(node, ast.Name)
