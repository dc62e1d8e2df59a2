"""Quantised numbers: bytes that stand for reals by a scale and a zero point.

Products of bytes are summed exactly, in int32.
"""

from __future__ import annotations

from typing import Any

from ..... import functional as F
from ..attribute_functions import limit, normal_axis
from ..element_types import TYPES, converted, dtype_of
from ..narrow_types import INTEGERS, Narrow, narrowed
from ..rule_table import rule
from .conversions import tensor_part, type_number
from .windows import convolution_integer

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


@rule
def product_integer(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    """A product of matrices of bytes."""
    return product_of_bytes(a, b, a_zero, b_zero)


def requantized(sums: Any, factor: Any, zero: Any) -> Any:
    """Sums as bytes of another scale."""
    wide = "float64" if sums.dtype.name == "float64" else "float32"
    rounded = F.round(converted(sums, wide) * factor) + converted(zero, wide)
    low, high = limit(zero.dtype, "lowest"), limit(zero.dtype, "highest")
    return converted(F.minimum(F.maximum(rounded, low), high), zero.dtype)


@rule
def quantized_product(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    """A product of quantised matrices, quantised."""
    a_scale, b_scale, y_scale = (
        converted(scale, "float32") for scale in (a_scale, b_scale, y_scale)
    )
    factor = _rows(a_scale, len(a.shape), -2) * _rows(b_scale, len(b.shape), -1)
    return requantized(
        product_of_bytes(a, b, a_zero, b_zero), factor / _rows(y_scale, 2, -2),
        F.reshape(y_zero, ()) if y_zero.size == 1 else y_zero,
    )  # fmt: skip


@rule
def quantized_convolution(
    x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any, y_zero: Any,
    b: Any, *, auto_pad: str, pads: Any, strides: Any, dilations: Any, group: int,
    kernel_shape: Any,
) -> Any:  # fmt: skip
    """A convolution of quantised images, quantised."""
    factor = x_scale * w_scale / y_scale
    requantised = {
        "bias": 0 if b is None else F.reshape(b, (-1,)),
        "factor": F.reshape(factor, () if factor.size == 1 else (-1,)),
        "zero_point": F.reshape(y_zero, ()),
        "is_signed": y_zero.dtype.name == "int8",
    }
    return convolution_integer(
        x, w, x_zero, w_zero, auto_pad=auto_pad, pads=pads, strides=strides, dilations=dilations,
        group=group, kernel_shape=kernel_shape, requantised=requantised,
    )  # fmt: skip


def value_of(x: Any) -> Any:
    """A tensor, whatever its element type is called."""
    return x.tensor if isinstance(x, Narrow) else x
