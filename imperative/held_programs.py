"""Ops that hold programs, by their kinds: for programs that are read and rewritten by the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops import OpBase
from .control_flow import Cond
from .loops import ScanLoop, WhileLoop
from .row_branch import RowBranch
from .sub_programs import Call
from .symbolic import Listing


def make_op(kind: str, calls: Sequence[Call], params: Sequence[Any]) -> OpBase:
    """The op of a kind around programs.

    Raises:
        ArgumentError: there is no such kind, or numbers do not go together.
    """
    first, second = calls[0], calls[-1]
    if kind == "Cond":
        return Cond(first, second)
    if kind == "WhileLoop":
        return WhileLoop(first, second, *params)
    if kind == "ScanLoop":
        carries, rows, reverse = params
        return ScanLoop(first, carries, rows, reverse=reverse)
    if kind == "RowBranch":
        return RowBranch(first, second, *params)
    return first


def is_record(record: Any) -> bool:
    """Whether this was written of such an op, as text, by a version before the core wrote them."""
    return isinstance(record, dict) and "holds" in record


def op_of_record(record: dict[str, Any], held: list[Listing]) -> OpBase:
    """The op that was written so.

    Raises:
        ValueError: there is no such kind.
        TypeError: a parameter is no number.
    """
    params = list(record["params"].values())
    for value in params:
        if value is not None and type(value) not in (int, bool):
            raise TypeError("parameters must be numbers")
    if record["holds"] not in ("Call", "Cond", "WhileLoop", "ScanLoop", "RowBranch"):
        raise ValueError(f"{record['holds']!r} must be a kind of op that holds programs")
    calls = [
        Call(held[call["program"]], call["given"], call["results"]) for call in record["calls"]
    ]
    return make_op(record["holds"], calls, params)
