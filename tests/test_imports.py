"""Importing tensorlike costs little: no optional library is loaded, and its module is small."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import tensorlike

NOT_LOADED = [
    "cupy", "hypothesis", "onnx", "opt_einsum", "scipy", "tensorlike.opdecl.compiler.registry",
    "torch", "yaml",
]  # fmt: skip
MODULE_LIMIT = (
    8 * 2**20
)  # bytes, stripped and compressed as in a wheel; three ISA levels take 4 MiB


def test_import_loads_no_optional_library() -> None:
    folder = str(Path(tensorlike.__file__).parent.parent)
    program = f"import sys; sys.path.append({folder!r}); import tensorlike; print(*sys.modules)"
    # -I: neither this folder nor the user's site can add a module. It also hides PYTHONPATH, by
    # which a tree that is not installed is found.
    command = [sys.executable, "-I", "-W", "error", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert sorted(set(NOT_LOADED) & set(result.stdout.split())) == []


def test_compiled_module_stays_small(tmp_path: Path) -> None:
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("needs strip, of binutils")
    stripped = tmp_path / "stripped.so"
    subprocess.run([strip, "-o", stripped, tensorlike._C.__file__], check=True)
    assert len(zlib.compress(stripped.read_bytes())) < MODULE_LIMIT
