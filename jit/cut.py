"""Cutting a function at the blocks that are excluded from its trace: what is between them, as
functions of the variables that go in and come out.

The source is read. What lies before, between and behind the blocks at the top of the function
becomes a piece each, which is called with the variables that it reads and gives those that are read
later; the blocks stay where they are, in Python. A piece that cannot be said so stays in Python,
too: one that returns early, or sets names that may be unbound.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast

from .conversion.functions import as_definition, compiled, remade
from .conversion.names import Liveness, bound, captured, declared, parameters, within
from .conversion.refusal import ConversionError
from .conversion.source import Source, source_of
from .conversion.templates import OPERATORS, place, statements
from .python_guards import MISSING
from .recording import exclude_from_trace

# What makes a program of statements worth its call.
_WORK = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.AugAssign)
# What a function of its own cannot do for the one around.
_BOUND_TO_PLACE = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global, ast.Nonlocal,
    ast.Delete, ast.Import, ast.ImportFrom,
)  # fmt: skip
_OF_FRAMES = {"locals", "vars", "eval", "exec", "super", "dir", "__class__"}


def cut(
    function: FunctionType, make_piece: Callable[[FunctionType, bool], Any]
) -> FunctionType | None:
    """The function in pieces, with the blocks that are excluded between them.

    Args:
        function: what is cut.
        make_piece: what is called in the place of a piece, made of a function, and of whether it
            gives the result; else it gives a tuple of variables.

    Returns:
        A function that does the same; the function itself where nothing in it can be a piece;
        None: there is no source, or no such block.
    """
    try:
        source = source_of(function)
    except ConversionError:
        return None
    node = as_definition(source.node)
    if not any(_is_excluded(x, function) for x in within(node.body)):
        return None
    if isinstance(node, ast.AsyncFunctionDef) or any(declared(node.body)):
        return function
    cutter = _Cutter(function, source, node)
    body = cutter.run()
    if not cutter.pieces:
        return function
    node.body = body
    code = compiled(ast.fix_missing_locations(node), source, function, function.__code__.co_name)
    return remade(function, code, tuple([make_piece(*piece) for piece in cutter.pieces]))


def _is_excluded(statement: ast.AST, function: FunctionType) -> bool:
    """Whether it is a block of `exclude_from_trace`."""
    if not isinstance(statement, ast.With) or len(statement.items) != 1:
        return False
    call = statement.items[0].context_expr
    return isinstance(call, ast.Call) and _value(call.func, function) is exclude_from_trace


def _value(node: ast.expr, function: FunctionType) -> Any:
    """What a name, or a name with attributes, is outside of the function."""
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, function), node.attr, MISSING)
    if not isinstance(node, ast.Name):
        return MISSING
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if node.id in cells:
        try:
            return cells[node.id].cell_contents
        except ValueError:
            return MISSING
    return function.__globals__.get(node.id, MISSING)


def surely_bound(nodes: Sequence[ast.stmt]) -> set[str]:
    """The names that are bound wherever statements have come to their end."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_set = not isinstance(node, ast.AnnAssign) or node.value is not None
            found.update(bound(targets) if is_set else ())
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.If):
            found |= surely_bound(node.body) & surely_bound(node.orelse)
    return found


class _Cutter:
    """The statements of a function, from the first to the last."""

    def __init__(self, function: FunctionType, source: Source, node: ast.FunctionDef) -> None:
        self.pieces: list[tuple[FunctionType, bool]] = []
        self._function, self._source, self._node = function, source, node
        self._bound = set(parameters(node.args))  # surely, where we have come to
        self._met = set(self._bound)  # perhaps
        self._own = self._met | set(bound(node.body))
        self._captured = captured(node.body)

    def run(self) -> list[ast.stmt]:
        """The new body."""
        made: list[ast.stmt] = []
        rest = list(self._node.body)
        while rest:
            block = next(
                (i for i, x in enumerate(rest) if _is_excluded(x, self._function)), len(rest)
            )
            part, rest = rest[:block], rest[block:]
            made += self._cut_out(part, rest)
            self._pass(part)
            if rest:
                made.append(rest[0])
                # Nobody catches for the block, so that its end is that of what is in it.
                self._pass(cast("ast.With", rest[0]).body)
                rest = rest[1:]
        return made

    def _pass(self, part: Sequence[ast.stmt]) -> None:
        self._bound |= surely_bound(part)
        self._met |= set(bound(part))

    def _cut_out(self, part: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
        """A call in the place of statements, or they themselves."""
        taken = [n for n in sorted(_read_first(part)) if n in self._met]
        later = _read_first(rest)
        given = [name for name in bound(part) if name in later]
        sure = self._bound | surely_bound(part)
        # What may stay as it was goes in, to come out again.
        taken += [n for n in given if n not in surely_bound(part) and n not in taken]
        is_fit = (
            _is_work(part, is_last=not rest)
            and set(taken) <= self._bound
            and set(given) <= sure
            and not self._captured & set(bound(part))
        )
        if not is_fit:
            return part
        number = len(self.pieces)
        self.pieces.append((self._piece(part, taken, given if rest else None), not rest))
        call = f"{OPERATORS}[{number}]({', '.join(taken)})"
        if not rest:
            return statements(f"return {call}", part[0])
        return statements(f"{', '.join(given)}, = {call}" if given else call, part[-1])

    def _piece(
        self, part: list[ast.stmt], taken: Sequence[str], given: Sequence[str] | None
    ) -> FunctionType:
        node = cast(
            "ast.FunctionDef", ast.parse(f"def _jit_piece({', '.join(taken)}): pass").body[0]
        )
        for below in ast.walk(node):
            place(below, part[0])
        node.body = list(part)
        if given is not None:
            values = f"({', '.join(given)},)" if given else "()"
            node.body += statements(f"return {values}", part[-1])
        code = compiled(
            ast.fix_missing_locations(node), self._source, self._function,
            self._function.__code__.co_name,
        )  # fmt: skip
        made = remade(self._function, code, None)
        made.__defaults__ = made.__kwdefaults__ = None
        return made


def _read_first(part: Sequence[ast.stmt]) -> set[str]:
    """The names that statements may read before they bind them."""
    return Liveness(part, set()).before(part, set())


def _is_work(part: Sequence[ast.stmt], *, is_last: bool) -> bool:
    """Whether statements do something, and nothing that belongs to the function around alone."""
    inside = list(within(part))
    if not any(isinstance(node, _WORK) for node in inside):
        return False
    refused = _BOUND_TO_PLACE if is_last else (*_BOUND_TO_PLACE, ast.Return)
    if any(isinstance(node, refused) for node in inside):
        return False
    names = {x.id for y in part for x in ast.walk(y) if isinstance(x, ast.Name)}
    return not names & _OF_FRAMES
