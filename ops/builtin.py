"""The built-in ops by name: those that the declarations generate, and those wrapped by hand."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from . import generated
from .base import OpBase
from .const import Const as Const
from .late import late

if TYPE_CHECKING:
    from .generated import *  # noqa: F403

__all__ = [*generated.__all__, "Const"]
_LATE = dict.fromkeys(generated.__all__, "..generated")
__getattr__ = late(__name__, _LATE)


def __dir__() -> list[str]:
    """What is here, loaded or not."""
    return sorted(__all__)


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
