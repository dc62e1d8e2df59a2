"""What calls that are declared for real numbers mean of complex ones: they are composed.

Each stands behind the declared call of the name that it is given, which runs it where its op has
refused a complex tensor; its arguments are those of that call.
"""

from __future__ import annotations

from typing import Any

from ..imperative import complex_form, result_type, stop_gradient
from . import generated as ops

__all__: list[str] = []


def _parts(x: Any) -> tuple[Any, Any]:
    return ops.real(x), ops.imag(x)


def _promoted(*given: Any) -> list[Any]:
    """All of them in the complex dtype that holds them."""
    dtype = result_type(*given)
    return [ops.astype(x, dtype=dtype) if hasattr(x, "shape") else x for x in given]


@complex_form("sigmoid")
def _sigmoid(x: Any) -> Any:
    is_left = ops.less(ops.real(x), 0)
    power = ops.exp(ops.where(is_left, x, -x))
    return ops.where(is_left, power, 1) / (1 + power)


@complex_form("silu")
def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


@complex_form("softsign")
def _softsign(x: Any) -> Any:
    return x / (1 + ops.abs(x))


@complex_form("tanhshrink")
def _tanhshrink(x: Any) -> Any:
    return x - ops.tanh(x)


@complex_form("sinc")
def _sinc(x: Any) -> Any:
    is_zero = ops.equal(x, 0)
    angle = ops.where(is_zero, 1, x) * 3.141592653589793
    return ops.where(is_zero, 1, ops.sin(angle) / angle)


@complex_form("lerp")
def _lerp(start: Any, end: Any, weight: Any) -> Any:
    return start + weight * (end - start)


@complex_form("ldexp")
def _ldexp(x1: Any, x2: Any) -> Any:
    if getattr(getattr(x2, "dtype", None), "kind", "") in ("complex", "c"):
        return x1 * ops.exp2(x2)
    real, imag = _parts(x1)
    return ops.complex(ops.ldexp(real, x2), ops.ldexp(imag, x2))


@complex_form("absolute_error")
def _absolute_error(x: Any, target: Any) -> Any:
    return ops.abs(x - target)


def _shift(largest: Any) -> Any:
    """What exponents are moved by, so that none overflows: a constant, which gradients pass by."""
    largest = stop_gradient(largest)
    return ops.where(ops.isfinite(largest), largest, 0)


@complex_form("logaddexp")
def _logaddexp(x1: Any, x2: Any) -> Any:
    x1, x2 = _promoted(x1, x2)
    shift = _shift(ops.maximum(ops.real(x1), ops.real(x2)))
    return ops.log(ops.exp(x1 - shift) + ops.exp(x2 - shift)) + shift


@complex_form("logsumexp")
def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not x.size:
        return ops.log(ops.sum(x, axis=axis, keepdims=keepdims))
    shift = _shift(ops.max(ops.real(x), axis=axis, keepdims=True))
    total = ops.sum(ops.exp(x - shift), axis=axis, keepdims=keepdims)
    return ops.log(total) + ops.reshape(shift, tuple(total.shape))


@complex_form("var")
def _var(x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    given = {"axis": axis, "correction": correction, "keepdims": keepdims}
    real, imag = _parts(x)
    return ops.var(real, **given) + ops.var(imag, **given)


@complex_form("std")
def _std(x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return ops.sqrt(_var(x, axis, correction, keepdims))


def _convolved(call: Any) -> None:
    """A convolution of complex numbers, as four of real ones."""

    @complex_form(call.__name__)
    def form(x: Any, weight: Any, bias: Any = None, *args: Any, **options: Any) -> Any:
        x, weight = _promoted(x, weight)
        (a, b), (c, d) = _parts(x), _parts(weight)
        real = call(a, c, None, *args, **options) - call(b, d, None, *args, **options)
        imag = call(a, d, None, *args, **options) + call(b, c, None, *args, **options)
        y = ops.complex(real, imag)
        if bias is None:
            return y
        return y + ops.reshape(bias, (-1, *[1] * (len(y.shape) - 2)))


for _call in (
    ops.conv1d,
    ops.conv2d,
    ops.conv3d,
    ops.conv_transpose1d,
    ops.conv_transpose2d,
    ops.conv_transpose3d,
):
    _convolved(_call)
