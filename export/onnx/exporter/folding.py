"""Declared reductions in functional calls: what is mapped, combined and finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .... import _C
from .... import functional as F
from ....opdecl.compiler.expression import Call, Expr, Name, Num, topological
from ....opdecl.compiler.model import Formula, ReductionEntry
from ....ops.declaring import known_declarations

# What is combined by one of these is a reduction that ONNX has.
_KNOWN: Mapping[str, Callable[..., Any]] = {
    "add": F.sum, "multiply": F.prod, "maximum": F.max, "minimum": F.min, "bitwise_or": F.any,
    "bitwise_and": F.all,
}  # fmt: skip


def reduction(op: Any, x: Any) -> Any:
    """The elements mapped, combined along axes, and finished."""
    entry = next(e for e in known_declarations().entries if e.name == op.mode)
    if not isinstance(entry, ReductionEntry) or entry.map is None or entry.combine is None:
        return NotImplemented
    if op.dtype is not None:
        x = F.astype(x, op.dtype)
    elif entry.args[0].category.rank >= 2 and x.dtype.kind in ("integer", "bool"):
        is_sum = entry.result == "sum" or entry.result == "bool"
        x = x if is_sum else F.astype(x, "float32")
    mapped = evaluated(entry.map, {entry.args[0].name: x})
    combined = _combined(entry, mapped, op.axis)
    count: Any = x.size if op.axis is None else 1
    for axis in () if op.axis is None else op.axis if isinstance(op.axis, tuple) else (op.axis,):
        count = x.shape[axis] * count
    if entry.finish is not None:
        combined = evaluated(entry.finish, {"acc": combined, "n": count})
    return combined if op.keepdims else F.squeeze(combined, axis=_axes(op.axis, x.ndim))


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)


def _combined(entry: ReductionEntry, x: Any, axis: Any) -> Any:
    """With the reduced axes kept, of size 1."""
    assert entry.combine is not None
    call = entry.combine.results[0]
    is_known = isinstance(call, Call) and set(call.args) == {Name("a"), Name("b")}
    if is_known and isinstance(call, Call) and call.function in _KNOWN:
        found = _KNOWN[call.function](x, axis=axis, keepdims=True)
        return found if found.dtype is x.dtype else F.astype(found, x.dtype)
    axes = sorted(a % x.ndim for a in _axes(axis, x.ndim))
    rest = [a for a in range(x.ndim) if a not in axes]
    kept = tuple(1 if a in axes else x.shape[a] for a in range(x.ndim))
    moved = F.permute_dims(x, axes=(*axes, *rest))
    rows = F.reshape(moved, (-1, *(x.shape[a] for a in rest)))
    first = F.broadcast_to(F.full((), _initial(entry.init, x), dtype=x.dtype), rows.shape[1:])

    def step(carry: Any, row: Any) -> Any:
        assert entry.combine is not None
        made = F.astype(evaluated(entry.combine, {"a": carry, "b": row}), x.dtype)
        return made, made

    return F.reshape(F.scan(step, first, rows)[0], kept)


def _initial(word: str, x: Any) -> Any:
    if word in ("0", "1"):
        return int(word)
    if word in ("false", "true"):
        return word == "true"
    if x.dtype.kind == "floating":
        return -float("inf") if word == "lowest" else float("inf")
    limits = np.iinfo(x.dtype.name)
    return int(limits.min if word == "lowest" else limits.max)


def evaluated(formula: Formula, names: Mapping[str, Any]) -> Any:
    """An expression over values, in functional calls."""
    values: dict[Expr, Any] = {}
    for node in topological(formula.results):
        if isinstance(node, Name):
            values[node] = names[node.id]
        elif isinstance(node, Num):
            values[node] = node.value
        elif isinstance(node, Call):
            values[node] = _C.Function(node.function)(*(values[arg] for arg in node.args))
    return values[formula.results[0]]
