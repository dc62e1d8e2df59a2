"""Special functions that are composed of declared ones, and powers and complex numbers by size."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..imperative import Tensor, TensorLike, isdtype, stop_gradient
from .arguments import integer, named
from .arranging import as_tensor
from .generated import (
    abs,
    astype,
    cos,
    digamma,
    floor,
    isfinite,
    ldexp,
    log2,
    pow,
    round,
    sin,
    tetragamma,
    trigamma,
    where,
    zeta,
)
from .generated import complex as complex_of
from .promotion import result_type

__all__ = ["FrexpResult", "float_power", "frexp", "polar", "polygamma"]


class FrexpResult(NamedTuple):
    """Numbers from 1/2 to 1, and the powers of two that they were divided by."""

    mantissa: Tensor
    exponent: Tensor


MAX_REFLECTED = 100  # beyond it factorials do not fit


@named
def float_power(x1: TensorLike, x2: TensorLike) -> Tensor:
    """x1 to the power of x2, computed in float64, or in complex128 for complex numbers.

    Args:
        x1: any shape that broadcasts with the other, numeric.
        x2: any shape that broadcasts with the other, numeric.

    Returns:
        One tensor of the broadcast shape, float64 or complex128.

    Raises:
        ShapeError: the shapes do not broadcast.

    Source:
        NumPy, ``numpy.float_power``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.float_power(tl.tensor([2, 3]), -1).tolist()
        [0.5, 0.3333333333333333]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    is_complex = any(isdtype(x.dtype, "complex floating") for x in (x1, x2))
    wide = "complex128" if is_complex else "float64"
    return pow(astype(x1, dtype=wide), astype(x2, dtype=wide))


@named
def frexp(x: TensorLike) -> FrexpResult:
    """The numbers m and e of ``x = m * 2 ** e`` with ``1 / 2 <= abs(m) < 1``.

    Args:
        x: any shape, real floating-point.

    Returns:
        m, of the dtype of x, whose gradient is ``2 ** -e``; and e, int32. Zeros, infinities and
        NaN have themselves for m, and 0 for e.

    Raises:
        DTypeError: x is complex.

    Source:
        NumPy, ``numpy.frexp``.

    Example:
        >>> import tensorlike as tl
        >>> m, e = tl.functional.frexp(tl.tensor([1.0, -6.0]))
        >>> (m.tolist(), e.tolist())
        ([0.5, -0.75], [1, 3])
    """
    x = as_tensor(x)
    if not isdtype(x.dtype, "real floating"):
        x = astype(x, dtype=result_type(x, 1.0))
    size = abs(astype(stop_gradient(x), dtype="float64"))
    is_number = isfinite(size) & (size > 0)
    # The smallest numbers of float64 have fewer digits: they are moved among the others.
    is_small = size < 2.0**-960
    size = where(is_number, where(is_small, size * 2.0**64, size), 0.5)
    exponent = floor(log2(size)) + 1
    part = ldexp(size, -exponent)
    exponent = exponent + where(part >= 1, 1, where(part < 0.5, -1, 0)) - where(is_small, 64, 0)
    exponent = where(is_number, exponent, 0)
    mantissa = ldexp(x, astype(-exponent, dtype=x.dtype))
    return FrexpResult(mantissa, astype(exponent, dtype="int32"))


@named
def polar(abs: TensorLike, angle: TensorLike) -> Tensor:
    """The complex numbers of these sizes and angles: ``abs * exp(1j * angle)``.

    Args:
        abs: any shape that broadcasts with the other, real floating-point: sizes.
        angle: any shape that broadcasts with the other, real floating-point: radians.

    Returns:
        One tensor of the broadcast shape, complex.

    Raises:
        ShapeError: the shapes do not broadcast.
        DTypeError: a tensor is complex.

    Source:
        PyTorch, ``torch.polar``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.polar(tl.tensor([1.0, 2.0]), tl.tensor([0.0, 0.0])).tolist()
        [(1+0j), (2+0j)]
    """
    abs, angle = as_tensor(abs), as_tensor(angle)
    return complex_of(abs * cos(angle), abs * sin(angle))


@named
def polygamma(n: int, x: TensorLike) -> Tensor:
    """The derivative of order n of digamma: ``(-1) ** (n + 1) * n! * zeta(n + 1, x)`` for n > 0.

    Args:
        n: the order, not negative.
        x: any shape, real floating-point; left of 0 the result is NaN above the order 100.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        ParameterError: n is negative, or no integer.
        DTypeError: x is complex.

    Source:
        https://dlmf.nist.gov/5.15

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.polygamma(3, tl.tensor([1.0, 2.0])).tolist()]
        [6.4939, 0.4939]
    """
    order = integer("polygamma", "n", n, least=0)
    if order < 3:
        return (digamma, trigamma, tetragamma)[order](x)
    x = as_tensor(x)
    if not isdtype(x.dtype, "real floating"):
        x = astype(x, dtype=result_type(x, 1.0))
    # In float64, where n! is infinite only beyond all that zeta makes of it.
    sign = -1.0 if order % 2 == 0 else 1.0
    wide = astype(x, dtype="float64")
    factor = math.gamma(order + 1) if order < 170 else math.inf
    is_left = wide < 0.0
    right = zeta(float(order + 1), where(is_left, 1.0 - wide, wide)) * (sign * factor)
    # polygamma(n, x) = (-1) ** n polygamma(n, 1 - x) - the nth derivative of pi cot(pi x).
    angle = where(is_left, wide - round(wide), 0.25) * math.pi
    slope = _cotangent_slope(min(order, MAX_REFLECTED), cos(angle) / sin(angle))
    scale = math.pi ** (order + 1) if order <= MAX_REFLECTED else math.nan
    reflected = right * -sign - slope * scale
    return astype(where(is_left, reflected, right), dtype=x.dtype)


def _cotangent_slope(order: int, cotangent: Tensor) -> Tensor:
    """A derivative of cot, as a polynomial in cot: the first one is -(1 + cot ** 2)."""
    coefficients = [0, 1]
    for _ in range(order):
        slopes = [k * c for k, c in enumerate(coefficients)][1:]
        pairs = zip([*slopes, 0, 0], [0, 0, *slopes], strict=True)
        coefficients = [-(low + high) for low, high in pairs]
    result = cotangent * float(coefficients.pop())
    while len(coefficients) > 1:
        result = (result + float(coefficients.pop())) * cotangent
    return result + float(coefficients[0])
