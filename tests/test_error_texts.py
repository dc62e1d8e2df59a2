"""What is known of an error stands in its fields: no code looks into its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tensorlike as tl

ROOT = Path(__file__).resolve().parent.parent
ROOMS = (
    "imperative", "inspection", "functional", "transforms", "nn", "optim", "static", "jit",
    "export", "testing", "ops", "opdecl", "src/tensorlike",
)  # fmt: skip

# The text of an exception is handed on as a whole, or not read.
IN_CPP = re.compile(
    r"what\(\)\s*\)?\s*(\.|\[|==|!=|\+)"  # error.what().find, std::string(error.what()) ==
    r"|std::string(_view)?\s+\w+\s*(=\s*|\{|\()\w+(\.|->)what\(\)"
    r"|\bmust\.(find|rfind|starts_with|ends_with|substr|contains|compare|pop_back)\("
)


def is_text_of(node: ast.AST, names: set[str]) -> bool:
    """Whether it is the text of an exception of one of these names, or its arguments."""
    match node:
        case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Name(id=name)]):
            return name in names
        case ast.FormattedValue(value=ast.Name(id=name)):
            return name in names
        case ast.JoinedStr(values=parts):
            return any(is_text_of(part, names) for part in parts)
        case ast.Attribute(value=ast.Name(id=name), attr="args" | "message"):
            return name in names
    return False


def looks(node: ast.AST, names: set[str]) -> bool:
    """Whether it reads a part of such a text, compares it or searches in it."""
    match node:
        case ast.Compare(left=left, comparators=right):
            return any(is_text_of(part, names) for part in (left, *right))
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            return is_text_of(value, names)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=args):
            return any(is_text_of(arg, names) for arg in args)
    return False


def lookings(source: str) -> Iterator[int]:
    """The lines on which the text of a caught exception, or of an `error`, is looked into."""
    tree = ast.parse(source)
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    names = {name for name in caught if name} | {"error", "exception"}
    yield from (node.lineno for node in ast.walk(tree) if looks(node, names))  # type: ignore[attr-defined]


def test_no_python_looks_into_the_text_of_an_error() -> None:
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    assert len(files) > 100
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in lookings(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_no_cpp_looks_into_the_text_of_an_error() -> None:
    files = [
        path
        for path in sorted((ROOT / "csrc").rglob("*.[ch]*"))
        if "third_party" not in path.parts and path.name != "error.cpp"
    ]
    assert len(files) > 100
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if IN_CPP.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "if 'x' in str(error): pass",
        "str(error).startswith('x')",
        "error.args[0]",
        "f'{error}'.split(':')",
        "re.match('x', str(error))",
        "str(error) == 'x'",
    ],
)
def test_these_lookings_are_found(line: str) -> None:
    assert list(lookings(line))


@pytest.mark.parametrize(
    "line",
    [
        "const std::string what = error.what();",
        'if (std::string(error.what()) == "x") return;',
        "const std::string_view what = error.what();",
        "fields.must.find(' ')",
    ],
)
def test_these_lookings_are_found_in_cpp(line: str) -> None:
    assert IN_CPP.search(line)


def test_what_was_got_is_a_line_however_long_it_is() -> None:
    with pytest.raises(tl.ShapeError) as caught:
        tl.functional.split(tl.zeros(5), (1,) * 5000)
    assert "sizes must be non-negative and add up to 5; got sizes=(1, 1, 1" in str(caught.value)
    assert "..." in str(caught.value) and len(str(caught.value)) < 1000
