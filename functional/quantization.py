"""Quantisation: numbers become integers of 8 or 16 bits, by scales that are given or found.

Products of the integers are declared in opdecl/quantization.yaml.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..imperative import DTypeError, Tensor, TensorLike, isdtype
from .arguments import named
from .arranging import as_tensor
from .generated import abs, astype, clip_between, max, maximum, multiply, round

__all__ = ["dequantize_linear", "quantize_linear", "quantize_symmetric"]

Integers: TypeAlias = Literal["int8", "uint8", "int16", "uint16"]
_RANGES: dict[str, tuple[int, int]] = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
}
_SMALLEST = 1e-30  # the largest of a row of zeros: its scale can still be divided by


@named
def quantize_linear(
    x: TensorLike, scale: TensorLike, zero_point: TensorLike = 0, dtype: Integers = "int8"
) -> Tensor:
    """The nearest integers, ties to even, of x / scale + zero_point, within those of the dtype.

    Args:
        x: any shape, real floating-point.
        scale: broadcasts with x: of channels, (channels, 1, 1), say.
        zero_point: broadcasts with x; the integer that stands for 0.
        dtype: of the result.

    Returns:
        The integers.

    Raises:
        DTypeError: `dtype` is none of these.

    Source:
        https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.quantize_linear([-1.0, 0.26, 9.0, 99.0], 0.1, 3).tolist()
        [-7, 6, 93, 127]
    """
    if dtype not in _RANGES:
        raise DTypeError(
            f"must be one of {', '.join(_RANGES)}",
            op="quantize_linear", argument="dtype", got=repr(dtype),
        )  # fmt: skip
    steps = round(as_tensor(x) / as_tensor(scale))
    if dtype.endswith("16"):  # halves, and their sums, do not hold these integers
        steps = astype(steps, "float64")
    return astype(
        clip_between(steps + astype(as_tensor(zero_point), steps.dtype), *_RANGES[dtype]), dtype
    )


@named
def dequantize_linear(x: TensorLike, scale: TensorLike, zero_point: TensorLike = 0) -> Tensor:
    """The numbers that integers stand for: (x - zero_point) * scale.

    Args:
        x: any shape, integer.
        scale: broadcasts with x; real floating-point.
        zero_point: broadcasts with x; the integer that stands for 0.

    Returns:
        The numbers, in the dtype of the scale.

    Raises:
        DTypeError: x does not hold integers.

    Source:
        https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.dequantize_linear([-7, 6, 93], 0.5, 3).tolist()
        [-5.0, 1.5, 45.0]
    """
    x, scale = as_tensor(x), as_tensor(scale)
    if not isdtype(x.dtype, "integral"):
        raise DTypeError("must be integer", op="dequantize_linear", argument="x", got=x.dtype.name)
    steps = astype(x, "int64") - astype(as_tensor(zero_point), "int64")
    dtype = "float32" if isdtype(scale.dtype, "integral") else scale.dtype
    return multiply(astype(steps, dtype), scale)


@named
def quantize_symmetric(x: TensorLike, axis: int | None = None) -> tuple[Tensor, Tensor]:
    """Integers of 8 bits from -127 to 127 and their scales, such that the largest is 127.

    Args:
        x: any shape, real floating-point.
        axis: along which the elements of one scale lie: -1 gives each row its own; None: one for
            all elements.

    Returns:
        The integers of int8, and the scales, which broadcast with x.

    Source:
        Jacob et al. 2017, https://arxiv.org/abs/1712.05877; without zero points.

    Example:
        >>> import tensorlike as tl
        >>> q, scale = tl.functional.quantize_symmetric([[1.0, -2.0], [0.5, 0.25]], axis=-1)
        >>> q.tolist()
        [[64, -127], [127, 64]]
        >>> scale.shape
        (2, 1)
    """
    x = as_tensor(x)
    scale = maximum(max(abs(x), axis=axis, keepdims=True), _SMALLEST) / 127
    return astype(clip_between(round(x / scale), -127, 127), "int8"), scale
