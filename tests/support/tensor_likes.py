"""The worked tensor-likes of the examples, imported as their programs are."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tensor_likes"
NAMES = ("fake_quantised", "flop_counter", "intervals", "nan_finder", "sharded", "units")


def worked(name: str) -> ModuleType:
    """A file of `examples/tensor_likes`, made once: its rules are registered for good."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)
