"""ONNX models, both ways."""

from __future__ import annotations

from .importer import OnnxModel, load

__all__ = ["OnnxModel", "load"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
