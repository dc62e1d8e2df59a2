"""The functional API: one call per declared function, over tensor-likes of any kind."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

from .activations import *  # noqa: F403
from .added_products import *  # noqa: F403
from .algebra import *  # noqa: F403
from .arranging import *  # noqa: F403
from .attention import *  # noqa: F403
from .bags import *  # noqa: F403
from .bessel import *  # noqa: F403
from .classification import *  # noqa: F403
from .comparing import *  # noqa: F403
from .complex_numbers import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .covariances import *  # noqa: F403
from .creation import *  # noqa: F403
from .ctc import *  # noqa: F403
from .diagonals import *  # noqa: F403
from .distances import *  # noqa: F403
from .draws import *  # noqa: F403
from .formulas import *  # noqa: F403
from .fractional_pooling import *  # noqa: F403
from .generated import *  # noqa: F403
from .histograms import *  # noqa: F403
from .indexed_pooling import *  # noqa: F403
from .losses import *  # noqa: F403
from .margin_losses import *  # noqa: F403
from .multi_head import *  # noqa: F403
from .nan_reductions import *  # noqa: F403
from .normalizing import *  # noqa: F403
from .order_statistics import *  # noqa: F403
from .patches import *  # noqa: F403
from .picking import *  # noqa: F403
from .polynomials import *  # noqa: F403
from .power_pooling import *  # noqa: F403
from .quantization import *  # noqa: F403
from .recurrent import *  # noqa: F403
from .resizing import *  # noqa: F403
from .rounding import *  # noqa: F403
from .running import *  # noqa: F403
from .sampling import *  # noqa: F403
from .scattering import *  # noqa: F403
from .segments import *  # noqa: F403
from .sets import *  # noqa: F403
from .shaping import *  # noqa: F403
from .signal_windows import *  # noqa: F403
from .special_functions import *  # noqa: F403
from .spectra import *  # noqa: F403
from .stacking import *  # noqa: F403
from .triplet_losses import *  # noqa: F403
from .unpooling import *  # noqa: F403

# What those offer: functions, beside which only modules stand here.
__all__ = sorted(name for name, value in [*globals().items()] if callable(value) and name[0] != "_")


def __getattr__(name: str) -> _Any:
    """The modules that are loaded when they are asked for: `fft`, `linalg` and `special`."""
    if name not in ("fft", "linalg", "special"):
        raise AttributeError(f"module 'tensorlike.functional' has no attribute '{name}'")
    return _import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    """What is public."""
    return sorted({*__all__, "fft", "linalg"})
