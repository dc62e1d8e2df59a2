"""What an installation says of itself: acceptance row B3, and what C++ may call."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import pytest

import tensorlike as tl


def test_b3_build_info_says_with_what_for_what_and_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    info = tl.build_info()
    assert info["version"] == tl.__version__
    assert info["compiler"].split()[0] in ("GNU", "Clang", "AppleClang")
    assert set(info["isa_levels"]) <= {"v2", "v3", "v4"}
    assert info["isa"] in info["isa_levels"]
    assert info["devices"] == ("cpu",) and info["threads"] == tl.num_threads()
    assert "yaml" not in info["missing"]
    find = importlib.util.find_spec

    def without(name: str) -> Any:
        return None if name == "yaml" else find(name)

    monkeypatch.setattr("tensorlike.installation.find_spec", without)
    assert tl.build_info()["missing"]["yaml"] == "declare"


def test_what_cpp_calls_by_name_and_what_python_composes_is_listed() -> None:
    printed = subprocess.run(  # a process of its own: others have declared functions in this one
        [sys.executable, "-m", "tensorlike", "cpp-functions"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    declared, composed = printed.split("In Python alone (composed of them):\n")
    assert "  leaky_relu\n" in declared and "  mse_loss\n" not in declared
    assert "  mse_loss\n" in composed and "  linalg.matrix_rank\n" in composed
    assert not set(declared.split()) & set(composed.split()) - {"in", "C++"}
