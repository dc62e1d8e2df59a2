"""The functional API: one call per declared function, over tensor-likes of any kind."""

from __future__ import annotations

from .activations import *  # noqa: F403
from .activations import __all__ as _activations
from .algebra import *  # noqa: F403
from .algebra import __all__ as _algebra
from .arranging import *  # noqa: F403
from .arranging import __all__ as _arranging
from .bags import *  # noqa: F403
from .bags import __all__ as _bags
from .classification import *  # noqa: F403
from .classification import __all__ as _classification
from .creation import *  # noqa: F403
from .creation import __all__ as _creation
from .ctc import *  # noqa: F403
from .ctc import __all__ as _ctc
from .distances import *  # noqa: F403
from .distances import __all__ as _distances
from .formulas import *  # noqa: F403
from .formulas import __all__ as _formulas
from .generated import *  # noqa: F403
from .generated import __all__ as _generated
from .losses import *  # noqa: F403
from .losses import __all__ as _losses
from .margin_losses import *  # noqa: F403
from .margin_losses import __all__ as _margin_losses
from .normalizing import *  # noqa: F403
from .normalizing import __all__ as _normalizing
from .patches import *  # noqa: F403
from .patches import __all__ as _patches
from .picking import *  # noqa: F403
from .picking import __all__ as _picking
from .recurrent import *  # noqa: F403
from .recurrent import __all__ as _recurrent
from .resizing import *  # noqa: F403
from .resizing import __all__ as _resizing
from .sampling import *  # noqa: F403
from .sampling import __all__ as _sampling
from .segments import *  # noqa: F403
from .segments import __all__ as _segments
from .sets import *  # noqa: F403
from .sets import __all__ as _sets

__all__ = sorted(
    {
        *_generated,
        *_activations,
        *_algebra,
        *_arranging,
        *_bags,
        *_classification,
        *_creation,
        *_ctc,
        *_distances,
        *_formulas,
        *_losses,
        *_margin_losses,
        *_normalizing,
        *_patches,
        *_picking,
        *_recurrent,
        *_resizing,
        *_sampling,
        *_segments,
        *_sets,
    }
)
