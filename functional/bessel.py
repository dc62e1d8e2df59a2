"""Bessel functions that are composed: of power series near 0, of integrals and series elsewhere.

Sums over nodes of the trapezoidal rule, on which integrands that fall off doubly exponentially are
as exact as the dtype; float16 to float32 are computed in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..imperative import Tensor, TensorLike, isdtype, result_type, stop_gradient
from .arguments import named
from .arranging import as_tensor, expand_dims
from .generated import (
    abs,
    astype,
    bessel_j0,
    bessel_j1,
    cos,
    cosh,
    exp,
    i0,
    i1,
    isinf,
    log,
    maximum,
    sin,
    sinh,
    sqrt,
    square,
    sum,
    where,
)

__all__ = [
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]

_EULER = 0.5772156649015329
_NODES = np.arange(1, 28, dtype=np.float64)  # of the trapezoidal rule, without the one at 0
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(56)


def _wide(x: TensorLike) -> tuple[Any, Any]:
    """x in float64, and the dtype of the result."""
    x = as_tensor(x)
    dtype = x.dtype if isdtype(x.dtype, "real floating") else result_type(x, 1.0)
    return astype(x, dtype="float64"), dtype


def _polynomial(x: Any, coefficients: list[float]) -> Any:
    found = x * 0 + coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        found = found * x + coefficient
    return found


def _digammas(order: int, count: int, sign: int) -> list[float]:
    """(psi(k + 1) + psi(k + order + 1)) / (k! (k + order)!), with the powers of the sign."""
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, count + order + 1))])
    return [
        float(sign**k * (harmonic[k] + harmonic[k + order] - 2 * _EULER))
        / (math.factorial(k) * math.factorial(k + order))
        for k in range(count)
    ]


def _scaled_k(x: Any, order: int) -> Any:
    """exp(x) K(x)."""
    near = where((x > 0) & (x < 1), x, 0.5)
    half = square(near * 0.5)
    series = _polynomial(half, _digammas(order, 16, 1)) * 0.5
    if order == 0:
        small = series - log(near * 0.5) * i0(near)
    else:
        small = 1 / near + log(near * 0.5) * i1(near) - 0.5 * near * series
    far = where((x >= 1) & ~isinf(x), x, 1)
    step = stop_gradient(0.4 / sqrt(maximum(far, 4.0)))
    node = expand_dims(step, -1) * as_tensor(_NODES)
    # exp(-x (cosh(t) - 1)) cosh(order t), from 0 to where nothing is left.
    power = exp(-2 * expand_dims(far, -1) * square(sinh(0.5 * node)))
    terms = power * cosh(node) if order else power
    large = step * (0.5 + sum(terms, axis=-1))
    found = where(x < 1, small * exp(near), where(isinf(x), 0, large))
    return where(x > 0, found, where(x == 0, math.inf, math.nan))


def _k(x: Any, order: int) -> Any:
    return where(x > 0, exp(-where(x > 0, x, 0)), 1) * _scaled_k(x, order)


def _far_y(x: Any, order: int) -> Any:
    """Hankel's expansion, for x of 25 and more."""
    square_of_order = 4 * order * order
    terms = [1.0]
    for k in range(1, 24):
        terms.append(terms[-1] * (square_of_order - (2 * k - 1) ** 2) / (8 * k))
    z = -1 / square(x)
    p = _polynomial(z, terms[0::2])
    q = _polynomial(z, terms[1::2]) / x
    sine, cosine = sin(x), cos(x)
    # The sine and the cosine of x - pi / 4, or of x - 3 pi / 4, times the root of 2.
    odd, even = (-sine - cosine, sine - cosine) if order else (sine - cosine, sine + cosine)
    return (p * odd + q * even) / sqrt(math.pi * x)


def _middle_y(x: Any, order: int) -> Any:
    """Two integrals, by Gauss's rule, for x from 3 to 25."""
    x = expand_dims(x, -1)
    angle = as_tensor((_PLACES + 1) * (math.pi / 2))
    wave = sin(x * as_tensor(np.sin((_PLACES + 1) * (math.pi / 2))) - order * angle)
    turning = sum(wave * as_tensor(_WEIGHTS), axis=-1) * 0.5
    top = stop_gradient(log(45 / x + sqrt(square(45 / x) + 1)))
    t = top * as_tensor((_PLACES + 1) / 2)
    both = 2 * sinh(t) if order else 2
    falling = sum(both * exp(-x * sinh(t)) * (top * as_tensor(_WEIGHTS)), axis=-1)
    return turning - falling / (2 * math.pi)


def _y(x: Any, order: int) -> Any:
    near = where((x > 0) & (x < 3), x, 1)
    half = square(near * 0.5)
    j = bessel_j1(near) if order else bessel_j0(near)
    series = _polynomial(half, _digammas(order, 20, -1))
    if order:
        small = (2 * log(near * 0.5) * j - 2 / near - 0.5 * near * series) / math.pi
    else:
        small = (2 * log(near * 0.5) * j - series) / math.pi
    middle = _middle_y(where((x >= 3) & (x < 25), x, 3), order)
    far = _far_y(where((x >= 25) & ~isinf(x), x, 25), order)
    found = where(x < 3, small, where(x < 25, middle, where(isinf(x), 0, far)))
    return where(x > 0, found, where(x == 0, -math.inf, math.nan))


def _spherical(x: Any) -> Any:
    """From a series where sin(x) / x, or what differentiates it, would lose digits."""
    is_near = abs(x) < 0.5
    near = square(where(is_near, x, 0))
    series = _polynomial(near, [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(9)])
    far = where(is_near | isinf(x), 1, x)
    return where(is_near, series, where(isinf(x), 0, sin(far) / far))


@named
def bessel_y0(x: TensorLike) -> Tensor:
    """The Bessel function Y of order 0.

    Args:
        x: any shape, real floating-point; at 0 it is minus infinity, below NaN.

    Returns:
        One tensor of the shape and dtype of x, within 100 units of its swing, sqrt(2 / (pi x)).

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/10.2

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.special.bessel_y0(tl.tensor([1.0, 2.0])).tolist()]
        [0.0883, 0.5104]
    """
    wide, dtype = _wide(x)
    return astype(_y(wide, 0), dtype=dtype)


@named
def bessel_y1(x: TensorLike) -> Tensor:
    """The Bessel function Y of order 1.

    Args:
        x: any shape, real floating-point; at 0 it is minus infinity, below NaN.

    Returns:
        One tensor of the shape and dtype of x, within 100 units of its swing, sqrt(2 / (pi x)).

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/10.2

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.special.bessel_y1(tl.tensor([1.0, 2.0])).tolist()]
        [-0.7812, -0.107]
    """
    wide, dtype = _wide(x)
    return astype(_y(wide, 1), dtype=dtype)


@named
def modified_bessel_k0(x: TensorLike) -> Tensor:
    """The modified Bessel function K of order 0, of the second kind.

    Args:
        x: any shape, real floating-point; at 0 it is infinity, below NaN.

    Returns:
        One tensor of the shape and dtype of x, within 50 units in the last place of float64.

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/10.25

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.special.modified_bessel_k0(tl.tensor([1.0, 2.0])).tolist()]
        [0.421, 0.1139]
    """
    wide, dtype = _wide(x)
    return astype(_k(wide, 0), dtype=dtype)


@named
def modified_bessel_k1(x: TensorLike) -> Tensor:
    """The modified Bessel function K of order 1, of the second kind.

    Args:
        x: any shape, real floating-point; at 0 it is infinity, below NaN.

    Returns:
        One tensor of the shape and dtype of x, within 50 units in the last place of float64.

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/10.25

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.special.modified_bessel_k1(tl.tensor([1.0, 2.0])).tolist()]
        [0.6019, 0.1399]
    """
    wide, dtype = _wide(x)
    return astype(_k(wide, 1), dtype=dtype)


@named
def scaled_modified_bessel_k0(x: TensorLike) -> Tensor:
    """``exp(x) K(x)``, with the modified Bessel function K of order 0.

    Args:
        x: any shape, real floating-point; at 0 it is infinity, below NaN.

    Returns:
        One tensor of the shape and dtype of x, within 50 units in the last place of float64.

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/10.25

    Example:
        >>> import tensorlike as tl
        >>> y = tl.special.scaled_modified_bessel_k0(tl.tensor([1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [1.1445, 0.8416]
    """
    wide, dtype = _wide(x)
    return astype(_scaled_k(wide, 0), dtype=dtype)


@named
def scaled_modified_bessel_k1(x: TensorLike) -> Tensor:
    """``exp(x) K(x)``, with the modified Bessel function K of order 1.

    Args:
        x: any shape, real floating-point; at 0 it is infinity, below NaN.

    Returns:
        One tensor of the shape and dtype of x, within 50 units in the last place of float64.

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/10.25

    Example:
        >>> import tensorlike as tl
        >>> y = tl.special.scaled_modified_bessel_k1(tl.tensor([1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [1.6362, 1.0335]
    """
    wide, dtype = _wide(x)
    return astype(_scaled_k(wide, 1), dtype=dtype)


@named
def spherical_bessel_j0(x: TensorLike) -> Tensor:
    """``sin(x) / x``, the spherical Bessel function j of order 0.

    Args:
        x: any shape, real floating-point.

    Returns:
        One tensor of the shape and dtype of x, within 50 units in the last place of float64.

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/10.49

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.special.spherical_bessel_j0(tl.tensor([1.0, 2.0])).tolist()]
        [0.8415, 0.4546]
    """
    wide, dtype = _wide(x)
    return astype(_spherical(wide), dtype=dtype)
