"""Special functions, under the names that SciPy and PyTorch have them by.

Each is a functional call of `tensorlike.functional`, some of another name there: `expit` is
`sigmoid`, `gammaln` is `lgamma`. A native one says in its description how far off it may be.
"""

from __future__ import annotations

from .bessel import airy_ai as airy_ai
from .bessel import bessel_y0 as bessel_y0
from .bessel import bessel_y1 as bessel_y1
from .bessel import modified_bessel_k0 as modified_bessel_k0
from .bessel import modified_bessel_k1 as modified_bessel_k1
from .bessel import scaled_modified_bessel_k0 as scaled_modified_bessel_k0
from .bessel import scaled_modified_bessel_k1 as scaled_modified_bessel_k1
from .bessel import spherical_bessel_j0 as spherical_bessel_j0
from .generated import bessel_j0 as bessel_j0
from .generated import bessel_j1 as bessel_j1
from .generated import digamma as digamma
from .generated import entr as entr
from .generated import erf as erf
from .generated import erfc as erfc
from .generated import erfcx as erfcx
from .generated import erfinv as erfinv
from .generated import exp2 as exp2
from .generated import expm1 as expm1
from .generated import i0 as i0
from .generated import i0e as i0e
from .generated import i1 as i1
from .generated import i1e as i1e
from .generated import igamma as gammainc
from .generated import igammac as gammaincc
from .generated import lgamma as gammaln
from .generated import log1p as log1p
from .generated import log_ndtr as log_ndtr
from .generated import log_softmax as log_softmax
from .generated import logit as logit
from .generated import logsumexp as logsumexp
from .generated import ndtr as ndtr
from .generated import ndtri as ndtri
from .generated import sigmoid as expit
from .generated import sinc as sinc
from .generated import softmax as softmax
from .generated import xlog1py as xlog1py
from .generated import xlogy as xlogy
from .generated import zeta as zeta
from .polynomials import chebyshev_polynomial_t as chebyshev_polynomial_t
from .polynomials import chebyshev_polynomial_u as chebyshev_polynomial_u
from .polynomials import chebyshev_polynomial_v as chebyshev_polynomial_v
from .polynomials import chebyshev_polynomial_w as chebyshev_polynomial_w
from .polynomials import hermite_polynomial_h as hermite_polynomial_h
from .polynomials import hermite_polynomial_he as hermite_polynomial_he
from .polynomials import laguerre_polynomial_l as laguerre_polynomial_l
from .polynomials import legendre_polynomial_p as legendre_polynomial_p
from .polynomials import shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t
from .polynomials import shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u
from .polynomials import shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v
from .polynomials import shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w
from .special_functions import polygamma as polygamma

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "ndtr",
    "ndtri",
    "polygamma",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
