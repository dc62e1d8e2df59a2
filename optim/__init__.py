"""Optimisers."""

from __future__ import annotations

from .optimizer import SGD as SGD
from .optimizer import Adam as Adam
from .optimizer import Optimizer as Optimizer

__all__ = ["Adam", "Optimizer", "SGD"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
