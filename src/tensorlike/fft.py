"""Fourier transforms: the Array API's `fft` extension."""

from __future__ import annotations

from .functional.fft import *  # noqa: F403
from .functional.fft import __all__ as __all__


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
