"""The built-in ops by name: those that the declarations generate, and those wrapped by hand."""

from __future__ import annotations

import sys
import warnings

from .base import OpBase
from .const import Const as Const
from .generated import *  # noqa: F403
from .generated import __all__ as _generated

__all__ = [*_generated, "Const"]


def register(name: str, cls: type[OpBase]) -> None:
    """Makes an op class that was wrapped by hand show up here under `name`.

    Warns:
        UserWarning: the name is taken; the op that has it stays.
    """
    module = sys.modules[__name__]
    if hasattr(module, name):
        warnings.warn(f"Multiple subclasses for builtin op {name}", stacklevel=3)
        return
    setattr(module, name, cls)
    __all__.append(name)
