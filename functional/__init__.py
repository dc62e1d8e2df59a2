"""The functional API: one call per declared function, over tensor-likes of any kind."""

from __future__ import annotations

from .arranging import *  # noqa: F403
from .arranging import __all__ as _arranging
from .generated import *  # noqa: F403
from .generated import __all__ as _generated
from .picking import *  # noqa: F403
from .picking import __all__ as _picking

__all__ = sorted([*_arranging, *_generated, *_picking])
