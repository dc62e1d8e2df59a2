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


class _Axis(NamedTuple):
    """The windows along a dimension: their elements, and how many count in each.

    Arrays, or tensors where the size is not known.
    """

    covered: Any  # (windows, elements), of booleans
    counted: Any


def _each(value: Any, count: int) -> list[int]:
    numbers = list(value) if isinstance(value, tuple) else [value]
    return numbers * count if len(numbers) == 1 else numbers


def _axes(op: Any, sizes: Sequence[Any], counts: Sequence[Any]) -> Iterator[_Axis]:
    """The windows along each dimension, and how many there are, where that is known."""
    if op.kernel_size is None:
        for size, parts in zip(sizes, _each(op.output_size, len(sizes)), strict=True):
            yield _axis(size, *_adaptive(size, parts), 0, counts_padding=False)
        return
    kernels = _each(op.kernel_size, len(sizes))
    strides = kernels if op.stride is None else _each(op.stride, len(sizes))
    paddings = _each(op.padding, len(sizes))
    for i, (size, kernel, stride, padding) in enumerate(
        zip(sizes, kernels, strides, paddings, strict=True)
    ):
        numbers = _range(size, counts[i]) if counts else _windows(op, size, kernel, stride, padding)
        first = numbers * stride - padding
        yield _axis(size, first, first + kernel, padding, counts_padding=op.count_include_pad)


def _windows(op: Any, size: Any, kernel: int, stride: int, padding: int) -> Any:
    """The numbers of windows, of which none begins behind the elements and the padding in front."""
    more = stride - 1 if op.ceil_mode else 0
    count = (size + 2 * padding + more - kernel) // stride + 1
    return _range(size, count)[: (size + padding - 1) // stride + 1]


def _range(size: Any, count: Any) -> Any:
    """The first numbers: a tensor where the size is not known."""
    return np.arange(count) if type(size) is int else F.arange(count)


def _adaptive(size: Any, parts: int) -> tuple[Any, Any]:
    """Where each part of a dimension begins, and where it ends."""
    numbers = _range(size, parts)
    return numbers * size // parts, ((numbers + 1) * size + parts - 1) // parts


def _axis(size: Any, first: Any, stop: Any, padding: int, *, counts_padding: bool) -> _Axis:
    places = _range(size, size)
    covered = (places >= first[:, None]) & (places < stop[:, None])
    if counts_padding:
        least = np.minimum if type(size) is int else F.minimum
        return _Axis(covered, least(stop, size + padding) - first)
    return _Axis(covered, covered.sum(1))


def _weights(op: Any, sizes: Sequence[Any], dtype: Any, counts: Sequence[Any] = ()) -> list[Any]:
    """A matrix (windows, elements) for each dimension, whose products are the means."""
    axes = list(_axes(op, sizes, counts))
    if op.divisor_override is not None:
        first, *others = [_divided(axis.covered, 1, dtype) for axis in axes]
        return [first / op.divisor_override, *others]
    return [_divided(axis.covered, axis.counted[:, None], dtype) for axis in axes]


def _divided(covered: Any, counted: Any, dtype: Any) -> Any:
    """Ones and zeros by numbers; what is known is divided in double precision."""
    if isinstance(covered, np.ndarray):
        return F.astype(_C.tensor(np.ascontiguousarray(covered / np.float64(counted))), dtype)
    return F.astype(covered, dtype) / (1 if type(counted) is int else F.astype(counted, dtype))


def _along(x: Any, axis: int, matrix: Any) -> Any:
    """The products of a matrix with the lines along a dimension."""
    return F.moveaxis(F.matmul(F.moveaxis(x, axis, -1), matrix.T), -1, axis)


def average_pool(op: Any, x: Any) -> Any:
    """The means of windows of any kind."""
    for i, matrix in enumerate(_weights(op, x.shape[2:], x.dtype)):
        x = _along(x, i + 2, matrix)
    return x


def average_pool_spread(op: Any, gradient: Any) -> Any:
    """The transpose of that."""
    for i, matrix in enumerate(_weights(op, op.shape[2:], gradient.dtype, gradient.shape[2:])):
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
    numbers = numbers_of(x)
    parts = _each(op.output_size, len(sizes))
    for i in reversed(range(len(sizes))):
        x, numbers = _largest(x, numbers, i + 2, sizes[i], parts[i])
    return x, numbers


def _largest(x: Any, numbers: Any, axis: int, size: Any, parts: int) -> tuple[Any, Any]:
    """Of each part of a dimension: its elements in a row; of a short one the last again."""
    first, stop = _adaptive(size, parts)
    longest = _range(size, size // parts + 2)
    most = np.minimum if type(size) is int else F.minimum
    places = most(first[:, None] + longest, stop[:, None] - 1)
    index = _C.tensor(places) if isinstance(places, np.ndarray) else places
    rows = [F.take(y, index, axis=axis) for y in (x, numbers)]
    place = F.argmax(rows[0], axis=axis + 1, keepdims=True)
    return tuple(F.squeeze(F.take_along_axis(y, place, axis=axis + 1), axis=axis + 1) for y in rows)
