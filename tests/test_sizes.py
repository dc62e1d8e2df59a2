"""What is written by hand stays readable: files, functions, and what C++ files include.

It reads the source and imports nothing, as test_rooms.py does for imports between rooms.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 400  # of a file
MOST_OF_A_FUNCTION = 60  # without its docstring
# Each may include itself and those after it.
FLOORS = ("bind", "tape", "dispatch", "engine", "tensor", "op", "kernels", "memory", "base")
FOLDERS = (
    "benchmarks", "csrc", "docs", "examples", "functional", "imperative", "nn", "opdecl", "ops",
    "optim", "testing", "tests",
)  # fmt: skip
NOT_OURS = {"third_party", "generated", "build"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources(*suffixes: str) -> list[Path]:
    """The files with these endings that people wrote."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    return [
        path
        for path in found
        if path.suffix in suffixes and not NOT_OURS & set(path.relative_to(ROOT).parts)
    ]


def long_functions(source: str) -> list[str]:
    """`name (line): so many lines` of each function that is too long."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        lines = _lines(node)
        if ast.get_docstring(node, clean=False) is not None:
            lines -= _lines(node.body[0])
        if lines > MOST_OF_A_FUNCTION:
            wrong.append(f"{node.name} ({node.lineno}): {lines} lines")
    return wrong


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def wrong_includes(floor: str, source: str) -> list[str]:
    """The includes of a file on a floor that go up, or do not name a floor."""
    below = FLOORS[FLOORS.index(floor) :]
    wrong = []
    for name in INCLUDE.findall(source):
        first, _, rest = name.partition("/")
        is_generated = name.endswith(".inc") and not rest
        is_foreign = first == "third_party" and floor == "kernels"
        if first not in below and not is_generated and not is_foreign:
            wrong.append(name)
    return wrong


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    files = sources(".py", ".cpp", ".h")
    assert len(files) > 300
    counts = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in files}
    long = [f"{path}: {count} lines" for path, count in counts.items() if count > MOST_LINES]
    assert not long, "\n".join(long)


def test_no_function_is_longer_than_sixty_lines() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sources(".py")
        for text in long_functions(path.read_text("utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("floor", FLOORS)
def test_includes_go_down_the_floors_only(floor: str) -> None:
    files = [path for path in sources(".cpp", ".h") if path.parent == ROOT / "csrc" / floor]
    assert files, f"{floor} has no file"
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in wrong_includes(floor, path.read_text("utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_python_is_known_on_the_floor_bind_alone() -> None:
    named = re.compile(r"#\s*include\s*[<\"](Python\.h|structmember\.h|pybind11/)")
    others = [path for path in sources(".cpp", ".h") if path.parent.name != "bind"]
    wrong = [path.name for path in others if named.search(path.read_text("utf-8"))]
    assert not wrong


def test_every_floor_is_listed() -> None:
    folders = {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()}
    assert folders - NOT_OURS == set(FLOORS)


@pytest.mark.parametrize(
    ("floor", "name"),
    [
        ("op", "tensor/value.h"), ("base", "op/spec.h"), ("kernels", "bind/objects.h"),
        ("op", "third_party/pocketfft/pocketfft_hdronly.h"), ("op", "spec.h"),
        ("op", "../base/pool.h"),
    ],
)  # fmt: skip
def test_an_include_that_goes_up_or_names_no_floor_is_found(floor: str, name: str) -> None:
    assert wrong_includes(floor, f'#pragma once\n#include "{name}"\n') == [name]


def test_a_function_that_is_too_long_is_found() -> None:
    body = "    x = 1\n" * MOST_OF_A_FUNCTION
    assert long_functions(f"def f():\n{body}") == ["f (1): 61 lines"]
    assert long_functions(f'def f():\n    """Words.\n\n    More.\n    """\n{body[10:]}') == []
