"""Branches and loops: their bodies become functions, which an operator calls or records."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .names import Liveness, bound, declared, parameters, set_by_generators, within
from .templates import OPERATORS, Pass, constants, statements


class ControlFlow(Pass):
    """``if``, ``while`` and ``for`` as calls of operators with functions of their bodies.

    What a body binds it declares nonlocal, so that variables stay the function's, and operators
    read and set them by the cells of its closure.
    """

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self._locals: list[str] = []
        self._outside: set[str] = set()  # declared global or nonlocal by the user
        self._of_module: set[str] = set()  # of those, the global ones
        self._from_inside: set[str] = set()  # set by functions inside that stay as they are
        self._count = 0

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        of_module, of_outer = declared(node.body)
        names = dict.fromkeys([*parameters(node.args), *bound(node.body)])
        mine = [name for name in names if name not in of_module | of_outer]
        inside = any(isinstance(x, (ast.If, ast.While, ast.For)) for x in within(node.body))
        before = self._locals, self._outside, self._of_module, self._from_inside
        self._locals, self._outside, self._of_module = mine, of_module | of_outer, of_module
        self._from_inside = set_by_generators(node.body)
        Liveness(node.body, of_outer)
        told = self._told(node)
        self.generic_visit(node)
        node.body = told + node.body
        if inside:
            missing = [x for x in mine if x not in {*parameters(node.args), *bound(node.body)}]
            if missing:  # a name must be bound in the function for those inside to declare it
                text = f"if False:\n    {' = '.join(missing)} = None"
                node.body = statements(text, node.body[0]) + node.body
        self._locals, self._outside, self._of_module, self._from_inside = before
        return node

    def _told(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """That the function sets names of others, which a branch that calls it may have to undo."""
        found = [name for name in bound(node.body) if name in self._outside]
        if not found:
            return []
        shared = [name for name in found if name not in self._of_module]
        of_module = [name for name in found if name in self._of_module]
        text = f"{OPERATORS}.sets(lambda: ({', '.join(shared)},), " if shared else ""
        text = text or f"{OPERATORS}.sets(lambda: (), "
        return statements(f"{text}{constants(shared)}, {constants(of_module)})", node.body[0])

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        return self._converted(node, [("true", node.body), ("false", node.orelse)])

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        test = statements("return test", node.test, test=node.test)
        return self._converted(node, [("test", test), ("body", node.body)])

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        (target,) = statements("target = _jit_item", node, target=node.target)
        target.targets = [node.target]  # type: ignore[attr-defined]
        return self._converted(node, [("body", [target, *node.body])])

    def _converted(
        self, node: ast.If | ast.While | ast.For, blocks: Sequence[tuple[str, list[ast.stmt]]]
    ) -> list[ast.stmt]:
        self._count += 1
        number = self._count
        kind = type(node).__name__.lower()
        names = dict.fromkeys(name for _, block in blocks for name in bound(block))
        names.update(dict.fromkeys(sorted(self._from_inside)))
        assigned = [name for name in names if name in self._locals]
        outside = [name for name in names if name in self._outside]
        live = [name for name in assigned if name in node.live]  # type: ignore[union-attr]
        dead = [name for name in assigned if name not in live]
        made: list[ast.stmt] = []
        functions: dict[str, str] = {}
        for what, block in blocks:
            if not block:
                functions[what] = "None"
                continue
            functions[what] = f"_jit_{kind}_{what}_{number}"
            made += self._function(functions[what], node, block)
        arguments = self._arguments(node, functions)
        text = f"{OPERATORS}.{kind}_({arguments}, live={constants(live)}"
        text += f", dead={constants(dead)}" if dead else ""
        text += f", outside={constants(outside)}" if outside else ""
        subject = getattr(node, "iter", None) or getattr(node, "test", None)
        return made + statements(text + ")", node, subject=subject)

    @staticmethod
    def _arguments(node: ast.stmt, functions: dict[str, str]) -> str:
        if isinstance(node, ast.If):
            return f"subject, {functions['true']}, {functions['false']}"
        if isinstance(node, ast.While):
            return f"{functions['test']}, {functions['body']}"
        stop = getattr(node, "stop", None)
        is_on = f", lambda: {OPERATORS}.not_({stop})" if stop else ""
        return f"subject, {functions['body']}{is_on}"

    def _function(self, name: str, node: ast.stmt, block: list[ast.stmt]) -> list[ast.stmt]:
        of_module = [x for x in bound(block) if x in self._of_module]
        heads = [f"    nonlocal {', '.join(self._locals)}"] if self._locals else []
        others = [x for x in bound(block) if x in self._outside and x not in of_module]
        heads += [f"    nonlocal {', '.join(others)}"] if others else []
        heads += [f"    global {', '.join(of_module)}"] if of_module else []
        parameter = "_jit_item" if isinstance(node, ast.For) else ""
        text = "\n".join([f"def {name}({parameter}):", *heads, "    block"])
        made = statements(text, node, block=[x for s in block for x in self._visited(s)])
        return made

    def _visited(self, statement: ast.stmt) -> list[ast.stmt]:
        found = self.visit(statement)
        return found if isinstance(found, list) else [found]
