"""What comes from and goes to other formats: ONNX models, and weights in the files of others."""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
