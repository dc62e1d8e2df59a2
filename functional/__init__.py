"""The functional API: one call per declared function, over tensor-likes of any kind."""

from __future__ import annotations

from .algebra import *  # noqa: F403
from .algebra import __all__ as _algebra
from .arranging import *  # noqa: F403
from .arranging import __all__ as _arranging
from .creation import *  # noqa: F403
from .creation import __all__ as _creation
from .generated import *  # noqa: F403
from .generated import __all__ as _generated
from .picking import *  # noqa: F403
from .picking import __all__ as _picking

__all__ = sorted({*_algebra, *_arranging, *_creation, *_generated, *_picking})
