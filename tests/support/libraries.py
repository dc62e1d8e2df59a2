"""Shared libraries of native ops, built from a text by the compiler at hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = Path(__file__).resolve().parent
HEADER = ROOT / "csrc" / "native" / "tensorlike_native.h"
# The words of a compiler, by the ending of the file.
COMPILERS = {".c": ("cc", "-std=c99"), ".cpp": ("c++", "-std=c++11")}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def built(source: str, path: Path) -> Path:
    """The library that a text in C or C++ makes, beside `path`, which says the language."""
    name, standard = COMPILERS[path.suffix]
    compiler = shutil.which(name)
    if compiler is None:
        pytest.skip(f"needs a compiler ({name})")
    path.write_text(source, encoding="utf-8")
    made = path.with_suffix(".so")
    command = [compiler, standard, *WARNINGS, "-O1", "-shared", "-fPIC", f"-I{HEADER.parent}"]
    done = subprocess.run(
        [*command, str(path), "-o", str(made), "-lm"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return made
