"""Batching rules of convolutions, recurrences and searches: where an axis of examples has no place
of its own, they are laid side by side on an axis that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..ops import LSTM
from .autodiff import vjp
from .batched_call import (
    BatchedCall,
    broadcast_to,
    fold,
    reshape,
    transposed,
    unfold,
)

_add = _C.Function("add")
_concat = _C.Function("concat")
_gather = _C.Function("gather")
_isnan = _C.Function("isnan")
_less = _C.Function("less")
_less_equal = _C.Function("less_equal")
_logical_and = _C.Function("logical_and")
_logical_not = _C.Function("logical_not")
_logical_or = _C.Function("logical_or")
_lstm_cell = _C.Function("lstm_cell")
_matmul = _C.Function("matmul")
_split = _C.Function("split")
_stack = _C.Function("stack")
_subtract = _C.Function("subtract")
_sum = _C.Function("sum")

Outputs = Sequence[Any]


def convolution(call: BatchedCall) -> Outputs:
    """Examples are images more, and where they have kernels of their own, groups of channels."""
    if min(call.ndims[:2]) < 2 or call.ndims[2:] == (0,):
        call.inferred()
    if not any(call.is_mapped[1:]):
        (y,) = call.op(fold(call.values[0], 0), *call.values[1:])
        return [unfold(y, 0, call.size)]
    x, *rest = (call.mapped(i) for i in range(len(call.values)))
    op = call.with_attrs(groups=call.op.groups * call.size)  # type: ignore[attr-defined]
    (y,) = op(fold(x, 1), *(fold(value, 0) for value in rest))
    return [unfold(y, 1, call.size)]


def convolution_weight(call: BatchedCall) -> Outputs:
    """The kernels of groups of channels, one group or more for each example."""
    if min(call.ndims) < 2:
        call.inferred()
    op = call.with_attrs(groups=call.op.groups * call.size)  # type: ignore[attr-defined]
    (y,) = op(fold(call.mapped(0), 1), fold(call.mapped(1), 1))
    return [unfold(y, 0, call.size)]


def lstm(call: BatchedCall) -> Outputs:
    """Examples are sequences more; step by step where they have weights of their own."""
    if call.ndims != (3, 2, 2, 2):
        call.inferred()
    if call.is_mapped[1]:
        call.inferred()
        return _lstm_steps(call)
    sums, hidden, cell = (call.mapped(i) for i in (0, 2, 3))
    outputs = call.op(fold(sums, 1), call.values[1], fold(hidden, 0), fold(cell, 0))
    return [unfold(y, 1, call.size) for y in outputs]


def _lstm_steps(call: BatchedCall) -> Outputs:
    sums, weight, hidden, cell = (call.mapped(i) for i in range(4))
    length, width = sums.shape[1], hidden.shape[-1]
    turned = transposed(weight)
    steps = [
        reshape(part, (call.size, *part.shape[2:])) for part in _split(sums, (1,) * length, axis=1)
    ]
    found: list[tuple[Any, Any, Any]] = []
    is_reverse = call.op.reverse  # type: ignore[attr-defined]
    for step in reversed(steps) if is_reverse else steps:
        gates = _add(step, _matmul(hidden, turned))
        quarters = _split(gates, (width,) * 4, axis=-1)
        hidden, cell = _lstm_cell(*quarters, cell)
        found.append((hidden, cell, gates))
    if is_reverse:
        found.reverse()
    if not found:
        shapes = [one.shape for one in call.inferred()]
        return [reshape(sums, (call.size, *shape)) for shape in shapes]
    return [_stack(*parts, axis=1) for parts in zip(*found, strict=True)]


def lstm_grad(call: BatchedCall) -> Outputs:
    """The gradient of the recurrence over examples, whose sums follow from its gates."""
    call.inferred()
    values = [call.mapped(i) for i in range(len(call.values))]
    weight, hidden, cell, states, _, gates, *cotangents = values
    is_reverse = call.op.reverse  # type: ignore[attr-defined]
    start = reshape(hidden, (call.size, 1, *hidden.shape[1:]))
    length = states.shape[1]
    if length == 0:
        return [gates, *(_subtract(value, value) for value in (weight, hidden, cell))]
    first, last = (1, length - 1) if is_reverse else (length - 1, 1)
    head, tail = _split(states, (first, last), axis=1)
    before = _concat(tail, start, axis=1) if is_reverse else _concat(start, head, axis=1)
    wide = reshape(transposed(weight), (call.size, 1, weight.shape[2], weight.shape[1]))
    sums = _subtract(gates, _matmul(before, wide))
    recurrence = LSTM(reverse=is_reverse)

    def of_examples(*xs: Any) -> Any:
        xs = tuple(x.__wrapped__ for x in xs)
        return tuple(lstm(BatchedCall(recurrence, xs, (True,) * 4, call.size)))

    _, pull_back = vjp(of_examples, sums, weight, hidden, cell)
    if len(cotangents) == 2:
        cotangents.append(_subtract(gates, gates))
    return [gradient.__wrapped__ for gradient in pull_back(tuple(cotangents))]


def search_sorted(call: BatchedCall) -> Outputs:
    """As it is, in one table; in tables of their own by counting what comes before."""
    call.inferred()
    if not call.is_mapped[0] and not any(call.is_mapped[2:]):
        return call.op(*call.values)
    table, wanted = call.mapped(0), call.mapped(1)
    if len(call.values) > 2:
        number = reshape(_arange(0, call.size).__wrapped__, (call.size, 1))
        table = _gather(table, number, call.mapped(2), axes=(0, 1))
    table = reshape(table, (call.size, *[1] * call.ndims[1], table.shape[1]))
    wanted = reshape(wanted, (*wanted.shape, 1))
    is_left = call.op.side == "left"  # type: ignore[attr-defined]
    is_before = _less(table, wanted) if is_left else _less_equal(table, wanted)
    # NaN is the largest value.
    is_last = _isnan(wanted)
    if is_left:
        is_last = _logical_and(is_last, _logical_not(_isnan(table)))
    is_last = broadcast_to(is_last, is_before.shape)
    return [_sum(_logical_or(is_before, is_last), axis=-1)]


_arange = _C.Function("arange")
