"""Capture: functions and layers of Python become programs, by running them or by reading them."""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
