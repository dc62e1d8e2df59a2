"""Lines by room, and how long functions are."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

from .cpp_source import comment_lines, functions
from .sources import BESIDE, FLOORS, ROOMS, cpp_files, files, python_files, text_of
from .table import Table

MOST_OF_A_FUNCTION = 60
MOST_OF_A_FILE = 400


def _length(path: Path) -> int:
    return len(text_of(path).splitlines())


def _remarks(path: Path) -> int:
    """The lines of a file that are comments or docstrings alone."""
    text = text_of(path)
    if path.suffix in (".h", ".cpp"):
        return comment_lines(text)
    comments = sum(line.lstrip().startswith("#") for line in text.splitlines())
    if path.suffix not in (".py", ".pyi"):
        return comments
    return comments + sum(map(_lines, _docstrings(ast.parse(text))))


def _docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0]


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def lines() -> Table:
    """Of each room: files and lines that people wrote, lines that are generated and committed."""
    table = Table(
        "lines",
        ("files", "by hand", "comments %", f"files over {MOST_OF_A_FILE}", "generated"),
        note="comments: lines that are comments or docstrings alone; of what is written by hand",
    )
    total = [0, 0, 0, 0, 0]
    rooms = [*(f"csrc/{floor}" for floor in FLOORS), *ROOMS]
    for room in [*rooms, *BESIDE]:
        own = files(room)
        lengths = [_length(path) for path in own]
        row = [
            len(own), sum(lengths), sum(map(_remarks, own)),
            sum(length > MOST_OF_A_FILE for length in lengths),
            sum(map(_length, files(room, is_generated=True))),
        ]  # fmt: skip
        table.rows[room] = _with_share(row)
        if room in rooms:
            total = [a + b for a, b in zip(total, row, strict=True)]
    table.rows["all rooms"] = _with_share(total)
    return table


def _with_share(row: list[int]) -> tuple[int | float, ...]:
    count, length, remarks, long, generated = row
    return count, length, 100.0 * remarks / max(length, 1), long, generated


def python_lengths(source: str) -> Iterator[tuple[str, int, int]]:
    """Name, line and length, without its docstring, of each function of a Python file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            has_words = ast.get_docstring(node, clean=False) is not None
            yield node.name, node.lineno, _lines(node) - (_lines(node.body[0]) if has_words else 0)


def cpp_lengths(source: str) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of each function of a C++ file."""
    for function in functions(source):
        if function.lines:
            yield function.name.rpartition("::")[2], function.line, function.lines


def lengths() -> Table:
    """How long functions are."""
    over = f"over {MOST_OF_A_FUNCTION}"
    table = Table(
        "functions",
        ("functions", "median", "p90", "p99", "longest", over),
        note="lines from the head to the last brace; of Python without docstrings",
    )
    python = {room: files(room, (".py",)) for room in ROOMS}
    table.rows["C++"] = _distribution(cpp_lengths(text_of(path)) for path in cpp_files())
    table.rows["Python"] = _distribution(python_lengths(text_of(p)) for p in python_files())
    for room, paths in python.items():
        table.rows[f"  {room}"] = _distribution(python_lengths(text_of(path)) for path in paths)
    return table


def _distribution(found: Iterable[Iterable[tuple[str, int, int]]]) -> tuple[int | float, ...]:
    counts = sorted(length for lengths in found for _, _, length in lengths)
    if len(counts) < 2:
        return len(counts), *(counts or [0]) * 4, 0
    parts = statistics.quantiles(counts, n=100, method="inclusive")
    over = sum(count > MOST_OF_A_FUNCTION for count in counts)
    return (
        len(counts), round(statistics.median(counts)), round(parts[89]), round(parts[98]),
        counts[-1], over,
    )  # fmt: skip
