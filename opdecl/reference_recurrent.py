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


def _lstm(
    sums: Array, weight: Array, hidden: Array, cell: Array, *, reverse: bool = False
) -> tuple[Array, ...]:
    import numpy as np

    states = np.empty((len(sums), *hidden.shape), sums.dtype)
    cells, gates = np.empty_like(states), np.empty_like(sums)
    for time in _times(len(sums), reverse):
        gates[time] = sums[time] + hidden @ weight.T
        enter, forget, candidate, leave = np.split(gates[time], 4, axis=1)
        cell = _sigmoid(forget) * cell + _sigmoid(enter) * np.tanh(candidate)
        hidden = _sigmoid(leave) * np.tanh(cell)
        states[time], cells[time] = hidden, cell
    return states, cells, gates


def _lstm_grad(
    weight: Array,
    hidden: Array,
    cell: Array,
    states: Array,
    cells: Array,
    gates: Array,
    dstates: Array,
    dcells: Array,
    *dgates: Array,
    reverse: bool = False,
) -> tuple[Array, ...]:
    import numpy as np

    dsums, dweight = np.zeros_like(gates), np.zeros_like(weight)
    dhidden, dcell = np.zeros_like(hidden), np.zeros_like(cell)
    order = list(_times(len(gates), reverse))
    for step, time in reversed(list(enumerate(order))):
        earlier = order[step - 1]
        before, cell_before = (states[earlier], cells[earlier]) if step else (hidden, cell)
        enter, forget, candidate, leave = np.split(gates[time], 4, axis=1)
        enter, forget, leave = _sigmoid(enter), _sigmoid(forget), _sigmoid(leave)
        candidate, shown = np.tanh(candidate), np.tanh(cells[time])
        dhidden = dhidden + dstates[time]
        dcell = dcell + dcells[time] + dhidden * leave * (1 - shown**2)
        parts = [
            dcell * candidate * enter * (1 - enter),
            dcell * cell_before * forget * (1 - forget),
            dcell * enter * (1 - candidate**2),
            dhidden * shown * leave * (1 - leave),
        ]
        dsums[time] = np.concatenate(parts, axis=1) + sum(part[time] for part in dgates)
        dweight = dweight + dsums[time].T @ before
        dhidden, dcell = dsums[time] @ weight, dcell * forget
    return dsums, dweight, dhidden, dcell


RECURRENT: Mapping[str, Callable[..., Any]] = {"LSTM": _lstm, "LSTMGrad": _lstm_grad}
