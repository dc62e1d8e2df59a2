"""Pieces of syntax tree, written as the source that they stand for, at the user's line."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, cast

from .names import within

# What the generated code calls, and how all names that it binds begin.
OPERATORS = "_jit"


def statements(text: str, like: ast.AST, **parts: Any) -> list[ast.stmt]:
    """The statements of a text, at the line of a node.

    Args:
        text: the source.
        like: the node whose place in the user's file they take.
        parts: what stands for names in the text: an expression, or, for a name that is a statement
            by itself, statements.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        place(node, like)
    made = _Filled(parts).visit(tree)
    return cast("list[ast.stmt]", made.body)


def expression(text: str, like: ast.AST, **parts: Any) -> ast.expr:
    """The expression of a text, at the line of a node."""
    (made,) = statements(text, like, **parts)
    return cast("ast.Expr", made).value


def place(node: ast.AST, like: ast.AST) -> None:
    """Puts a node where another one is in the user's file."""
    if "lineno" not in node._attributes:
        return
    ast.copy_location(node, like)
    if like.end_lineno != like.lineno:  # type: ignore[attr-defined]
        # Python takes the last line of what is called for that of the call.
        node.end_lineno = node.lineno  # type: ignore[attr-defined]
        node.end_col_offset = node.col_offset  # type: ignore[attr-defined]


def constants(values: Sequence[str]) -> str:
    """The text of a tuple of strings."""
    return repr(tuple(values))


class Pass(ast.NodeTransformer):
    """A rewriting of one kind of syntax, in a function and in those inside of it.

    Classes, generators and coroutines in it stay as they are.
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node if is_generator(node) else self.function(node)

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rewrites a function."""
        return cast("ast.FunctionDef", self.generic_visit(node))


def is_generator(node: ast.FunctionDef) -> bool:
    """Whether a function's own body yields or awaits."""
    return any(isinstance(x, (ast.Yield, ast.YieldFrom, ast.Await)) for x in within(node.body))


def without_flag(body: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
    """The statements but those that set a flag, which nobody reads."""
    dropped = _Dropped(flag)
    found = [dropped.visit(node) for node in body]
    kept = [node for node in found if node is not None]
    return kept or [ast.copy_location(ast.Pass(), body[0])]


class _Dropped(ast.NodeTransformer):
    def __init__(self, flag: str) -> None:
        self.flag = flag

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        target = node.targets[0]
        return None if isinstance(target, ast.Name) and target.id == self.flag else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.copy_location(ast.Pass(), node)]  # type: ignore[attr-defined]
        return node


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name):
            part = self.parts.get(node.value.id)
            if isinstance(part, list):
                return part
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        return self.parts.get(node.id, node)
