"""Ops: the classes that declarations generate, and the ways to make more of them."""

from __future__ import annotations

import typing as _typing

from . import generated
from .base import OpBase as OpBase
from .const import Const as Const
from .late import late as _late

if _typing.TYPE_CHECKING:
    from . import builtin as builtin
    from .declaring import Declared as Declared
    from .declaring import declare as declare
    from .generated import *  # noqa: F403
    from .opdef import OpDef as OpDef
    from .serializing import deserialize as deserialize
    from .serializing import serialize as serialize

_LATE = {
    "builtin": "",
    "declare": ".declaring",
    "Declared": ".declaring",
    "OpDef": ".opdef",
    "deserialize": ".serializing",
    "serialize": ".serializing",
    **dict.fromkeys(generated.__all__, ".generated"),
}
__all__ = sorted(["Const", "OpBase", *_LATE])
__getattr__ = _late(__name__, _LATE)


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
