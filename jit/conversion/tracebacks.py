"""Tracebacks of converted code: the user's frames, without those of operators and bodies."""

from __future__ import annotations

import dis
from pathlib import Path
from types import TracebackType

from . import settings
from .functions import is_converted_code
from .places import is_located

_OURS = str(Path(__file__).parents[2])


def of_user(error: Exception) -> Exception:
    """The error with a traceback of the user's frames, and with what is known of its cause."""
    _explain(error)
    if not settings.STATE.is_raw:
        error.__traceback__ = _cleaned(error.__traceback__)
    return error


def has_converted_frames(error: Exception) -> bool:
    """Whether an error was raised while converted code ran, and not from a program of it."""
    traceback = error.__traceback__
    while traceback is not None:
        if is_converted_code(traceback.tb_frame.f_code):
            return True
        traceback = traceback.tb_next
    return is_located(error)


def _cleaned(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(_OURS):
            before = kept[-1].tb_frame.f_code if kept else None
            # A body of a branch or loop is a part of the function, as which it is shown.
            if (
                before is not None
                and is_converted_code(code)
                and is_converted_code(before)
                and code in before.co_consts
                and code.co_name == before.co_name
            ):
                kept.pop()
            kept.append(traceback)
        traceback = traceback.tb_next
    found: TracebackType | None = None
    for part in reversed(kept):
        found = TracebackType(found, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return found


def _explain(error: Exception) -> None:
    """Says of a variable without a value where it has lost it."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if not isinstance(error, NameError) or last is None:
        return
    operators = last.tb_frame.f_locals.get("_jit")
    name = _name_at(last)
    reason = getattr(operators, "lost", {}).get(name)
    if reason is not None:
        error.args = (f"{name} has no value here: {reason}",)


def _name_at(traceback: TracebackType) -> str | None:
    for instruction in dis.get_instructions(traceback.tb_frame.f_code):
        if instruction.offset == traceback.tb_lasti:
            return str(instruction.argval)
    return None
