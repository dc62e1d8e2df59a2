"""The functional API: one call per declared function, over tensor-likes of any kind."""

from __future__ import annotations

from .generated import *  # noqa: F403
from .generated import __all__ as _generated

__all__ = sorted(_generated)
