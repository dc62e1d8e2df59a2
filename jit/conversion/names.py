"""Which names statements bind and read, and which are still read after each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

# Where names of their own begin.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def within(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and all below them, but nothing inside of functions and classes in them."""
    for node in nodes:
        yield node
        if not isinstance(node, SCOPES):
            yield from within(ast.iter_child_nodes(node))


def bound(statements: Iterable[ast.AST], *, in_comprehension: bool = False) -> list[str]:
    """The names that statements bind in their own scope, in the order of the source."""
    found: dict[str, None] = {}
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = None
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if not in_comprehension:
                found[node.id] = None
        elif isinstance(node, ast.NamedExpr):
            found[node.target.id] = None
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).partition(".")[0]] = None
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            if node.name is not None:
                found[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            found[node.rest] = None
        inner = in_comprehension or isinstance(node, _COMPREHENSIONS)
        found.update(dict.fromkeys(bound(ast.iter_child_nodes(node), in_comprehension=inner)))
    return list(found)


def parameters(args: ast.arguments) -> list[str]:
    """The names of a function's parameters."""
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    found += [x for x in (args.vararg, args.kwarg) if x is not None]
    return [x.arg for x in found]


def declared(statements: Iterable[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that a function declares to be global, and nonlocal."""
    of_module: set[str] = set()
    of_outer: set[str] = set()
    for node in within(statements):
        if isinstance(node, ast.Global):
            of_module.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            of_outer.update(node.names)
    return of_module, of_outer


def read(node: ast.AST | None) -> set[str]:
    """All names that are read anywhere below a node, in functions in it too."""
    if node is None:
        return set()
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}


def captured(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that functions inside of the statements read, whenever they may be called."""
    found: set[str] = set()
    for node in within(statements):
        if isinstance(node, SCOPES):
            found |= read(node)
            for inner in ast.walk(node):
                if isinstance(inner, ast.Nonlocal):
                    found.update(inner.names)
    return found


def set_by_generators(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that generators inside declare nonlocal, whenever they may be called."""
    found: set[str] = set()
    for node in within(statements):
        if isinstance(node, SCOPES):
            yields = any(
                isinstance(x, (ast.Yield, ast.YieldFrom, ast.Await)) for x in ast.walk(node)
            )
            for inner in ast.walk(node) if yields else ():
                if isinstance(inner, ast.Nonlocal):
                    found.update(inner.names)
    return found


class Liveness:
    """For each branch and loop of a function the names that are read after it, from its end back.

    They are left in the attribute `live` of the nodes. For a loop they are those that the next step
    reads, too.
    """

    def __init__(self, statements: Sequence[ast.stmt], always: set[str]) -> None:
        """Of names in `always` others know; they may be read at any time."""
        self._always = always | captured(statements)
        self.before(statements, set(self._always))

    def before(self, statements: Sequence[ast.stmt], after: set[str]) -> set[str]:
        """The names that are read from here on, before they are bound."""
        for statement in reversed(statements):
            after = self._statement(statement, after) | self._always
        return after

    def _statement(self, node: ast.stmt, after: set[str]) -> set[str]:
        if isinstance(node, ast.If):
            node.live = after  # type: ignore[attr-defined]
            return read(node.test) | self.before(node.body, after) | self.before(node.orelse, after)
        if isinstance(node, ast.While):
            return self._loop(node, node.body, after, read(node.test), [])
        if isinstance(node, ast.For):
            stop = {name for name in (getattr(node, "stop", None),) if name}
            return self._loop(node, node.body, after, stop, bound([node.target])) | read(node.iter)
        if isinstance(node, (ast.Return, ast.Raise)):
            return read(node)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            inner = self.before(node.body, after)
            return inner.union(*(read(item) for item in node.items))
        if isinstance(node, ast.Match):
            found = after | read(node.subject)
            for case in node.cases:
                found |= self.before(case.body, after) | read(case.pattern) | read(case.guard)
            return found
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._attempt(node, after)  # type: ignore[arg-type]
        if isinstance(node, ast.Assign):
            killed = {x.id for x in node.targets if isinstance(x, ast.Name)}
            return (after - killed) | read(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return after | read(node.value) | {node.target.id}
        return after | read(node)

    def _loop(
        self,
        node: ast.For | ast.While,
        body: Sequence[ast.stmt],
        after: set[str],
        tested: set[str],
        targets: Sequence[str],
    ) -> set[str]:
        live = after | tested
        while True:
            found = live | (self.before(body, live) - set(targets))
            if found == live:
                break
            live = found
        node.live = live  # type: ignore[union-attr]
        return live

    def _attempt(self, node: ast.Try, after: set[str]) -> set[str]:
        # Any statement of the body may be the last one.
        rest = [*node.handlers, *node.orelse, *node.finalbody]
        after = after.union(*(read(x) for x in rest)) if rest else after
        found = self.before(node.body, after) | after
        for handler in node.handlers:
            found |= self.before(handler.body, after)
        found |= self.before(node.orelse, after) | self.before(node.finalbody, after)
        return found
