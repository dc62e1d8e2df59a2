"""What calls that are declared for real numbers mean of complex ones: they are composed.

Each stands behind the declared call of the name that it is given, which runs it where its op has
refused a complex tensor; its arguments are those of that call.
"""

from __future__ import annotations

import math
from typing import Any

from ..imperative import complex_form, stop_gradient
from . import generated as ops
from .arranging import as_tensor, axis_of, flip
from .creation import zeros
from .promotion import result_type

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
    """The angle is the one near that of the larger term, which does not jump as the sum grows."""
    x1, x2 = _promoted(x1, x2)
    is_first = ops.greater_equal(ops.real(x1), ops.real(x2))
    larger, smaller = ops.where(is_first, x1, x2), ops.where(is_first, x2, x1)
    is_nan = ops.isnan(x1) | ops.isnan(x2)
    is_finite = ops.isfinite(ops.real(larger)) & ~is_nan
    found = larger + ops.log1p(ops.exp(ops.where(is_finite, smaller - larger, -math.inf)))
    return ops.where(is_nan, x1 + x2, ops.where(is_finite, found, larger))


@complex_form("logcumsumexp")
def _logcumsumexp(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    include_initial: bool = False,
    reverse: bool = False,
) -> Any:
    """After k steps each element has the sum of 2 ** k of those up to it."""
    x = as_tensor(x)
    if axis is None:  # of one dimension: what is wrong with others, the real call says
        axis = len(ops.logcumsumexp(ops.real(x)).shape) - 1
    axis = axis_of("logcumsumexp", axis, len(x.shape))
    x = ops.astype(x, dtype=x.dtype if dtype is None else dtype)
    lines = flip(x, axis) if reverse else x
    first, count, reached = lines, lines.shape[axis], 1
    while reached < count:
        earlier, later = _cut(lines, axis, count - reached), _cut(lines, axis, reached - count)
        lines = ops.concat([_cut(lines, axis, reached), _logaddexp(earlier, later)], axis=axis)
        reached *= 2
    lines = _unwound(first, lines, axis)
    if include_initial:
        shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
        nothing = ops.full(shape, -math.inf, dtype=lines.dtype)
        lines = ops.concat([nothing, lines], axis=axis)
    return flip(lines, axis) if reverse else lines


def _unwound(x: Any, y: Any, axis: int) -> Any:
    """With the angles that adding one element after the other gives: each near that of the larger
    of the sum so far and the element."""
    if y.shape[axis] < 2:
        return y
    before, step = _cut(y, axis, -1 + y.shape[axis]), _cut(y, axis, 1 - y.shape[axis])
    angle, turn = stop_gradient(ops.imag(y)), 2 * math.pi
    moved = stop_gradient(ops.imag(step) - ops.imag(before))
    moved = moved - turn * ops.round(moved / turn)
    start = zeros(tuple(1 if i == axis else n for i, n in enumerate(y.shape)), dtype=moved.dtype)
    way = ops.cumulative_sum(ops.concat([start, moved], axis=axis), axis=axis)
    own = stop_gradient(ops.imag(x))
    own = own + (angle - own) - turn * ops.round((angle - own) / turn)
    later = ops.greater(ops.real(_cut(x, axis, 1 - y.shape[axis])), ops.real(before))
    is_own = ops.concat([ops.equal(start, 0), later], axis=axis)
    number = ops.reshape(
        ops.arange(y.shape[axis]), tuple(n if i == axis else 1 for i, n in enumerate(y.shape))
    )
    last = ops.cumulative_max(ops.where(is_own, number, 0), axis=axis)
    wanted = way + ops.take_along_axis(own - way, last, axis=axis)
    return ops.complex(ops.real(y), ops.imag(y) + turn * ops.round((wanted - angle) / turn))


def _cut(x: Any, axis: int, count: int) -> Any:
    """The first elements along an axis, or, of a negative count, the last ones."""
    part = slice(count, None) if count < 0 else slice(count)
    return x[(slice(None),) * axis + (part,)]


@complex_form("rms_norm")
def _rms_norm(x: Any, weight: Any, axes: Any = (-1,), eps: float = 1e-5) -> Any:
    """By the square itself, not that of the size, as PyTorch has it."""
    square = ops.mean(x * x, axis=axes, keepdims=True)
    return x / ops.sqrt(square + eps) * weight


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
