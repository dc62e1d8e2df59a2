"""Imports between rooms run one way; this test reads every import and holds that.

It reads the source and imports nothing, so imports inside functions and under TYPE_CHECKING count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What each room may import besides itself: the rooms below it, and the C++ module.
MAY_IMPORT: dict[str, set[str]] = {
    "opdecl": set(),
    "inspection": {"_C"},
    "ops": {"opdecl", "_C"},
    "imperative": {"opdecl", "ops", "inspection", "_C"},
    "functional": {"opdecl", "ops", "imperative"},
    "transforms": {"opdecl", "ops", "imperative", "functional", "_C"},
    "nn": {"opdecl", "ops", "imperative", "functional", "transforms"},
    "optim": {"opdecl", "ops", "imperative", "functional", "transforms"},
    "static": {
        "opdecl", "ops", "inspection", "imperative", "functional", "transforms", "nn", "optim",
        "_C",
    },
    "jit": {
        "opdecl", "ops", "inspection", "imperative", "functional", "transforms", "nn", "optim",
        "static", "_C",
    },
    "export": {
        "opdecl", "ops", "inspection", "imperative", "functional", "transforms", "nn", "optim",
        "static", "jit", "_C",
    },
    "testing": {
        "opdecl", "ops", "inspection", "imperative", "functional", "transforms", "nn", "optim",
        "_C",
    },
}  # fmt: skip


def imported_names(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields (line, dotted name below tensorlike) of each import of one of our own modules."""
    package = ["tensorlike", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            full_names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            keep = len(package) - node.level + 1
            base = package[:keep] if node.level else []
            base += node.module.split(".") if node.module else []
            full_names = [".".join([*base, alias.name]) for alias in node.names]
        else:
            continue
        for name in full_names:
            first, _, rest = name.partition(".")
            if first == "tensorlike":
                yield node.lineno, rest
            elif first in MAY_IMPORT:
                yield node.lineno, f"{first} (a top-level import; write it relative)"


def wrong_imports(path: Path, source: str) -> list[str]:
    """Returns a message for each import in `source`, the file at `path`, that its room forbids."""
    room = path.relative_to(ROOT).parts[0]
    wrong = []
    for line, name in imported_names(path, ast.parse(source)):
        target = name.partition(".")[0]
        if target != room and target not in MAY_IMPORT[room]:
            allowed = ", ".join(sorted(MAY_IMPORT[room])) or "no other room"
            place = f"{path.relative_to(ROOT)}:{line}"
            wrong.append(f"{place}: {room} may import {allowed}; it imports {name or 'tensorlike'}")
    return wrong


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files, f"{room} has no Python file"
    wrong = [message for path in files for message in wrong_imports(path, path.read_text("utf-8"))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("ops/base.py", "from ..imperative import apply"),
        ("ops/base.py", "from .. import imperative"),
        ("ops/generated/elementwise.py", "from ...functional import exp"),
        ("ops/base.py", "if TYPE_CHECKING:\n    from ..imperative.tensor import Tensor"),
        ("imperative/tensor.py", "def f():\n    import tensorlike.functional"),
        ("imperative/tensor.py", "import tensorlike"),
        ("imperative/tensor.py", "from tensorlike import tensor"),
        ("imperative/tensor.py", "from ops import OpBase"),
        ("functional/math.py", "from .. import _C"),
        ("functional/math.py", "from ..transforms import vmap"),
        ("transforms/vectorize.py", "from ..testing.corpus import examples"),
        ("inspection/graph.py", "from ..imperative import Tensor"),
        ("functional/math.py", "from .._C import RawTensor"),
        ("nn/layer.py", "from ..optim import SGD"),
        ("opdecl/compiler/model.py", "from ... import ops"),
    ],
)
def test_a_wrong_import_is_found(file: str, source: str) -> None:
    assert len(wrong_imports(ROOT / file, source)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("ops/generated/elementwise.py", "from ..base import OpBase"),
        ("ops/base.py", "from .. import _C, opdecl"),
        ("imperative/__init__.py", "from .tensor import Tensor\nfrom ..ops import OpBase"),
        ("nn/layer.py", "import numpy\nfrom .. import functional\nfrom ..imperative import Tensor"),
        ("opdecl/emit/python.py", "from ..model import Entry"),
    ],
)
def test_a_right_import_passes(file: str, source: str) -> None:
    assert wrong_imports(ROOT / file, source) == []
