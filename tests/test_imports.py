"""Importing tensorlike costs little: no optional library is loaded, and its module is small."""

from __future__ import annotations

import pkgutil
import shutil
import subprocess
import sys
import zlib
from importlib import import_module
from pathlib import Path

import pytest

import tensorlike

NOT_LOADED = [
    "cupy", "hypothesis", "onnx", "opt_einsum", "scipy", "tensorlike.functional",
    "tensorlike.imperative.autodiff", "tensorlike.imperative.symbolic", "tensorlike.opdecl",
    "tensorlike.ops.declaring", "tensorlike.ops.generated.layout", "torch", "yaml",
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


@pytest.mark.parametrize("package", ["imperative", "ops", "ops.builtin", "ops.generated"])
def test_what_is_loaded_late_is_found(package: str) -> None:
    """A module of a late name would stand in its place once it is loaded."""
    module = import_module(f"tensorlike.{package}")
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) is not None for name in module.__all__)
    parts = {part.name for part in pkgutil.iter_modules(getattr(module, "__path__", []))}
    late = [name for name in module._LATE if not isinstance(getattr(module, name), type(sys))]
    assert late and not parts & set(late)
    with pytest.raises(AttributeError, match=f"'tensorlike.{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_an_op_that_the_core_makes_finds_its_class() -> None:
    """Its class is loaded then, whoever has asked for it."""
    program = (
        "import tensorlike as tl; listing = tl.Listing(); "
        "y = tl.functional.max_pool1d(listing.input('x', (1, 2, 8)), 2); "
        "(op,) = [step[0] for step in listing.steps()]; print(type(op).__module__)"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "tensorlike.ops.generated.pooling", result.stderr
