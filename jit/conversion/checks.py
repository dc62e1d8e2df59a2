"""Assertions and raised errors, which happen when the program runs."""

from __future__ import annotations

import ast

from .templates import OPERATORS, Pass, statements


class Checks(Pass):
    """``assert`` and ``raise`` as calls.

    In the body of a `try` with handlers they stay what they are: see `operators`.
    """

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        self.generic_visit(node)
        message = node.msg or ast.copy_location(ast.Constant(value=None), node)
        return statements(
            f"{OPERATORS}.check(test, lambda: message)", node, test=node.test, message=message
        )

    def visit_Raise(self, node: ast.Raise) -> list[ast.stmt]:
        self.generic_visit(node)
        if node.exc is None:
            return [node]
        text = f"{OPERATORS}.fail(lambda: error)"
        call = statements(text, node, error=node.exc)
        return [*call, node]  # where it is at once, Python raises
