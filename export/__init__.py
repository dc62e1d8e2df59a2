"""What comes from and goes to other formats: ONNX models, and weights in the files of others."""

from __future__ import annotations

from . import onnx
from .weights import Loaded, Weights, load_weights, read_weights, save_weights

__all__ = ["Loaded", "Weights", "load_weights", "onnx", "read_weights", "save_weights"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
