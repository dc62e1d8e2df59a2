"""Break and continue: flags, and what follows runs only where none is set."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from .names import SCOPES
from .refusal import refusal
from .templates import Pass, expression, statements, without_flag


class Jumps(Pass):
    """Loops without break and continue. A `for` has the name of the flag that ends it in `stop`."""

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self._count = 0
        self._stop = ""
        self._skip = ""
        self._is_guarded = False

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self._loop(node)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        return self._loop(node)

    def _loop(self, node: ast.While | ast.For) -> list[ast.stmt]:
        self.generic_visit(node)
        kinds = {type(jump) for jump in _own_jumps(node.body)}
        if isinstance(node, ast.While) and any(
            isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)
        ):  # what the test binds must be bound in each step
            kinds.add(ast.Break)
            leave = statements(
                "if not test:\n    leave", node.test, test=node.test, leave=[_at(node)]
            )
            node.body = leave + node.body
            node.test = ast.copy_location(ast.Constant(value=True), node.test)
        orelse, node.orelse = node.orelse, []
        if not kinds:
            return [node, *orelse]
        self._count += 1
        stop, skip = (f"_jit_{kind}_{self._count}" for kind in ("break", "continue"))
        self._stop = stop if ast.Break in kinds else ""
        self._skip = skip if ast.Continue in kinds else ""
        self._is_guarded = False
        node.body, _, _ = self._block(node.body)
        made: list[ast.stmt] = []
        if self._skip:
            first = node.body[0]
            node.body = (
                statements(f"{skip} = False", first) + node.body
                if self._is_guarded
                else without_flag(node.body, skip)
            )
        if self._stop:
            made += statements(f"{stop} = False", node)
            if isinstance(node, ast.While):
                node.test = expression(f"not {stop} and test", node.test, test=node.test)
            else:
                node.stop = stop  # type: ignore[attr-defined]
        made.append(node)
        if orelse and self._stop:
            orelse = statements(f"if not {stop}:\n    rest", orelse[0], rest=orelse)
        return made + orelse

    def _block(self, body: Sequence[ast.stmt]) -> tuple[list[ast.stmt], bool, bool]:
        """The statements, whether they may jump, and whether they always do."""
        made: list[ast.stmt] = []
        for i, node in enumerate(body):
            if isinstance(node, (ast.Break, ast.Continue)):
                flags = [self._skip]
                if isinstance(node, ast.Break):
                    flags.append(self._stop)
                text = "\n".join(f"{flag} = True" for flag in flags if flag)
                made += statements(text, node)
                return made, True, True
            made.append(node)
            if isinstance(node, ast.Raise):
                return made, False, True
            if not any(True for _ in _own_jumps([node])):
                continue
            rest = body[i + 1 :]
            if isinstance(node, ast.If):
                return self._branch(made, node, rest)
            self._inside(node)
            return self._guarded(made, node, rest)
        return made, False, False

    def _branch(
        self, made: list[ast.stmt], node: ast.If, rest: Sequence[ast.stmt]
    ) -> tuple[list[ast.stmt], bool, bool]:
        first, first_may, first_always = self._block(node.body)
        second, second_may, second_always = self._block(node.orelse)
        node.body, node.orelse = first, second
        if first_always and second_always:
            return made, True, True
        if (first_always and not second_may) or (second_always and not first_may):
            following, _, always = self._block(rest)
            if first_always:
                node.orelse = second + following
            else:
                node.body = first + following
            return made, True, always
        return self._guarded(made, node, rest)

    def _guarded(
        self, made: list[ast.stmt], node: ast.stmt, rest: Sequence[ast.stmt]
    ) -> tuple[list[ast.stmt], bool, bool]:
        following, _, always = self._block(rest)
        if following:
            self._is_guarded = True
            flag = self._skip or self._stop
            made += statements(f"if not {flag}:\n    rest", node, rest=following)
        return made, True, always

    def _inside(self, node: ast.stmt) -> None:
        """The blocks of `with`, `try` and `match`."""
        if isinstance(node, ast.Match):
            for case in node.cases:
                case.body, _, _ = self._block(case.body)
            return
        final = getattr(node, "finalbody", [])
        for jump in _own_jumps(final):
            raise refusal(
                "a jump must not be in a finally block", self.filename, jump.lineno,
                "jump after the try statement",
            )  # fmt: skip
        may = False
        for name in ("body", "orelse"):
            block = getattr(node, name, [])
            if not block:
                continue
            lowered, may_now, _ = self._block(block)
            if name == "orelse" and may:
                self._is_guarded = True
                flag = self._skip or self._stop
                lowered = statements(f"if not {flag}:\n    rest", block[0], rest=lowered)
            may = may_now
            setattr(node, name, lowered)
        for handler in getattr(node, "handlers", []):
            handler.body, _, _ = self._block(handler.body)


def _at(node: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Break(), node)


def _own_jumps(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """The jumps of a loop's body that are its own."""
    for node in nodes:
        if isinstance(node, (ast.Break, ast.Continue)):
            yield node
        elif isinstance(node, (ast.While, ast.For, ast.AsyncFor)):
            yield from _own_jumps(node.orelse)
        elif not isinstance(node, SCOPES):
            yield from _own_jumps(ast.iter_child_nodes(node))
