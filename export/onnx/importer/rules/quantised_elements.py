"""Quantised ops of the domain com.microsoft: reals in between, bytes outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..... import _C
from ..... import functional as F
from ..element_types import converted
from ..rule_table import rule
from .quantising import dequantize, product_of_bytes, quantize, requantized
from .windows import convolved


def _real(x: Any, scale: Any, zero: Any) -> Any:
    return dequantize(x, scale, zero, axis=-1, block_size=0, output_dtype=0)


def _bytes(x: Any, scale: Any, zero: Any) -> Any:
    return quantize(x, scale, zero, axis=-1, saturate=1, block_size=0, output_dtype=0, precision=0)


@rule
def dynamic_quantized_product(a: Any, b: Any, b_scale: Any, b_zero: Any, bias: Any) -> Any:
    """A product with a quantised matrix; the other one is quantised by its own range."""
    found, scale, zero = F.dynamic_quantize_linear(a)
    return product_integer_to_float(found, b, scale, b_scale, zero, b_zero, bias)


@rule
def product_integer_to_float(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any, b_zero: Any, bias: Any
) -> Any:
    """A product of quantised matrices as reals."""
    sums = product_of_bytes(a, b, a_zero, b_zero)
    found = converted(converted(sums, "float32") * (a_scale * b_scale), b_scale.dtype)
    return found if bias is None else found + bias


@rule
def quantized_general_product(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, c: Any, y_scale: Any,
    y_zero: Any, *, alpha: float, transA: int, transB: int,
) -> Any:  # fmt: skip
    """A product of quantised matrices plus sums, quantised where there is a scale for it."""
    left = F.matrix_transpose(a) if transA else a
    right = F.matrix_transpose(b) if transB else b
    sums = product_of_bytes(left, right, a_zero, b_zero)
    if c is not None:  # in the steps of the product, alpha and all
        sums = sums + c
    factor = a_scale * b_scale * alpha
    if y_scale is None:
        return converted(sums, "float32") * factor
    return requantized(sums, factor / y_scale, F.reshape(y_zero, ()))


@rule
def quantized_sum(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    """A sum of quantised tensors, quantised."""
    return _bytes(_real(a, a_scale, a_zero) + _real(b, b_scale, b_zero), y_scale, y_zero)


@rule
def quantized_elements(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    """A product of the elements of quantised tensors, quantised."""
    return _bytes(_real(a, a_scale, a_zero) * _real(b, b_scale, b_zero), y_scale, y_zero)


@rule
def quantized_sigmoid(x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any) -> Any:
    """The sigmoid of a quantised tensor, quantised."""
    return _bytes(F.sigmoid(_real(x, x_scale, x_zero)), y_scale, y_zero)


@rule
def quantized_leaky_relu(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any, *, alpha: float
) -> Any:
    """The leaky relu of a quantised tensor, quantised."""
    real = _real(x, x_scale, x_zero)
    return _bytes(F.where(real < 0, real * alpha, real), y_scale, y_zero)


@rule
def quantized_global_average_pool(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any, *, channels_last: int
) -> Any:
    """The mean of all spatial elements of a quantised tensor, quantised."""
    first = 1 if channels_last else 2
    axes = tuple(range(first, len(x.shape) - (1 if channels_last else 0)))
    return _bytes(F.mean(_real(x, x_scale, x_zero), axis=axes, keepdims=True), y_scale, y_zero)


@rule
def quantized_concat(y_scale: Any, y_zero: Any, parts: Sequence[Any], *, axis: int) -> Any:
    """Quantised tensors, each with its scale and zero point, joined."""
    reals = [_real(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return _bytes(F.concat(reals, axis=axis), y_scale, y_zero)


_ACTIVATIONS: dict[str, Callable[[Any, Sequence[float]], Any]] = {
    "": lambda x, p: x,
    "Relu": lambda x, p: F.relu(x),
    "Tanh": lambda x, p: F.tanh(x),
    "Sigmoid": lambda x, p: F.sigmoid(x),
    "LeakyRelu": lambda x, p: F.where(x < 0, x * p[0], x),
    "Clip": lambda x, p: F.minimum(F.maximum(x, p[0]), p[1]),
    "HardSigmoid": lambda x, p: F.minimum(F.maximum(x * p[0] + p[1], 0), 1),
}


@rule
def fused_convolution(
    x: Any, w: Any, b: Any, z: Any, *, auto_pad: str, pads: Any, strides: Any, dilations: Any,
    group: int, kernel_shape: Any, activation: str, activation_params: Any,
) -> Any:  # fmt: skip
    """A convolution, plus a tensor, under an activation."""
    if activation not in _ACTIVATIONS:
        raise _C.ArgumentError(
            f"must be among {', '.join(_ACTIVATIONS)}", op="FusedConv", argument="activation",
            got=repr(activation),
        )  # fmt: skip
    found = convolved(x, w, b, auto_pad, pads, strides, dilations, group)
    return _ACTIVATIONS[activation](found if z is None else found + z, activation_params or ())
