"""The syntax tree of a function, found in its file, with the numbers of the file's lines."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple, TypeAlias

from .refusal import refusal

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Source(NamedTuple):
    """Where a function was written.

    Attributes:
        filename: its file.
        node: its tree, which nobody else holds.
        owner: the name of the class around it, by which private names are spelt; None: none.
    """

    filename: str
    node: Definition
    owner: str | None


_Found: TypeAlias = dict[int, list[tuple[Definition, str | None]]]
_files: dict[str, tuple[tuple[str, ...], _Found]] = {}  # by first lines, while a file stays so


def source_of(function: FunctionType) -> Source:
    """Finds the tree of a function.

    Raises:
        ConversionError: there is no source, or not of this function.
    """
    code = function.__code__
    lines = lines_of(function)
    if not lines:
        raise refusal(
            "the source must be there", code.co_filename, code.co_firstlineno,
            "define the function in a file", got=f"{function.__qualname__} without source",
        )  # fmt: skip
    found = [
        (node, owner)
        for node, owner in _by_line(code.co_filename, lines).get(code.co_firstlineno, ())
        if _name(node) == code.co_name
    ]
    fitting = [(node, owner) for node, owner in found if _is_of(node, code)]
    if len({ast.dump(node) for node, _ in fitting}) > 1:
        fitting = [(node, owner) for node, owner in fitting if _is_at(node, code)]
    if not fitting:
        raise refusal(
            "the source must be that of the function", code.co_filename, code.co_firstlineno,
            "import the file anew, or write one lambda a line", got=function.__qualname__,
        )  # fmt: skip
    node, owner = fitting[0]
    return Source(code.co_filename, _copied(node), owner)


def lines_of(function: FunctionType) -> list[str]:
    """The lines of the file that a function was written in; none where there is no such file."""
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    return linecache.getlines(filename, function.__globals__)


def _by_line(filename: str, lines: list[str]) -> _Found:
    key = tuple(lines)
    held = _files.get(filename)
    if held is None or held[0] != key:
        found: _Found = {}
        for node, owner in _definitions(ast.parse("".join(lines), filename), None):
            found.setdefault(_first_line(node), []).append((node, owner))
        held = _files[filename] = (key, found)
    return held[1]


def _copied(node: Definition) -> Definition:
    from copy import deepcopy  # of trees, which are small

    return deepcopy(node)


def _definitions(node: ast.AST, owner: str | None) -> Iterator[tuple[Definition, str | None]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child, owner
        inner = child.name if isinstance(child, ast.ClassDef) else owner
        yield from _definitions(child, inner)


def _first_line(node: Definition) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(one.lineno for one in decorators)])


def _name(node: Definition) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _is_of(node: Definition, code: CodeType) -> bool:
    """Whether the parameters are the same; the file may have changed since it was imported."""
    a = node.args
    names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    names += [x.arg for x in (a.vararg, a.kwarg) if x is not None]
    count = len(names)
    mine = code.co_varnames[:count]
    is_same = sum(bool(code.co_flags & flag) for flag in (4, 8)) == sum(
        x is not None for x in (a.vararg, a.kwarg)
    )
    own = code.co_argcount + code.co_kwonlyargcount
    is_same = is_same and own == len(a.posonlyargs) + len(a.args) + len(a.kwonlyargs)
    return is_same and [x.rpartition("__")[2] for x in mine] == [
        x.rpartition("__")[2] for x in names
    ]


def _is_at(node: Definition, code: CodeType) -> bool:
    """Whether it stands where the code came from: Python 3.11 keeps the columns."""
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return False
    last = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    return any(
        line == last.lineno and column == last.col_offset for line, _, column, _ in positions()
    )
