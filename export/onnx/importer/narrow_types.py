"""Values of element types that are narrower than any dtype, and the conversions that make them.

`Narrow` is a tensor of a wider dtype all of whose elements are numbers of the type. It is unwrapped
where an op takes a tensor; conversions round as the type does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .... import functional as F
from .element_types import TYPES, converted, dtype_of


@dataclass(frozen=True)
class Narrow:
    """A tensor whose elements are numbers of a narrow type.

    Attributes:
        number: of the element type.
    """

    tensor: Any
    number: int


class FloatFormat(NamedTuple):
    """How a narrow floating-point type holds numbers.

    Attributes:
        digits: of the fraction, in bits.
        least: the exponent of the smallest normal number.
        largest: the largest finite number.
        has_infinity: whether it has infinities; else what overflows is NaN.
        has_nan: whether it has NaN.
    """

    digits: int
    least: int
    largest: float
    has_infinity: bool
    has_nan: bool


FLOATS = {
    17: FloatFormat(3, -6, 448.0, False, True),
    18: FloatFormat(3, -7, 240.0, False, True),
    19: FloatFormat(2, -14, 57344.0, True, True),
    20: FloatFormat(2, -15, 57344.0, False, True),
    23: FloatFormat(1, 0, 6.0, False, False),
}
INTEGERS = {21: (4, False), 22: (4, True), 25: (2, False), 26: (2, True)}
SCALES = 24  # powers of two without a sign


def narrowed(x: Any, number: int, *, saturate: bool = True, round_mode: str = "up") -> Any:
    """A tensor as values of a narrow type, or of a dtype where the type is no narrow one."""
    if not TYPES[number].narrow:
        return converted(x, dtype_of(number))
    if number in INTEGERS:
        return Narrow(_wrapped(x, *INTEGERS[number]), number)
    if number == SCALES:
        return Narrow(_power(converted(x, "float32"), round_mode, saturate=saturate), number)
    return Narrow(_rounded(converted(x, "float32"), FLOATS[number], saturate), number)


def _rounded(x: Any, form: FloatFormat, saturate: bool) -> Any:
    """To the nearest number of a format, to even of two."""
    _, exponent = F.frexp(x)
    place = F.maximum(exponent - 1, form.least) - form.digits
    one = converted(place, "float32")
    nearest = F.ldexp(F.round(F.ldexp(x, -one)), one)
    nearest = F.where(F.isfinite(x), nearest, x)
    if not form.has_nan:
        nearest = F.where(F.isnan(x), -0.0, nearest)
    size = F.abs(nearest)
    limit = F.where(F.signbit(x), -form.largest, form.largest)
    is_over = size > form.largest
    if saturate or not form.has_nan:
        # An infinity saturates as well, where the type has none to show for it.
        return F.where(is_over, converted(limit, "float32"), nearest)
    if form.has_infinity:
        return F.where(is_over, F.copysign(F.full((), math.inf), x), nearest)
    return F.where(is_over, math.nan, nearest)


def _wrapped(x: Any, bits: int, is_signed: bool) -> Any:
    """The lowest bits of integers; the integers of floats, rounded towards zero."""
    if x.dtype.kind == "floating":
        x = F.trunc(x)
    whole = converted(x, "int64") & (2**bits - 1)
    if is_signed:
        whole = F.where(whole >= 2 ** (bits - 1), whole - 2**bits, whole)
    return converted(whole, "int8" if is_signed else "uint8")


def _power(x: Any, mode: str, *, saturate: bool) -> Any:
    """A power of two: the next, the one before, or the nearest."""
    fraction, exponent = F.frexp(F.abs(x))
    low = converted(exponent, "float32") - 1
    if mode == "up":
        chosen = F.where(fraction > 0.5, low + 1, low)
    elif mode == "down":
        chosen = low
    else:
        chosen = F.where(fraction >= 0.75, low + 1, low)
    least = F.where(x == 0, -127.0, F.maximum(chosen, -127.0))
    bounded = F.minimum(least, 127.0)
    found = F.ldexp(F.ones_like(bounded), bounded)
    is_lost = F.isnan(x) if saturate else F.isnan(x) | (least > 127)
    return F.where(is_lost, math.nan, found)
