"""NumPy's words for recurrences over sequences: part of the oracle in `reference`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


def _sigmoid(x: Array) -> Array:
    import numpy as np

    return 1 / (1 + np.exp(-x))


def _times(length: int, reverse: bool) -> Iterator[int]:
    return iter(range(length)[:: -1 if reverse else 1])


def _steps(kind: str, sums: Array, products: Array, hidden: Array, cell: Array) -> Any:
    """The hidden state, the cell state and the gates after a step."""
    import numpy as np

    if kind == "lstm":
        gates = sums + products
        enter, forget, candidate, leave = np.split(gates, 4, axis=1)
        cell = _sigmoid(forget) * cell + _sigmoid(enter) * np.tanh(candidate)
        return _sigmoid(leave) * np.tanh(cell), cell, gates
    if kind == "gru":
        *summed, candidate = np.split(sums, 3, axis=1)
        *own, own_candidate = np.split(products, 3, axis=1)
        reset, update = summed[0] + own[0], summed[1] + own[1]
        new = np.tanh(candidate + _sigmoid(reset) * own_candidate)
        gates = np.concatenate([reset, update, own_candidate, candidate], axis=1)
        return new + _sigmoid(update) * (hidden - new), cell, gates
    total = sums + products
    return (np.tanh(total) if kind == "tanh" else np.maximum(total, 0)), cell, total


def _recurrence(
    sums: Array, weight: Array, hidden: Array, *rest: Array, cell: str, reverse: bool = False
) -> tuple[Array, ...]:
    import numpy as np

    states = np.empty((len(sums), *hidden.shape), sums.dtype)
    cells = np.empty_like(states)
    gates = np.empty((*sums.shape[:2], 4 * hidden.shape[1]), sums.dtype)
    state = rest[0] if cell == "lstm" else np.zeros_like(hidden)
    bias = rest[0] if cell == "gru" else 0
    for time in _times(len(sums), reverse):
        products = hidden @ weight.T + bias
        hidden, state, found = _steps(cell, sums[time], products, hidden, state)
        states[time], cells[time] = hidden, state
        if cell in ("lstm", "gru"):
            gates[time] = found
    return {"lstm": (states, cells, gates), "gru": (states, gates)}.get(cell, (states,))


def _by_gates(
    kind: str, gates: Array, before: Array, state: Array, dhidden: Array, cells: Any
) -> tuple[Array, Any]:
    """The gradients by the gates, or the sums where there are none, and past them."""
    import numpy as np

    if kind == "tanh":
        return dhidden * (1 - state**2), 0
    if kind == "relu":
        return dhidden * (state > 0), 0
    parts = np.split(gates, 4, axis=1)
    if kind == "gru":
        reset, update = _sigmoid(parts[0]), _sigmoid(parts[1])
        new = np.tanh(parts[3] + reset * parts[2])
        dnew = dhidden * (1 - update) * (1 - new**2)
        by_reset = dnew * parts[2] * reset * (1 - reset)
        by_update = dhidden * (before - new) * update * (1 - update)
        return np.concatenate([by_reset, by_update, dnew * reset, dnew], axis=1), dhidden * update
    cell_before, cell, dcell = cells
    enter, forget, leave = (_sigmoid(parts[i]) for i in (0, 1, 3))
    candidate, shown = np.tanh(parts[2]), np.tanh(cell)
    dcell = dcell + dhidden * leave * (1 - shown**2)
    found = [
        dcell * candidate * enter * (1 - enter),
        dcell * cell_before * forget * (1 - forget),
        dcell * enter * (1 - candidate**2),
        dhidden * shown * leave * (1 - leave),
    ]
    return np.concatenate(found, axis=1), dcell * forget


def _recurrence_grad(
    weight: Array,
    hidden: Array,
    states: Array,
    dstates: Array,
    *rest: Array,
    cell: str,
    reverse: bool = False,
) -> tuple[Array, ...]:
    import numpy as np

    is_lstm, size = cell == "lstm", hidden.shape[1]
    if is_lstm:
        kept, cells, gates, dcells, *dgates = rest
    else:
        gates, *dgates = rest or (states,)
    dsums = np.zeros((*states.shape[:2], len(weight)), states.dtype)
    dweight, dbias, dhidden = np.zeros_like(weight), 0, np.zeros_like(hidden)
    dcell = np.zeros_like(hidden)
    order = list(_times(len(states), reverse))
    for step, time in reversed(list(enumerate(order))):
        before = states[order[step - 1]] if step else hidden
        triple = None
        if is_lstm:
            triple = (cells[order[step - 1]] if step else kept, cells[time], dcell + dcells[time])
        flow = dhidden + dstates[time]
        found, past = _by_gates(cell, gates[time], before, states[time], flow, triple)
        found = found + sum(part[time] for part in dgates)
        products = found[:, : 3 * size] if cell == "gru" else found
        dsums[time] = np.delete(found, np.s_[2 * size : 3 * size], 1) if cell == "gru" else found
        dweight, dbias = dweight + products.T @ before, dbias + products.sum(0)
        dhidden = products @ weight + (past if cell == "gru" else 0)
        dcell = past if is_lstm else dcell
    last = {"lstm": (dcell,), "gru": (np.zeros(len(weight)) + dbias,)}.get(cell, ())
    return (dsums, dweight, dhidden, *last)


def _as_bytes(x: Array) -> tuple[Array, Array]:
    """Integers in the range of all of them and 0, less their zero point; and the step."""
    import numpy as np

    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = x.dtype.type(1) if high == low else (high - low) / x.dtype.type(255)
    zero = np.nan_to_num(np.rint(np.clip(0 - low / scale, 0, 255)))
    return np.nan_to_num(np.clip(np.rint(x / scale) + zero, 0, 255)) - zero, scale


def _dynamic_quantized_lstm(
    sums: Array,
    weight: Array,
    weight_scale: Array,
    weight_zero_point: Array,
    hidden: Array,
    cell: Array,
    lengths: Array,
    reverse: bool = False,
) -> tuple[Array, ...]:
    import numpy as np

    length, batch = sums.shape[:2]
    counts = np.clip(np.broadcast_to(lengths, batch), 0, length)
    columns = weight.astype(np.int32).T - np.broadcast_to(weight_zero_point, len(weight))
    states = np.zeros((length, *hidden.shape), sums.dtype)
    ends, cell, before = hidden.copy(), cell.copy(), hidden
    for step in range(length if hidden.size else 0):
        rows, scale = _as_bytes(before)
        found = (rows.astype(np.int32) @ columns).astype(sums.dtype) * (scale * weight_scale)
        before = np.zeros_like(hidden)
        for i in np.flatnonzero(step < counts):
            time = counts[i] - 1 - step if reverse else step
            row = slice(i, i + 1)
            before[row], cell[row], _ = _steps(
                "lstm", sums[time, row], found[row], before[row], cell[row]
            )
            states[time, i] = before[i]
            if step + 1 == counts[i]:
                ends[i] = before[i]
    return states, ends, cell


RECURRENT: Mapping[str, Callable[..., Any]] = {
    "Recurrence": _recurrence,
    "RecurrenceGrad": _recurrence_grad,
    "DynamicQuantizedLSTM": _dynamic_quantized_lstm,
}
