"""Quantised numbers: bytes that stand for reals by a scale and a zero point.

Products of bytes are summed exactly, in int32.
"""

from __future__ import annotations

from typing import Any

from ..... import functional as F
from ..attribute_functions import limit, normal_axis
from ..element_types import TYPES, converted, dtype_of
from ..narrow_types import INTEGERS, narrowed
from ..rule_table import rule
from .conversions import tensor_part, type_number

UINT8 = 2


def _along(x: Any, like: Any, axis: int, block: int) -> Any:
    """Scales or zero points so that they broadcast: one, one for each row, or for each block."""
    if len(x.shape) == 0 or (len(x.shape) == 1 and x.size == 1):
        return F.reshape(x, ())
    axis = normal_axis(axis, len(like.shape))
    if block:
        found = F.repeat(x, block, axis=axis)
        items = [slice(None)] * len(like.shape)
        items[axis] = slice(0, like.shape[axis])
        return found[tuple(items)]
    if len(x.shape) > 1:
        return x
    return F.reshape(x, tuple(-1 if i == axis else 1 for i in range(len(like.shape))))


def limits(number: int) -> tuple[int, int]:
    """The lowest and the highest integer of an element type."""
    if number in INTEGERS:
        bits, is_signed = INTEGERS[number]
        return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    dtype = dtype_of(number)
    return limit(dtype, "lowest"), limit(dtype, "highest")


def _is_float(number: int) -> bool:
    return TYPES[number].dtype.startswith(("float", "bfloat"))


@rule
def quantize(
    x: Any, scale: Any, zero: Any, *, axis: int, saturate: int, block_size: int, output_dtype: int,
    precision: int,
) -> Any:  # fmt: skip
    """Reals as quantised numbers."""
    number = type_number(zero) if zero is not None else output_dtype or UINT8
    wide = (
        "float32"
        if x.dtype.kind != "floating" or x.dtype.name in ("float16", "bfloat16")
        else x.dtype.name
    )
    if precision:
        wide = TYPES[precision].dtype
    x, scale = tensor_part(x), tensor_part(scale)
    real = converted(x, wide) / _along(converted(scale, wide), x, axis, block_size)
    if _is_float(number):
        return narrowed(real, number, saturate=bool(saturate))
    rounded = F.round(real)
    if zero is not None:
        rounded = rounded + _along(converted(tensor_part(zero), wide), x, axis, block_size)
    low, high = limits(number)
    bounded = F.minimum(F.maximum(rounded, low), high)
    return (
        narrowed(bounded, number) if TYPES[number].narrow else converted(bounded, dtype_of(number))
    )


@rule
def dequantize(
    x: Any, scale: Any, zero: Any, *, axis: int, block_size: int, output_dtype: int
) -> Any:
    """Quantised numbers as reals."""
    x, scale = tensor_part(x), tensor_part(scale)
    kind = dtype_of(output_dtype) if output_dtype else scale.dtype
    wide = "float32" if scale.dtype.name in ("float16", "bfloat16") else scale.dtype
    real = converted(x, wide)
    if zero is not None:
        real = real - _along(converted(tensor_part(zero), wide), x, axis, block_size)
    return converted(real * _along(converted(scale, wide), x, axis, block_size), kind)


def _rows(x: Any, rank: int, axis: int) -> Any:
    """A zero point or scale for each row or column of matrices."""
    if len(x.shape) != 1 or x.size == 1:
        return F.reshape(x, ()) if x.size == 1 else x
    return F.reshape(x, (-1, 1) if axis == -2 else (1, -1))


def product_of_bytes(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    """A product of matrices of bytes, exactly."""
    if a.dtype.kind == "floating" or b.dtype.kind == "floating":  # narrow ones, without zero points
        return F.matmul(converted(a, "float32"), converted(b, "float32"))
    is_row, is_column = len(a.shape) == 1, len(b.shape) == 1
    left = F.reshape(a, (1, -1)) if is_row else a
    right = F.reshape(b, (-1, 1)) if is_column else b
    found = F.matmul_integer(
        left,
        right,
        0 if a_zero is None else _rows(a_zero, len(a.shape), -2),
        0 if b_zero is None else _rows(b_zero, len(b.shape), -1),
    )
    found = F.squeeze(found, -1) if is_column else found
    return F.squeeze(found, -1 if is_column else -2) if is_row else found
