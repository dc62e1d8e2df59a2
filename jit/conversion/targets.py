"""Attributes and items that are assigned to or deleted: a branch may have to undo it."""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import cast

from .templates import OPERATORS, Pass, expression, statements


class Targets(Pass):
    """What is changed is told first: ``_jit.changing(obj, "x").x = value``."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not _is_simple(node.target):
            return cast("ast.stmt", self.generic_visit(node))
        loaded = deepcopy(node.target)
        loaded.ctx = ast.Load()
        how = type(node.op).__name__
        text = f"target = {OPERATORS}.augmented({how!r}, x, y)"
        (made,) = statements(text, node, x=loaded, y=node.value)
        made = cast("ast.Assign", made)
        made.targets = [node.target]
        return cast("ast.stmt", self.generic_visit(made))

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
