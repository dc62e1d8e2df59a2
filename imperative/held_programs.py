"""Ops that hold programs as plain data, and back: for programs that are saved."""

from __future__ import annotations

from typing import Any

from ..ops import OpBase
from .control_flow import Cond, ControlOp
from .loops import ScanLoop, WhileLoop
from .row_branch import RowBranch
from .sub_programs import Call, sub_programs_of
from .symbolic import Listing

_KINDS: dict[str, type[OpBase]] = {
    kind.__name__: kind for kind in (Call, Cond, WhileLoop, ScanLoop, RowBranch)
}


def is_holder(op: Any) -> bool:
    """Whether an op holds programs."""
    return isinstance(op, (Call, ControlOp))


def is_record(record: Any) -> bool:
    """Whether this was written of such an op."""
    return isinstance(record, dict) and "holds" in record


def record_of(op: Any, held: list[Listing]) -> dict[str, Any]:
    """The op: its kind, its programs by their places in `held`, to which they are added.

    What it keeps for its gradient on a tape is left out: another tape finds it again.
    """
    kind = next(cls.__name__ for cls in type(op).__mro__ if cls.__name__ in _KINDS)
    calls = []
    for call in sub_programs_of(op):
        if all(call.program is not program for program in held):
            held.append(call.program)
        place = next(i for i, program in enumerate(held) if program is call.program)
        calls.append({"program": place, "given": call.given, "results": call.results})
    return {"holds": kind, "calls": calls, "params": op.params()}


def op_of(record: dict[str, Any], held: list[Listing]) -> Any:
    """The op that `record_of` wrote.

    Raises:
        ValueError: there is no such kind.
    """
    if record["holds"] not in _KINDS:
        raise ValueError(f"{record['holds']!r} must be one of {', '.join(_KINDS)}")
    calls = []
    for call in record["calls"]:
        program = held[call["program"]]
        calls.append(Call(program, call["given"], call["results"]))
    params = record["params"]
    for name, value in params.items():
        if value is not None and type(value) not in (int, bool):
            raise TypeError(f"{name} must be a number")
    if record["holds"] == "Call":
        (call,) = calls
        return call
    return _KINDS[record["holds"]](*calls, **params)
