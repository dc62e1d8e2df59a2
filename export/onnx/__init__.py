"""ONNX models, both ways."""

from __future__ import annotations

from .exporter import save, to_model
from .importer import OnnxModel, load

__all__ = ["OnnxModel", "load", "save", "to_model"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
