"""Expressions that evaluate parts of themselves only sometimes: and, or, not, chains, if else."""

from __future__ import annotations

import ast
from typing import Any

from .templates import OPERATORS, Pass, expression

_SYMBOLS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


class Conditions(Pass):
    """Each such expression as a call that gets functions of what it may evaluate."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return self._joined(node, is_test=False)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.Not):
            self.generic_visit(node)
            return node
        return expression(f"{OPERATORS}.not_(x)", node, x=self.test(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        parts: dict[str, Any] = {f"x{i}": x for i, x in enumerate(node.comparators)}
        pairs = [f"{_SYMBOLS[type(op)]!r}, lambda: x{i}" for i, op in enumerate(node.ops)]
        return expression(f"{OPERATORS}.chain(x, {', '.join(pairs)})", node, x=node.left, **parts)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.test(node.test)
        first, second = self.visit(node.body), self.visit(node.orelse)
        return expression(
            f"{OPERATORS}.choose(test, lambda: first, lambda: second)", node,
            test=test, first=first, second=second,
        )  # fmt: skip

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self.test(node.test)
        node.body = self._all(node.body)
        node.orelse = self._all(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self.test(node.test)
        node.body = self._all(node.body)
        return node

    def _all(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(statement) for statement in body]

    def test(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth is asked for."""
        if isinstance(node, ast.BoolOp):
            return self._joined(node, is_test=True)
        made: ast.expr = self.visit(node)
        return made

    def _joined(self, node: ast.BoolOp, *, is_test: bool) -> ast.expr:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        if is_test:
            name = "both" if isinstance(node.op, ast.And) else "either"
        values = [self.test(x) if is_test else self.visit(x) for x in node.values]
        parts = {f"x{i}": x for i, x in enumerate(values)}
        rest = ", ".join(f"lambda: x{i}" for i in range(1, len(values)))
        return expression(f"{OPERATORS}.{name}(x0, {rest})", node, **parts)
