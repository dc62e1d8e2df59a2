"""What comes from and goes to other formats: ONNX models, and weights in the files of others."""

from __future__ import annotations

from . import onnx

__all__: list[str] = ["onnx"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
