"""The functional API: one call per declared function, over tensor-likes of any kind.

Declared calls, and those that the Array API names, are there at once; the modules of all others are
loaded together when the first of their names is asked for.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .algebra import *  # noqa: F403
from .arranging import *  # noqa: F403
from .attention import *  # noqa: F403
from .creation import *  # noqa: F403
from .ctc import *  # noqa: F403
from .generated import *  # noqa: F403
from .picking import *  # noqa: F403
from .rounding import *  # noqa: F403
from .sets import *  # noqa: F403
from .spacing import *  # noqa: F403

if _TYPE_CHECKING:
    from .activations import *  # noqa: F403
    from .added_products import *  # noqa: F403
    from .bags import *  # noqa: F403
    from .bessel import *  # noqa: F403
    from .classification import *  # noqa: F403
    from .comparing import *  # noqa: F403
    from .complex_numbers import *  # noqa: F403
    from .contractions import *  # noqa: F403
    from .control_flow import *  # noqa: F403
    from .covariances import *  # noqa: F403
    from .diagonals import *  # noqa: F403
    from .distances import *  # noqa: F403
    from .draws import *  # noqa: F403
    from .formulas import *  # noqa: F403
    from .fractional_pooling import *  # noqa: F403
    from .histograms import *  # noqa: F403
    from .indexed_pooling import *  # noqa: F403
    from .losses import *  # noqa: F403
    from .margin_losses import *  # noqa: F403
    from .multi_head import *  # noqa: F403
    from .nan_reductions import *  # noqa: F403
    from .normalizing import *  # noqa: F403
    from .order_statistics import *  # noqa: F403
    from .patches import *  # noqa: F403
    from .polynomials import *  # noqa: F403
    from .power_pooling import *  # noqa: F403
    from .quantization import *  # noqa: F403
    from .recurrent import *  # noqa: F403
    from .resizing import *  # noqa: F403
    from .running import *  # noqa: F403
    from .sampling import *  # noqa: F403
    from .scattering import *  # noqa: F403
    from .segments import *  # noqa: F403
    from .shaping import *  # noqa: F403
    from .signal_windows import *  # noqa: F403
    from .special_functions import *  # noqa: F403
    from .spectra import *  # noqa: F403
    from .stacking import *  # noqa: F403
    from .triplet_losses import *  # noqa: F403
    from .unpooling import *  # noqa: F403

# The modules whose names come late: the same as above.
_LATE = (
    "activations",
    "added_products",
    "bags",
    "bessel",
    "classification",
    "comparing",
    "complex_numbers",
    "contractions",
    "control_flow",
    "covariances",
    "diagonals",
    "distances",
    "draws",
    "formulas",
    "fractional_pooling",
    "histograms",
    "indexed_pooling",
    "losses",
    "margin_losses",
    "multi_head",
    "nan_reductions",
    "normalizing",
    "order_statistics",
    "patches",
    "polynomials",
    "power_pooling",
    "quantization",
    "recurrent",
    "resizing",
    "running",
    "sampling",
    "scattering",
    "segments",
    "shaping",
    "signal_windows",
    "special_functions",
    "spectra",
    "stacking",
    "triplet_losses",
    "unpooling",
)
# Those that stand here as modules.
_MODULES = ("fft", "linalg", "special")


def _load() -> None:
    """Puts the names of all modules here; beside functions only modules stand here then."""
    names = globals()
    for module in _LATE:
        loaded = _import_module(f".{module}", __name__)
        names.update({name: getattr(loaded, name) for name in loaded.__all__})
    names["__all__"] = sorted(
        name for name, value in [*names.items()] if callable(value) and name[0] != "_"
    )


def __getattr__(name: str) -> _Any:
    """What is loaded when it is asked for."""
    if name in _MODULES:
        return _import_module(f".{name}", __name__)
    if "__all__" not in globals() and (name == "__all__" or not name.startswith("_")):
        _load()
        if name in globals():
            return globals()[name]
    missing = _import_module("..imperative.missing_names", __name__).missing
    raise missing(__name__, name)


def __dir__() -> list[str]:
    """What is public."""
    if "__all__" not in globals():
        _load()
    return sorted({*globals()["__all__"], "fft", "linalg"})
