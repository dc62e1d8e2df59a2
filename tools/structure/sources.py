"""The files of the repository: by folder, and whether people wrote them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Of the C++ core; each may include itself and those after it.
FLOORS = (
    "run", "bind", "onnx", "cpu", "kernels", "program", "rules", "tape", "dispatch", "engine",
    "tensor", "op", "memory", "base", "native",
)  # fmt: skip
# A backend stands beside the floors that know none: what its own may include.
BACKEND_FLOORS = {
    "cpu": ("cpu", "kernels", "tensor", "op", "memory", "base"),
    "kernels": ("kernels", "base"),
    "onnx": ("onnx", "program", "tape", "dispatch", "tensor", "op", "memory", "base"),
    "run": ("run", "onnx", "program", "tape", "dispatch", "tensor", "op", "memory", "base"),
}
ROOMS = (
    "imperative", "inspection", "functional", "transforms", "nn", "optim", "static", "jit",
    "export", "ops", "opdecl", "testing", "src",
)  # fmt: skip
BESIDE = ("tests", "benchmarks", "examples", "docs", "tools")
CODE = (".py", ".pyi", ".h", ".cpp", ".yaml")
_NOT_OURS = {"third_party", "generated", "build", "__pycache__"}


@lru_cache
def files(folder: str, suffixes: tuple[str, ...] = CODE, is_generated: bool = False) -> list[Path]:
    """The files of a folder and those in it, by name: those that people wrote, or the others.

    A folder of links, as `src` is, has those files alone that are its own.
    """
    found = []
    for path in sorted((ROOT / folder).rglob("*")):
        parts = path.relative_to(ROOT).parts
        if path.suffix not in suffixes or path.resolve() != path or "__pycache__" in parts:
            continue
        if ("generated" in parts) == is_generated and not _NOT_OURS - {"generated"} & set(parts):
            found.append(path)
    return found


@lru_cache
def text_of(path: Path) -> str:
    """What a file says."""
    return path.read_text("utf-8", errors="replace")  # one of the tests is broken by intent


def cpp_files() -> list[Path]:
    """The core's own sources."""
    return [path for floor in FLOORS for path in files(f"csrc/{floor}", (".h", ".cpp"))]


def python_files() -> list[Path]:
    """The package's own modules."""
    return [path for room in ROOMS for path in files(room, (".py",))]
