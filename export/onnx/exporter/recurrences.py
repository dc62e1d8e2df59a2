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
