"""Bessel and Airy functions, composed of power series near 0, of integrals and series elsewhere.

Sums over nodes of the trapezoidal rule, on which integrands that fall off doubly exponentially are
as exact as the dtype; float16 to float32 are computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np

from ..imperative import Tensor, TensorLike, isdtype, stop_gradient
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
    isnan,
    log,
    maximum,
    sin,
    sinh,
    sqrt,
    square,
    sum,
    where,
)
from .promotion import result_type

__all__ = [
    "airy_ai",
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
_AIRY_NODES = np.arange(1, 68, dtype=np.float64)


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


def _airy_series(first: float, offset: int) -> list[float]:
    """By powers of the cube: each term is the last one over (3 k + offset)(3 k + offset - 1)."""
    terms = [first]
    for k in range(1, 12):
        terms.append(terms[-1] / ((3 * k + offset) * (3 * k + offset - 1)))
    return terms


_AIRY_EVEN = _airy_series(3 ** (-2 / 3) / math.gamma(2 / 3), 0)
_AIRY_ODD = _airy_series(3 ** (-1 / 3) / math.gamma(1 / 3), 1)


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


@cache  # and no constant: importing NumPy's polynomials takes some milliseconds
def _gauss() -> tuple[Any, Any]:
    """Places in (0, 2) and weights of Gauss's rule."""
    places, weights = np.polynomial.legendre.leggauss(56)
    return places + 1, weights


def _middle_y(x: Any, order: int) -> Any:
    """Two integrals, by Gauss's rule, for x from 3 to 25."""
    x = expand_dims(x, -1)
    places, weights = _gauss()
    angle = as_tensor(places * (math.pi / 2))
    wave = sin(x * as_tensor(np.sin(places * (math.pi / 2))) - order * angle)
    turning = sum(wave * as_tensor(weights), axis=-1) * 0.5
    top = stop_gradient(log(45 / x + sqrt(square(45 / x) + 1)))
    t = top * as_tensor(places / 2)
    both = 2 * sinh(t) if order else 2
    falling = sum(both * exp(-x * sinh(t)) * (top * as_tensor(weights)), axis=-1)
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


def _airy(x: Any) -> Any:
    """From the power series near 0; elsewhere from the integral along the path of steepest descent,
    whose two branches left of 0 are each other's conjugates."""
    near = where(abs(x) < 1, x, 0)
    cube = near * square(near)
    small = _polynomial(cube, _AIRY_EVEN) - near * _polynomial(cube, _AIRY_ODD)
    far = where((abs(x) >= 1) & ~isinf(x), abs(x), 1)
    root = sqrt(far)
    angle = far * root * (2 / 3)
    step = stop_gradient(0.1 / sqrt(root))
    node = expand_dims(step, -1) * as_tensor(_AIRY_NODES)
    bend = expand_dims(root, -1) * square(node)
    wave = cos(node * square(node) * (1 / 3))
    right = exp(-angle) * step * (0.5 + sum(exp(-bend) * wave, axis=-1))
    falling = exp(-math.sqrt(0.75) * bend) * wave
    even = 0.5 + sum(falling * cos(0.5 * bend), axis=-1)
    odd = sum(falling * sin(0.5 * bend), axis=-1)
    phase = math.pi / 3 - angle
    left = 2 * step * (cos(phase) * even + sin(phase) * odd)
    found = where(x > 0, right, left) / math.pi
    return where(abs(x) < 1, small, where(isinf(x), 0, where(isnan(x), x, found)))


class Function(Protocol):
    """A call of x."""

    def __call__(self, x: TensorLike) -> Tensor: ...


_DOC = """{title}

    Args:
        x: any shape, real floating-point{domain}.

    Returns:
        One tensor of the shape and dtype of x, within {accuracy}.

    Raises:
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/{source}

    Example:
        >>> import tensorlike as tl
        >>> y = tl.special.{name}(tl.tensor([1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        {example}
    """
_OF_SWING = "100 units of its swing, sqrt(2 / (pi x))"
_OF_VALUE = "50 units in the last place of float64"


def _declared(name: str, formula: Callable[[Any], Any], **words: str) -> Function:
    """The call of a name, by a formula in float64."""

    def function(x: TensorLike) -> Tensor:
        wide, dtype = _wide(x)
        return astype(formula(wide), dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(name=name, **words)
    return named(function)


def _second_kind(order: int, example: str) -> Function:
    return _declared(
        f"bessel_y{order}",
        lambda x: _y(x, order),
        title=f"The Bessel function Y of order {order}.",
        domain="; at 0 it is minus infinity, below NaN",
        accuracy=_OF_SWING,
        source="10.2",
        example=example,
    )


def _modified(order: int, example: str, is_scaled: bool = False) -> Function:
    kind = f"modified Bessel function K of order {order}"
    return _declared(
        f"{'scaled_' if is_scaled else ''}modified_bessel_k{order}",
        lambda x: (_scaled_k if is_scaled else _k)(x, order),
        title=f"``exp(x) K(x)``, with the {kind}."
        if is_scaled
        else f"The {kind}, of the second kind.",
        domain="; at 0 it is infinity, below NaN",
        accuracy=_OF_VALUE,
        source="10.25",
        example=example,
    )


airy_ai = _declared(
    "airy_ai",
    _airy,
    title="The Airy function Ai.",
    domain="",
    accuracy="20 units in the last place of float64 (left of 0: of its swing) and\n"
    "        two more for each 1 of 2/3 abs(x) ** (3 / 2), whose rounding it shows",
    source="9.2",
    example="[0.1353, 0.0349]",
)
bessel_y0 = _second_kind(0, "[0.0883, 0.5104]")
bessel_y1 = _second_kind(1, "[-0.7812, -0.107]")
modified_bessel_k0 = _modified(0, "[0.421, 0.1139]")
modified_bessel_k1 = _modified(1, "[0.6019, 0.1399]")
scaled_modified_bessel_k0 = _modified(0, "[1.1445, 0.8416]", is_scaled=True)
scaled_modified_bessel_k1 = _modified(1, "[1.6362, 1.0335]", is_scaled=True)
spherical_bessel_j0 = _declared(
    "spherical_bessel_j0",
    _spherical,
    title="``sin(x) / x``, the spherical Bessel function j of order 0.",
    domain="",
    accuracy=_OF_VALUE,
    source="10.49",
    example="[0.8415, 0.4546]",
)
