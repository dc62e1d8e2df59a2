"""The stub of the C++ module says what the module offers: every name, and no other."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorlike import _C

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "src" / "tensorlike" / "_C.pyi"

# What a class has without anybody having said so, or what no caller writes.
NOT_IN_STUBS = {
    "__buffer__",  # of classes with buffers, from Python 3.12 on
    "__delattr__",
    "__dict__",
    "__doc__",
    "__getattribute__",
    "__module__",
    "__new__",
    "__release_buffer__",
    "__repr__",
    "__setattr__",
    "__vectorcalloffset__",
}


def stated_names(body: list[ast.stmt]) -> Iterator[str]:
    """Yields the names that a stub's statements define."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


STATEMENTS = ast.parse(STUB.read_text(encoding="utf-8")).body
CLASSES = {s.name: s for s in STATEMENTS if isinstance(s, ast.ClassDef)}


def test_the_stub_lists_what_the_module_has() -> None:
    offered = {name for name in vars(_C) if name == "__version__" or not name.startswith("_")}
    assert set(stated_names(STATEMENTS)) == offered


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_lists_what_a_class_has(name: str) -> None:
    cls: Any = getattr(_C, name)
    if issubclass(cls, Exception):
        bases = {base.id for base in CLASSES[name].bases if isinstance(base, ast.Name)}
        assert bases == {base.__name__ for base in cls.__bases__}
        return
    stated = set(stated_names(CLASSES[name].body)) - NOT_IN_STUBS
    assert stated == set(vars(cls)) - NOT_IN_STUBS


@pytest.mark.slow
def test_the_stub_has_the_signatures_of_the_module() -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "tensorlike._C", "--mypy-config-file"]
    done = subprocess.run(
        [*command, str(ROOT / "pyproject.toml")],
        cwd=ROOT / "src",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
