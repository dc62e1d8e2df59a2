"""Recurrences and running combinations in functional calls: scans over steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .... import functional as F

Cell = Callable[..., Any]


def _lstm(sums: Any, products: Any, hidden: Any, cell: Any) -> Any:
    gates = sums + products
    enter, forget, candidate, leave = _parts(gates, 4)
    cell = F.sigmoid(forget) * cell + F.sigmoid(enter) * F.tanh(candidate)
    return F.sigmoid(leave) * F.tanh(cell), cell, gates


def _gru(sums: Any, products: Any, hidden: Any, cell: Any) -> Any:
    first, second, candidate = _parts(sums, 3)
    own_first, own_second, own_candidate = _parts(products, 3)
    reset, update = first + own_first, second + own_second
    new = F.tanh(candidate + F.sigmoid(reset) * own_candidate)
    gates = F.concat([reset, update, own_candidate, candidate], axis=1)
    return new + F.sigmoid(update) * (hidden - new), cell, gates


def _simple(activation: Any) -> Cell:
    def step(sums: Any, products: Any, hidden: Any, cell: Any) -> Any:
        return activation(sums + products), cell, hidden

    return step


def _parts(x: Any, count: int) -> Any:
    size = x.shape[-1] // count
    return F.split(x, (size,) * count, axis=1)


CELLS: Mapping[str, Cell] = {
    "lstm": _lstm, "gru": _gru, "tanh": _simple(F.tanh), "relu": _simple(F.relu),
}  # fmt: skip


def recurrence(op: Any, sums: Any, weight: Any, hidden: Any, *rest: Any) -> Any:
    """A scan over the steps."""
    step, kind = CELLS[op.cell], op.cell
    columns = F.permute_dims(weight, axes=(1, 0))

    def body(carry: Any, row: Any) -> Any:
        hidden, cell = carry
        products = F.matmul(hidden, columns)
        if kind == "gru":
            products = products + rest[0]
        hidden, cell, gates = step(row, products, hidden, cell)
        made = {"lstm": (hidden, cell, gates), "gru": (hidden, gates)}.get(kind, (hidden,))
        return (hidden, cell), made

    start = (hidden, rest[0] if kind == "lstm" else F.zeros_like(hidden))
    return F.scan(body, start, sums, reverse=op.reverse)[1]


def _back_lstm(flow: Any, cell: Any, gates: Any, row: Any) -> tuple[Any, Any, Any]:
    enter, forget, candidate, leave = _parts(gates, 4)
    enter, forget, leave = F.sigmoid(enter), F.sigmoid(forget), F.sigmoid(leave)
    candidate, shown = F.tanh(candidate), F.tanh(row["cells"])
    cell = cell + flow * leave * (1 - shown * shown)
    sums = [
        cell * candidate * enter * (1 - enter), cell * row["cell_before"] * forget * (1 - forget),
        cell * enter * (1 - candidate * candidate), flow * shown * leave * (1 - leave),
    ]  # fmt: skip
    return F.concat(sums, axis=1), F.zeros_like(flow), cell * forget


def _back_gru(flow: Any, cell: Any, gates: Any, row: Any) -> tuple[Any, Any, Any]:
    reset, update, own, candidate = _parts(gates, 4)
    reset, update = F.sigmoid(reset), F.sigmoid(update)
    new = F.tanh(candidate + reset * own)
    by_candidate = flow * (1 - update) * (1 - new * new)
    sums = [
        by_candidate * own * reset * (1 - reset),
        flow * (row["before"] - new) * update * (1 - update), by_candidate * reset, by_candidate,
    ]  # fmt: skip
    return F.concat(sums, axis=1), flow * update, cell


def _back_simple(slope: Callable[[Any], Any]) -> Cell:
    def step(flow: Any, cell: Any, gates: Any, row: Any) -> tuple[Any, Any, Any]:
        return flow * slope(row["states"]), F.zeros_like(flow), cell

    return step


# From what flows into the states to what flows into the gates, past them, and into the cell.
BACK: Mapping[str, Cell] = {
    "lstm": _back_lstm, "gru": _back_gru, "tanh": _back_simple(lambda y: 1 - y * y),
    "relu": _back_simple(lambda y: F.astype(y > 0, y.dtype)),
}  # fmt: skip


def recurrence_grad(op: Any, weight: Any, hidden: Any, states: Any, flows: Any, *rest: Any) -> Any:
    """A scan from the last step to the first."""
    kind, given = op.cell, list(rest)
    first_cell = given[0] if kind == "lstm" else F.zeros_like(hidden)
    rows: dict[str, Any] = {
        "before": _before(hidden, states, op.reverse), "states": states, "flows": flows,
    }  # fmt: skip
    if kind == "lstm":
        rows["cell_before"] = _before(given.pop(0), given[0], op.reverse)
        rows["cells"] = given.pop(0)
    if kind in ("lstm", "gru"):
        rows["gates"] = given.pop(0)
    if kind == "lstm":
        rows["by_cells"] = given.pop(0)
    if given:
        rows["by_gates"] = given[0]

    def body(carry: Any, row: Any) -> Any:
        flow, cell = carry
        flow = flow + row["flows"]
        cell = cell + row["by_cells"] if kind == "lstm" else cell
        found, past, cell = BACK[kind](flow, cell, row.get("gates"), row)
        found = found + row["by_gates"] if given else found
        products = sums = found
        if kind == "gru":
            reset, update, own, candidate = _parts(found, 4)
            products = F.concat([reset, update, own], axis=1)
            sums = F.concat([reset, update, candidate], axis=1)
        return (F.matmul(products, weight) + past, cell), (sums, products)

    start = (F.zeros_like(hidden), F.zeros_like(first_cell))
    (flow, cell), (sums, products) = F.scan(body, start, rows, reverse=not op.reverse)
    by_weight = F.tensordot(products, rows["before"], axes=((0, 1), (0, 1)))
    more = {"lstm": (cell,), "gru": (F.sum(products, axis=(0, 1)),)}.get(kind, ())
    return (sums, by_weight, flow, *more)


def _before(first: Any, states: Any, is_reverse: bool) -> Any:
    """The state before each step."""
    if is_reverse:
        return F.concat([states[1:], first[None]], axis=0)
    return F.concat([first[None], states[:-1]], axis=0)


def recurrence_of_bytes(
    op: Any, sums: Any, weight: Any, scale: Any, zero: Any, hidden: Any, cell: Any, lengths: Any
) -> Any:
    """A scan over the steps, each sequence from its first one to its last."""
    steps = F.reshape(F.arange(sums.shape[0]), (-1, 1))
    examples = F.reshape(F.arange(sums.shape[1]), (1, -1))
    counts = F.reshape(F.minimum(F.astype(lengths, "int64"), sums.shape[0]), (1, -1))
    is_on = (steps < counts) & (examples >= 0)
    places = F.where(is_on, counts - 1 - steps if op.reverse else steps, steps)
    turned = (places, F.broadcast_to(examples, places.shape))
    columns, zeros = F.permute_dims(weight, axes=(1, 0)), F.reshape(zero, (1, -1))

    def body(carry: Any, row: Any) -> Any:
        before, cell, end = carry
        own, is_live = row
        is_live = F.reshape(is_live, (-1, 1))
        q, step, middle = F.dynamic_quantize_linear(before)
        products = F.astype(F.matmul_integer(q, columns, middle, zeros), own.dtype)
        found, kept, _ = _lstm(own, products * (step * scale), before, cell)
        cell, end = F.where(is_live, kept, cell), F.where(is_live, found, end)
        before = F.where(is_live, found, 0)
        return (before, cell, end), before

    given = (F.gather(sums, *turned, axes=(0, 1)), is_on)
    (_, cell, end), states = F.scan(body, (hidden, cell, hidden), given)
    return F.gather(states, *turned, axes=(0, 1)), end, cell


_COMBINED: Mapping[str, Callable[[Any, Any], Any]] = {
    "cumulative_sum": F.add,
    "cumulative_prod": F.multiply,
    "cumulative_max": F.maximum,
    "cumulative_min": F.minimum,
    "logcumsumexp": F.logaddexp,
}


def running(op: Any, x: Any) -> Any:
    """Running combinations along an axis, as a scan over it."""
    axis = 0 if op.axis is None else op.axis
    if op.dtype is not None:
        x = F.astype(x, op.dtype)
    elif op.mode == "logcumsumexp" and x.dtype.kind != "floating":
        x = F.astype(x, "float32")
    elif op.mode in ("cumulative_sum", "cumulative_prod") and x.dtype.kind == "integer":
        x = F.astype(x, "uint64" if x.dtype.name.startswith("u") else "int64")
    rows = F.moveaxis(x, axis, 0)
    first = F.broadcast_to(F.astype(_neutral(op.mode, x), x.dtype), rows.shape[1:])
    combine = _COMBINED[op.mode]

    def body(carry: Any, row: Any) -> Any:
        found = combine(carry, row)
        return found, found

    found = F.scan(body, first, rows, reverse=op.reverse)[1]
    if op.include_initial:
        parts = [found, first[None]] if op.reverse else [first[None], found]
        found = F.concat(parts, axis=0)
    return F.moveaxis(found, 0, axis)


def _neutral(mode: str, x: Any) -> Any:
    """What no elements give."""
    if mode in ("cumulative_sum", "cumulative_prod"):
        return F.full((), 0 if mode == "cumulative_sum" else 1, dtype=x.dtype)
    low = mode != "cumulative_min"
    if x.dtype.kind == "floating":
        return F.full((), -float("inf") if low else float("inf"), dtype=x.dtype)
    limits = np.iinfo(x.dtype.name)
    return F.full((), int(limits.min if low else limits.max), dtype=x.dtype)
