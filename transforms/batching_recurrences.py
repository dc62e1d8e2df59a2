"""Batching rules of recurrences: examples are sequences more; step by step where they have weights
of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional as F
from ..ops import Split
from .batched_call import BatchedCall, fold, transposed, unfold

Outputs = Sequence[Any]


def recurrence(call: BatchedCall) -> Outputs:
    """Sequences side by side, where all have one weight and one bias."""
    wanted = call.inferred()
    cell = call.op.cell
    is_gru = cell == "gru"
    if call.is_mapped[1] or (is_gru and call.is_mapped[3]):
        return _steps(call, wanted)
    sums, hidden = fold(call.mapped(0), 1), fold(call.mapped(2), 0)
    rest = [call.values[3] if is_gru else fold(call.mapped(3), 0)] if len(call.values) > 3 else []
    return [unfold(y, 1, call.size) for y in call.op(sums, call.values[1], hidden, *rest)]


def _steps(call: BatchedCall, wanted: Outputs) -> Outputs:
    sums, weight, hidden, *rest = (call.mapped(i) for i in range(len(call.values)))
    cell, size = call.op.cell, hidden.shape[-1]
    turned = transposed(weight)
    bias = F.reshape(rest[0], (call.size, 1, rest[0].shape[-1])) if cell == "gru" else None
    found: list[tuple[Any, ...]] = []
    for step in _steps_of(sums, call.op.reverse):
        products = F.matmul(hidden, turned)
        if cell == "lstm":
            gates = F.add(step, products)
            hidden, state = F.lstm_cell(*_quarters(gates, size), *rest)
            rest = [state]
            found.append((hidden, state, gates))
        elif cell == "gru":
            summed, candidate = Split(sizes=(2 * size, size), axis=-1)(step)
            own, own_candidate = Split(sizes=(2 * size, size), axis=-1)(F.add(products, bias))
            gates = F.concat((F.add(summed, own), own_candidate, candidate), axis=-1)
            reset, update, own_candidate, candidate = _quarters(gates, size)
            hidden = F.gru_cell(reset, update, candidate, own_candidate, hidden)
            found.append((hidden, gates))
        else:
            hidden = getattr(F, cell)(F.add(step, products))
            found.append((hidden,))
    if not found:
        return [F.reshape(sums, (call.size, *one.shape)) for one in wanted]
    if call.op.reverse:
        found.reverse()
    return [F.stack(parts, axis=1) for parts in zip(*found, strict=True)]


def recurrence_grad(call: BatchedCall) -> Outputs:
    """Sequences side by side, where all have one weight."""
    call.inferred()
    has_one_weight = not call.is_mapped[0] and call.values[2].shape[call.is_mapped[2]] > 0
    return _grad_side_by_side(call) if has_one_weight else _grad_steps(call)


def _grad_side_by_side(call: BatchedCall) -> Outputs:
    """The gradients by the weight and the bias of each example follow from those by its sums."""
    cell, size = call.op.cell, call.size
    values = [call.mapped(i) for i in range(1, len(call.values))]
    folded = [
        fold(x, 1 if ndim == 3 else 0) for x, ndim in zip(values, call.ndims[1:], strict=True)
    ]
    by_sums, _, by_hidden, *rest = call.op(call.values[0], *folded)
    by_sums, by_hidden = unfold(by_sums, 1, size), unfold(by_hidden, 0, size)
    hidden, states = values[:2]
    length, _, width = states.shape[1:]
    products = by_sums if cell != "gru" else _gru_products(by_sums, *values[3:])
    start = F.reshape(hidden, (size, 1, *hidden.shape[1:]))
    if call.op.reverse:
        before = [*Split(sizes=(1, length - 1), axis=1)(states)[1:], start]
    else:
        before = [start, *Split(sizes=(length - 1, 1), axis=1)(states)[:1]]
    rows = F.reshape(products, (size, -1, products.shape[-1]))
    by_weight = F.matmul(transposed(rows), F.reshape(F.concat(before, axis=1), (size, -1, width)))
    if cell == "gru":
        rest = [F.sum(rows, axis=1)]
    elif cell == "lstm":
        rest = [unfold(rest[0], 0, size)]
    return [by_sums, by_weight, by_hidden, *rest]


def _gru_products(by_sums: Any, gates: Any, *dgates: Any) -> Any:
    """What flows back to the hidden state's products: the reset gate stands before the last."""
    width = by_sums.shape[-1] // 3
    by_reset, by_update, by_candidate = Split(sizes=(width,) * 3, axis=-1)(by_sums)
    reset = F.sigmoid(_quarters(gates, width)[0])
    if not dgates:
        return F.concat((by_reset, by_update, F.multiply(by_candidate, reset)), axis=-1)
    _, _, own, candidate = _quarters(dgates[0], width)
    flow = F.multiply(F.subtract(by_candidate, candidate), reset)
    return F.concat((by_reset, by_update, F.add(flow, own)), axis=-1)


def _grad_steps(call: BatchedCall) -> Outputs:
    """Step by step, from the last one back."""
    cell = call.op.cell
    values = [call.mapped(i) for i in range(len(call.values))]
    weight, hidden, *sequences = values
    kept = sequences.pop(2) if cell == "lstm" else None
    steps = [_steps_of(value, call.op.reverse) for value in sequences]
    width = hidden.shape[-1]
    flow = F.subtract(hidden, hidden)
    kept_flow = None if kept is None else F.subtract(kept, kept)
    found: list[tuple[Any, Any]] = []
    for number in range(len(steps[0]) - 1, -1, -1):
        states, flows, *rest = (part[number] for part in steps)
        earlier = steps[0][number - 1] if number > 0 else hidden
        flow = F.add(flows, flow)
        past = None
        if cell == "lstm":
            cells, gates, dcells, *dgates = rest
            before = steps[2][number - 1] if number > 0 else kept
            given = (*_quarters(gates, width), before, cells, flow, F.add(dcells, kept_flow))
            *parts, kept_flow = F.lstm_cell_grad(*given)
            products = sums = _with(F.concat(parts, axis=-1), dgates)
        elif cell == "gru":
            gates, *dgates = rest
            reset, update, own, candidate = _quarters(gates, width)
            by_reset, by_update, by_candidate, by_own, past = F.gru_cell_grad(
                reset, update, candidate, own, earlier, flow
            )
            gates_flow = F.concat((by_reset, by_update, by_own, by_candidate), axis=-1)
            reset, update, own, candidate = _quarters(_with(gates_flow, dgates), width)
            products = F.concat((reset, update, own), axis=-1)
            sums = F.concat((reset, update, candidate), axis=-1)
        elif cell == "tanh":
            products = sums = F.subtract(flow, F.multiply(flow, F.square(states)))
        else:
            zero = F.full((), 0, dtype=flow.dtype).__wrapped__
            products = sums = F.where(F.greater(states, zero), flow, zero)
        found.append((sums, products))
        flow = F.matmul(products, weight)
        flow = flow if past is None else F.add(flow, past)
    return _gradients(call, values, found, steps[0], flow, kept_flow)


def _gradients(
    call: BatchedCall,
    values: Sequence[Any],
    found: list[tuple[Any, Any]],
    states: list[Any],
    flow: Any,
    kept_flow: Any,
) -> Outputs:
    weight, hidden = values[:2]
    if not found:
        nothing = F.subtract(weight, weight)
        shape = (*values[2].shape[:-1], weight.shape[-2])
        rest = [F.sum(nothing, axis=-1)] if call.op.cell == "gru" else []
        rest = rest if kept_flow is None else [kept_flow]
        return [F.reshape(values[2], shape), nothing, flow, *rest]
    found.reverse()
    products = F.concat([part for _, part in found], axis=1)
    before = F.concat((hidden, *states[:-1]), axis=1)
    by_weight = F.matmul(transposed(products), before)
    rest = [F.sum(products, axis=1)] if call.op.cell == "gru" else []
    rest = rest if kept_flow is None else [kept_flow]
    if call.op.reverse:
        found.reverse()
    return [F.stack([part for part, _ in found], axis=1), by_weight, flow, *rest]


def _with(gates: Any, cotangents: Sequence[Any]) -> Any:
    return F.add(gates, cotangents[0]) if cotangents else gates


def _quarters(gates: Any, size: int) -> Any:
    return Split(sizes=(size,) * 4, axis=-1)(gates)


def _steps_of(sequences: Any, is_reverse: bool) -> list[Any]:
    """The steps of all examples, in the order in which they are gone through."""
    size, length, *rest = sequences.shape
    parts = Split(sizes=(1,) * length, axis=1)(sequences)
    steps = [F.reshape(part, (size, *rest)) for part in parts]
    return steps[::-1] if is_reverse else steps
