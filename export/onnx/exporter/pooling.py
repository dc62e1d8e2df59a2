"""Pooling in functional calls, where ONNX counts otherwise or has no such windows.

Sums over windows are products with matrices of ones, a dimension after the other; their numbers of
elements are products, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .... import _C
from .... import functional as F
from .placing import numbers_of, placed
from .site import UnsupportedError

Array = np.ndarray[Any, Any]


class _Axis(NamedTuple):
    """The windows along a dimension: their elements, and how many count in each."""

    covered: Array  # (windows, elements), of 0 and 1
    counted: Array


def _each(value: Any, count: int) -> list[int]:
    numbers = list(value) if isinstance(value, tuple) else [value]
    return numbers * count if len(numbers) == 1 else numbers


def _axes(op: Any, sizes: Sequence[Any], out: Sequence[int] | None) -> Iterator[_Axis]:
    if any(type(size) is not int for size in sizes):
        raise UnsupportedError("such windows need spatial sizes that are known")
    if op.kernel_size is None:
        for size, parts in zip(sizes, _each(op.output_size, len(sizes)), strict=True):
            bounds = [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]
            yield _axis(size, bounds, 0, counts_padding=False)
        return
    kernels = _each(op.kernel_size, len(sizes))
    strides = kernels if op.stride is None else _each(op.stride, len(sizes))
    paddings = _each(op.padding, len(sizes))
    for size, kernel, stride, padding in zip(sizes, kernels, strides, paddings, strict=True):
        more = stride - 1 if op.ceil_mode else 0
        count = (size + 2 * padding + more - kernel) // stride + 1
        if count > 1 and (count - 1) * stride >= size + padding:
            count -= 1
        bounds = [(i * stride - padding, i * stride - padding + kernel) for i in range(count)]
        yield _axis(size, bounds, padding, counts_padding=op.count_include_pad)


def _axis(
    size: int, bounds: Sequence[tuple[int, int]], padding: int, *, counts_padding: bool
) -> _Axis:
    places = np.arange(size)
    covered = np.stack([(places >= a) & (places < b) for a, b in bounds])
    if not counts_padding:
        return _Axis(covered, covered.sum(1))
    return _Axis(covered, np.asarray([min(b, size + padding) - a for a, b in bounds]))


def _weights(op: Any, sizes: Sequence[Any]) -> list[Array]:
    """A matrix (windows, elements) for each dimension, whose products are the means."""
    axes = list(_axes(op, sizes, None))
    if op.divisor_override is None:
        return [axis.covered / axis.counted[:, None] for axis in axes]
    first, *others = [axis.covered.astype(np.float64) for axis in axes]
    return [first / op.divisor_override, *others]


def _along(x: Any, axis: int, matrix: Array) -> Any:
    """The products of a matrix with the lines along a dimension."""
    columns = F.astype(_C.tensor(np.ascontiguousarray(matrix.T)), x.dtype)
    return F.moveaxis(F.matmul(F.moveaxis(x, axis, -1), columns), -1, axis)


def average_pool(op: Any, x: Any) -> Any:
    """The means of windows of any kind."""
    for i, matrix in enumerate(_weights(op, x.shape[2:])):
        x = _along(x, i + 2, matrix)
    return x


def average_pool_spread(op: Any, gradient: Any) -> Any:
    """The transpose of that."""
    for i, matrix in enumerate(_weights(op, op.shape[2:])):
        gradient = _along(gradient, i + 2, matrix.T)
    return gradient


def max_pool(op: Any, x: Any) -> Any:
    """The maxima of adaptive windows."""
    return _maxima(op, x)[0]


def max_pool_select(op: Any, x: Any, values: Any) -> Any:
    """Other elements, at the places of the maxima of adaptive windows."""
    return F.gather(F.reshape(values, (-1,)), _maxima(op, x)[1], axes=(0,))


def max_pool_spread(op: Any, x: Any, gradient: Any) -> Any:
    """Gradients added to these places."""
    return placed(F.zeros_like(x), _maxima(op, x)[1], gradient, "add")


def _maxima(op: Any, x: Any) -> tuple[Any, Any]:
    """The maxima of adaptive windows and their numbers, a dimension after the other.

    The last one goes first: so the first of equal ones in each row, then the first row.
    """
    sizes = x.shape[2:]
    if any(type(size) is not int for size in sizes):
        raise UnsupportedError("such windows need spatial sizes that are known")
    numbers = numbers_of(x)
    parts = _each(op.output_size, len(sizes))
    for i in reversed(range(len(sizes))):
        found = [
            _largest(
                x, numbers, i + 2, j * sizes[i] // parts[i], -(-(j + 1) * sizes[i] // parts[i])
            )
            for j in range(parts[i])
        ]
        x, numbers = (F.concat([part[k] for part in found], axis=i + 2) for k in range(2))
    return x, numbers


def _largest(x: Any, numbers: Any, axis: int, first: int, stop: int) -> tuple[Any, Any]:
    part = (*(slice(None),) * axis, slice(first, stop))
    x, numbers = x[part], numbers[part]
    place = F.argmax(x, axis=axis, keepdims=True)
    return tuple(F.take_along_axis(y, place, axis=axis) for y in (x, numbers))  # type: ignore[return-value]
