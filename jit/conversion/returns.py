"""Returns inside of branches and loops: what follows runs only where nothing was returned."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .names import within
from .refusal import refusal
from .templates import Pass, statements, without_flag

DONE = "_jit_done"
VALUE = "_jit_value"
_BRANCHES = (ast.If, ast.While, ast.For, ast.Match)


class Returns(Pass):
    """A function whose branches or loops return gets one return, at its end.

    In a loop a return becomes a break. Behind a branch that always returns the rest of a block goes
    to the other one; else a flag says whether it runs.
    """

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self._needs_flag = False

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if not _has_inner_return(node.body):
            return node
        last = node.body[-1]
        body = [*node.body, *statements("return None", last)]
        outer, self._needs_flag = self._needs_flag, False
        body, _, _ = self._block(body, in_loop=False)
        if self._needs_flag:
            body = statements(f"{DONE} = False", node.body[0]) + body
        else:
            body = without_flag(body, DONE)
        self._needs_flag = outer
        node.body = body + statements(f"return {VALUE}", last)
        return node

    def _block(
        self, body: Sequence[ast.stmt], *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool, bool]:
        """The statements, whether they may return, and whether they always do."""
        made: list[ast.stmt] = []
        for i, node in enumerate(body):
            rest = body[i + 1 :]
            if isinstance(node, ast.Return):
                made += self._returned(node, in_loop=in_loop)
                return made, True, True
            if not _returns([node]):
                made.append(node)
                if isinstance(node, (ast.Raise, ast.Break, ast.Continue)):
                    return made, False, isinstance(node, ast.Raise)
                continue
            if isinstance(node, (ast.For, ast.While)):
                node.body, _, _ = self._block(node.body, in_loop=True)
                orelse, _, _ = self._block(node.orelse, in_loop=in_loop)
                node.orelse = orelse
                made.append(node)
                return self._guarded(made, node, rest, in_loop=in_loop)
            if isinstance(node, ast.If):
                return self._branch(made, node, rest, in_loop=in_loop)
            self._inside(node, in_loop=in_loop)
            made.append(node)
            return self._guarded(made, node, rest, in_loop=in_loop)
        return made, False, False

    def _returned(self, node: ast.Return, *, in_loop: bool) -> list[ast.stmt]:
        value = node.value or ast.copy_location(ast.Constant(None), node)
        made = statements(f"{VALUE} = value\n{DONE} = True", node, value=value)
        if in_loop:
            self._needs_flag = True
            made.append(ast.copy_location(ast.Break(), node))
        return made

    def _branch(
        self, made: list[ast.stmt], node: ast.If, rest: Sequence[ast.stmt], *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool, bool]:
        first, first_may, first_always = self._block(node.body, in_loop=in_loop)
        second, second_may, second_always = self._block(node.orelse, in_loop=in_loop)
        node.body, node.orelse = first, second
        made.append(node)
        if first_always and second_always:
            return made, True, True
        if in_loop:  # a return has become a break, which guards what follows
            return self._guarded(made, node, rest, in_loop=True)
        if (first_always and not second_may) or (second_always and not first_may):
            following, _, always = self._block(rest, in_loop=False)
            if first_always:
                node.orelse = second + following
            else:
                node.body = first + following
            return made, True, always
        return self._guarded(made, node, rest, in_loop=False)

    def _guarded(
        self, made: list[ast.stmt], node: ast.stmt, rest: Sequence[ast.stmt], *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool, bool]:
        """What follows a statement that may have returned."""
        following, _, always = self._block(rest, in_loop=in_loop)
        if in_loop:
            if not isinstance(node, (ast.If, ast.With, ast.Try, ast.Match)):  # a loop that ended
                self._needs_flag = True
                leave = ast.copy_location(ast.Break(), node)
                made += statements(f"if {DONE}:\n    leave", node, leave=[leave])
            return made + following, True, always
        if following:
            self._needs_flag = True
            made += statements(f"if not {DONE}:\n    rest", node, rest=following)
        return made, True, always

    def _inside(self, node: ast.stmt, *, in_loop: bool) -> None:
        """The blocks of `with`, `try` and `match`."""
        if isinstance(node, ast.Match):
            for case in node.cases:
                case.body, _, _ = self._block(case.body, in_loop=in_loop)
            return
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, [])
            if name == "finalbody" and _returns(block):
                raise refusal(
                    "a return must not be in a finally block", self.filename, block[0].lineno,
                    "return after the try statement",
                )  # fmt: skip
            if block:
                made, _, _ = self._block(block, in_loop=in_loop)
                setattr(node, name, made)
        for handler in getattr(node, "handlers", []):
            handler.body, _, _ = self._block(handler.body, in_loop=in_loop)
        orelse = getattr(node, "orelse", [])
        if orelse and not in_loop and _returns_flag(node.body):  # type: ignore[attr-defined]
            self._needs_flag = True
            made = statements(f"if not {DONE}:\n    rest", orelse[0], rest=orelse)
            node.orelse = made  # type: ignore[attr-defined]


def _returns(body: Sequence[ast.AST]) -> bool:
    return any(isinstance(node, ast.Return) for node in within(body))


def _returns_flag(body: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == DONE and isinstance(node.ctx, ast.Store)
        for node in within(body)
    )


def _has_inner_return(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, _BRANCHES) and _returns([node]) for node in within(body))
