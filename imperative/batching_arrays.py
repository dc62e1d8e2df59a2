"""Batching rules of convolutions, recurrences and searches: where an axis of examples has no place
of its own, they are laid side by side on an axis that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..ops import Split
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
_lstm_cell_grad = _C.Function("lstm_cell_grad")
_matmul = _C.Function("matmul")
_stack = _C.Function("stack")
_subtract = _C.Function("subtract")
_sum = _C.Function("sum")

Outputs = Sequence[Any]


def convolution(call: BatchedCall) -> Outputs:
    """Examples are images more, and where they have kernels of their own, groups of channels."""
    if min(call.ndims[:2]) < 2 or call.ndims[2:] == [0]:
        call.inferred()
    if not any(call.is_mapped[1:]):
        (y,) = call.op(fold(call.values[0], 0), *call.values[1:])
        return [unfold(y, 0, call.size)]
    x, *rest = (call.mapped(i) for i in range(len(call.values)))
    op = call.with_attrs(groups=call.op.groups * call.size)
    (y,) = op(fold(x, 1), *(fold(value, 0) for value in rest))
    return [unfold(y, 1, call.size)]


def convolution_weight(call: BatchedCall) -> Outputs:
    """The kernels of groups of channels, one group or more for each example."""
    if min(call.ndims) < 2:
        call.inferred()
    op = call.with_attrs(groups=call.op.groups * call.size)
    (y,) = op(fold(call.mapped(0), 1), fold(call.mapped(1), 1))
    return [unfold(y, 0, call.size)]


def lstm(call: BatchedCall) -> Outputs:
    """Examples are sequences more; step by step where they have weights of their own."""
    if call.ndims != [3, 2, 2, 2]:
        call.inferred()
    if call.is_mapped[1]:
        call.inferred()
        return _lstm_steps(call)
    sums, hidden, cell = (call.mapped(i) for i in (0, 2, 3))
    outputs = call.op(fold(sums, 1), call.values[1], fold(hidden, 0), fold(cell, 0))
    return [unfold(y, 1, call.size) for y in outputs]


def _lstm_steps(call: BatchedCall) -> Outputs:
    sums, weight, hidden, cell = (call.mapped(i) for i in range(4))
    width = hidden.shape[-1]
    turned = transposed(weight)
    is_reverse = call.op.reverse
    found: list[tuple[Any, Any, Any]] = []
    for step in _steps_of(sums, is_reverse):
        gates = _add(step, _matmul(hidden, turned))
        hidden, cell = _lstm_cell(*Split(sizes=(width,) * 4, axis=-1)(gates), cell)
        found.append((hidden, cell, gates))
    if not found:
        return [reshape(sums, (call.size, *one.shape)) for one in call.inferred()]
    if is_reverse:
        found.reverse()
    return [_stack(*parts, axis=1) for parts in zip(*found, strict=True)]


def lstm_grad(call: BatchedCall) -> Outputs:
    """Step by step, from the last one back."""
    call.inferred()
    values = [call.mapped(i) for i in range(len(call.values))]
    weight, hidden, cell, *sequences = values
    is_reverse = call.op.reverse
    states, cells, gates, dstates, dcells, *dgates = (
        _steps_of(value, is_reverse) for value in sequences
    )
    width = hidden.shape[-1]
    flow, kept_flow = _subtract(hidden, hidden), _subtract(cell, cell)
    found: list[Any] = []
    for step in range(len(states) - 1, -1, -1):
        *by_gates, kept_flow = _lstm_cell_grad(
            *Split(sizes=(width,) * 4, axis=-1)(gates[step]),
            cells[step - 1] if step > 0 else cell,
            cells[step],
            _add(dstates[step], flow),
            _add(dcells[step], kept_flow),
        )
        by_sums = _concat(*by_gates, axis=-1)
        if dgates:
            by_sums = _add(by_sums, dgates[0][step])
        found.append(by_sums)
        flow = _matmul(by_sums, weight)
    if not found:
        return [sequences[2], _subtract(weight, weight), flow, kept_flow]
    found.reverse()
    before = [hidden, *states[:-1]]
    by_weight = _matmul(transposed(_concat(*found, axis=1)), _concat(*before, axis=1))
    if is_reverse:
        found.reverse()
    return [_stack(*found, axis=1), by_weight, flow, kept_flow]


def _steps_of(sequences: Any, is_reverse: bool) -> list[Any]:
    """The steps of all examples, in the order in which they are gone through."""
    size, length, *rest = sequences.shape
    parts = Split(sizes=(1,) * length, axis=1)(sequences)
    steps = [reshape(part, (size, *rest)) for part in parts]
    return steps[::-1] if is_reverse else steps


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
    is_left = call.op.side == "left"
    is_before = _less(table, wanted) if is_left else _less_equal(table, wanted)
    # NaN is the largest value.
    is_last = _isnan(wanted)
    if is_left:
        is_last = _logical_and(is_last, _logical_not(_isnan(table)))
    is_last = broadcast_to(is_last, is_before.shape)
    return [_sum(_logical_or(is_before, is_last), axis=-1)]


_arange = _C.Function("arange")
