"""What no converted function may contain, said at once, with its line and what to write instead."""

from __future__ import annotations

import ast

from .names import bound, within
from .refusal import refusal
from .source import Source

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Yield: ("yield", "return a list of what it yields"),
    ast.YieldFrom: ("yield from", "return a list of what it yields"),
    ast.Await: ("await", "await the value before, and pass it as an argument"),
    ast.AsyncFor: ("async for", "gather the items before, and loop over a list"),
    ast.AsyncWith: ("async with", "enter it before the call"),
}


def refuse_syntax(source: Source) -> None:
    """Raises if a function can be no program by its form.

    Raises:
        ConversionError: it is a generator or a coroutine, or uses a name that belongs to us.
    """
    node = source.node
    if isinstance(node, ast.AsyncFunctionDef):
        raise refusal(
            "async def must not be converted", source.filename, node.lineno,
            "make it a def, and await before or after the call",
        )  # fmt: skip
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for inner in within(body):
        found = _REFUSED.get(type(inner))
        if found is not None:
            construct, fix = found
            raise refusal(
                f"{construct} must not be in a function that is converted", source.filename,
                inner.lineno, fix,  # type: ignore[attr-defined]
            )  # fmt: skip
        if isinstance(inner, (ast.BoolOp, ast.IfExp)):
            _refuse_late_binding(source, inner)
    for name in bound(body):
        if name.startswith("_jit"):
            raise refusal(
                "names that begin with _jit must be left to the conversion", source.filename,
                node.lineno, f"call {name} otherwise",
            )  # fmt: skip


def _refuse_late_binding(source: Source, node: ast.BoolOp | ast.IfExp) -> None:
    """What only some evaluations bind is evaluated by a function of its own."""
    late = node.values[1:] if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
    for inner in within(late):
        if isinstance(inner, ast.NamedExpr):
            raise refusal(
                f"{inner.target.id} := must not be where it is evaluated only sometimes",
                source.filename, inner.lineno, "assign in a statement before",
            )  # fmt: skip
