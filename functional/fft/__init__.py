"""Fourier transforms: the Array API's `fft` extension, composed of one op.

What differs between the calls is the kind of the op, its scale, and to which sizes axes are cut or
padded before it. Real numbers are taken where the standard speaks of complex ones.

Ctrl-C comes between groups of lines; the transform of one long line runs to its end.
"""

from __future__ import annotations

from .frequencies import fftfreq as fftfreq
from .frequencies import fftshift as fftshift
from .frequencies import ifftshift as ifftshift
from .frequencies import rfftfreq as rfftfreq
from .one_axis import fft as fft
from .one_axis import hfft as hfft
from .one_axis import ifft as ifft
from .one_axis import ihfft as ihfft
from .one_axis import irfft as irfft
from .one_axis import rfft as rfft
from .several_axes import fftn as fftn
from .several_axes import hfftn as hfftn
from .several_axes import ifftn as ifftn
from .several_axes import ihfftn as ihfftn
from .several_axes import irfftn as irfftn
from .several_axes import rfftn as rfftn

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfftn",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfftn",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
