"""Ops: the classes that declarations generate, and the ways to make more of them."""

from __future__ import annotations

from . import builtin as builtin
from .base import OpBase as OpBase
from .const import Const as Const
from .declare import Declared as Declared
from .declare import declare as declare
from .generated import *  # noqa: F403
from .generated import __all__ as _generated
from .opdef import OpDef as OpDef
from .serialize import deserialize as deserialize
from .serialize import serialize as serialize

__all__ = sorted(
    [
        *_generated,
        "Const",
        "Declared",
        "OpBase",
        "OpDef",
        "builtin",
        "declare",
        "deserialize",
        "serialize",
    ]
)


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
