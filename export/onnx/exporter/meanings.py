"""What native ops are in other functional calls, where ONNX has no op for them.

Each is run once on variables, as bodies of declarations are, and becomes a function of ONNX. The
first argument has the op's attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .... import functional as F
from .alignments import ctc, ctc_grad
from .folding import reduction
from .integer_windows import convolve_integers
from .matrices import cholesky, cofactors, inverse, solve, solve_triangular
from .placing import numbers_of, placed
from .pooling import (
    average_pool,
    average_pool_spread,
    max_pool,
    max_pool_select,
    max_pool_spread,
)
from .recurrences import recurrence, recurrence_grad, recurrence_of_bytes, running

Meaning = Callable[..., Any]


def variance(op: Any, x: Any) -> Any:
    """The mean squared distance from the mean, of n less a correction."""
    apart = x - F.mean(x, axis=op.axis, keepdims=True)
    total = F.sum(F.square(apart), axis=op.axis, keepdims=op.keepdims)
    count = F.sum(F.ones_like(x), axis=op.axis, keepdims=op.keepdims)
    return total / F.maximum(count - op.correction, 0)


def determinant(op: Any, x: Any) -> Any:
    """The cofactors, or the sign and the logarithm of the determinant."""
    if op.mode == "cofactors":
        return cofactors(x)
    if op.mode != "logarithm":
        return NotImplemented
    value = F.linalg.det(x)
    return F.sign(value), F.log(F.abs(value))


def one_hot(op: Any, labels: Any) -> Any:
    """Labels against all numbers."""
    return F.expand_dims(labels, axis=-1) == F.arange(op.depth, dtype="int64")


def search_sorted(op: Any, x1: Any, x2: Any, sorter: Any = None) -> Any:
    """How many elements come before each one; NaN comes last."""
    if sorter is not None:
        x1 = F.take_along_axis(x1, sorter, axis=-1)
    rows, each = (x1, x2[..., None]) if x1.ndim == 1 else (x1[..., None, :], x2[..., None])
    before = rows < each if op.side == "left" else rows <= each
    if op.side == "left":
        before = before | (F.isnan(each) & ~F.isnan(rows))
    else:
        before = before | F.isnan(each)
    return F.count_nonzero(before, axis=-1)


def gather(op: Any, x: Any, *indices: Any) -> Any:
    """Of several indices: of one, along an axis that their axes are made; of the last ones only,
    those whose number is the last that was written to its place."""
    if op.last_only:
        own = F.gather(x, *indices, axes=op.axes)
        order = numbers_of(own)
        places = F.gather(numbers_of(x), *indices, axes=op.axes)
        last = placed(F.zeros(x.shape, dtype=order.dtype), places, order, "set")
        is_last = F.gather(last, *indices, axes=op.axes) == order
        return F.where(is_last, own, F.zeros_like(own))
    ndim = x.ndim
    axes = [axis % ndim for axis in op.axes]
    rest = [axis for axis in range(ndim) if axis not in axes]
    moved = F.permute_dims(x, axes=(*axes, *rest))
    index: Any = 0
    for axis, one in zip(axes, indices, strict=True):
        size = x.shape[axis]
        one = F.astype(one, "int64")
        index = index * size + F.where(one < 0, one + size, one)
    kept = tuple(x.shape[axis] for axis in rest)
    count: Any = 1
    for axis in axes:
        count = x.shape[axis] * count
    return F.gather(F.reshape(moved, (count, *kept)), index, axes=(0,))


def take_along_axis(op: Any, x: Any, indices: Any) -> Any:
    """After broadcasting; ONNX's op does not."""
    x, indices = _aligned(x, indices, op.axis)
    return F.take_along_axis(x, indices, axis=op.axis)


def put_along_axis(op: Any, x: Any, indices: Any, value: Any) -> Any:
    """The same."""
    indices = _aligned(x, indices, op.axis)[1]
    return F.put_along_axis(x, indices, value, axis=op.axis, mode=op.mode)


def _aligned(x: Any, indices: Any, axis: int) -> tuple[Any, Any]:
    """Both with the same sizes, but along the axis."""
    ndim = max(x.ndim, indices.ndim)
    shapes = [[*(1,) * (ndim - y.ndim), *y.shape] for y in (x, indices)]
    place = axis % ndim
    both = [n if type(m) is int and m == 1 else m for m, n in zip(*shapes, strict=True)]
    found = []
    for y, shape in zip((x, indices), shapes, strict=True):
        wanted = [*both[:place], shape[place], *both[place + 1 :]]
        found.append(F.broadcast_to(F.reshape(y, tuple(shape)), tuple(wanted)))
    return found[0], found[1]


def attend(op: Any, query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """Softmax of scores; a query that sees no key gives 0."""
    scale = op.scale if op.scale is not None else max(query.shape[-1], 1) ** -0.5
    scores = F.matmul(query * scale, F.permute_dims(key, axes=_swapped(key.ndim)))
    seen: Any = None
    if op.is_causal:
        rows, columns = (F.arange(n) for n in (query.shape[-2], key.shape[-2]))
        seen = rows[:, None] >= columns
    if mask is not None and mask.dtype.kind == "bool":
        seen = mask if seen is None else seen & mask
    elif mask is not None:
        scores = scores + F.astype(mask, scores.dtype)
    if seen is not None:
        scores = F.where(seen, scores, -float("inf"))
    largest = F.max(scores, axis=-1, keepdims=True)
    e = F.exp(scores - F.where(F.isfinite(largest), largest, 0))
    total = F.sum(e, axis=-1, keepdims=True)
    return F.matmul(e / F.where(total == 0, 1, total), value)


def _swapped(ndim: int) -> tuple[int, ...]:
    return (*range(ndim - 2), ndim - 1, ndim - 2)


MEANINGS: Mapping[str, Meaning] = {
    "Variance": variance,
    "Determinant": determinant,
    "OneHot": one_hot,
    "SearchSorted": search_sorted,
    "Gather": gather,
    "TakeAlongAxis": take_along_axis,
    "PutAlongAxis": put_along_axis,
    "Attention": attend,
    "ConvInteger": convolve_integers,
    "AvgPool": average_pool,
    "AvgPoolSpread": average_pool_spread,
    "MaxPool": max_pool,
    "MaxPoolSelect": max_pool_select,
    "MaxPoolSpread": max_pool_spread,
    "Recurrence": recurrence,
    "RecurrenceGrad": recurrence_grad,
    "DynamicQuantizedLSTM": recurrence_of_bytes,
    "Reduce": reduction,
    "CTC": ctc,
    "CTCGrad": ctc_grad,
    "Cholesky": cholesky,
    "Inverse": inverse,
    "Solve": solve,
    "SolveTriangular": solve_triangular,
    "Scan": running,
}
