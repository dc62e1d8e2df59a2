"""Names of a program's results, which say where in what the function returns each stands.

``result`` is all of it, ``result(1)`` an item of a tuple, ``result[0]`` of a list,
``result['loss']`` and ``result{3}`` of a dict, ``result(.loss)`` a field of a dataclass. In files
what stands beside tensors is said with the first of them: ``result(0|{1: None})``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from .. import _C
from ..imperative.trees import PLACE, count_of

_WHOLE = "result"
_ENDS = {"(": ")", "[": "]", "{": "}"}


class Part(NamedTuple):
    """A step from a container to what is in it."""

    kind: str  # tuple, list, dict or fields
    key: Any
    plain: dict[Any, Any]  # what else is in the container and is no tensor


def names_of(treedef: Any, *, with_plain: bool = False) -> list[str]:
    """A name for each place of what was returned, in their order.

    Args:
        treedef: what was returned, with marks in the place of tensors.
        with_plain: whether names say what is no tensor, too.

    Raises:
        ArgumentError: that cannot be written down.
    """
    return _named(_WHOLE, treedef, with_plain)


def _named(name: str, treedef: Any, with_plain: bool) -> list[str]:
    if treedef is PLACE:
        return [name]
    items = _items(treedef)
    moving = [(said, ends, x) for said, ends, _, x in items if count_of(x)]
    plain = {key: x for _, _, key, x in items if not count_of(x)}
    found: list[str] = []
    for said, ends, x in moving:
        beside = f"|{_literal(plain, name)}" if with_plain and plain and not found else ""
        found += _named(f"{name}{ends}{said}{beside}{_ENDS[ends]}", x, with_plain)
    return found


def _items(treedef: Any) -> list[tuple[str, str, Any, Any]]:
    """What is in a container: how it is said, in what brackets, under what key, and it."""
    if isinstance(treedef, dict):
        return [(repr(k), "[" if type(k) is str else "{", k, x) for k, x in treedef.items()]
    if isinstance(treedef, (list, tuple)):
        ends = "[" if isinstance(treedef, list) else "("
        return [(str(i), ends, i, x) for i, x in enumerate(treedef)]
    if is_dataclass(treedef):
        names = [field.name for field in fields(treedef)]
        return [(f".{name}", "(", name, getattr(treedef, name, None)) for name in names]
    return []


def _literal(plain: dict[Any, Any], name: str) -> str:
    text = repr(plain)
    try:
        is_said = ast.literal_eval(text) == plain
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        is_said = False
    if not is_said:
        raise _C.ArgumentError(
            "what a function returns beside tensors must be None, numbers and text, where it is "
            "saved", op="save", got=f"{text} in {name}",
            fix="return tensors in tuples, lists and dicts alone",
        )  # fmt: skip
    return text


def path_of(name: str) -> tuple[Part, ...]:
    """Where a result stands, by its name in a file; under its own name, if that says nothing."""
    parts: list[Part] = []
    at = len(_WHOLE)
    try:
        while name.startswith(_WHOLE) and at < len(name):
            end, bar = _end(name, at)
            parts.append(_part(name[at], name[at + 1 : bar], name[bar + 1 : end]))
            at = end + 1
    except (ValueError, SyntaxError, KeyError):
        parts = []
    return tuple(parts) if parts or name == _WHOLE else (Part("dict", name, {}),)


def _part(opening: str, said: str, plain: str) -> Part:
    kind = {"(": "tuple", "[": "list", "{": "dict"}[opening]
    beside = ast.literal_eval(plain) if plain else {}
    if said.startswith("."):
        return Part("fields", said[1:], beside)
    key = ast.literal_eval(said)
    return Part("dict" if isinstance(key, str) else kind, key, beside)


def _end(text: str, begin: int) -> tuple[int, int]:
    """Where a bracket is closed, and where in it the bar stands, or its end."""
    depth, quote, bar, at = 0, "", -1, begin
    while at < len(text):
        c = text[at]
        if quote:
            at += c == "\\"
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in _ENDS:
            depth += 1
        elif c in _ENDS.values():
            depth -= 1
            if depth == 0:
                return at, bar if bar >= 0 else at
        elif c == "|" and depth == 1 and bar < 0:
            bar = at
        at += 1
    raise ValueError(text)


def arranged(rows: Sequence[tuple[tuple[Part, ...], Any]]) -> Any:
    """Results in the containers that their paths say."""
    if not rows:
        return ()
    if not rows[0][0]:
        return rows[0][1]
    first = rows[0][0][0]
    groups: dict[Any, list[Any]] = {}
    for path, value in rows:
        groups.setdefault(path[0].key, []).append((path[1:], value))
    made = {key: arranged(group) for key, group in groups.items()} | first.plain
    if first.kind == "dict":
        return made
    if first.kind == "fields":
        return SimpleNamespace(**made)
    items = [made[index] for index in sorted(made)]
    return tuple(items) if first.kind == "tuple" else items
