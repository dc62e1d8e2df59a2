"""Runs that fail: by the function's own fault, or since the program is one for other calls.

A program of unknown sizes may lack a gradient, or what the function does for other sizes; and what
it does behind a value that Python read is for that value alone. Then the function is called again,
which says what it does: an error of its own comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..imperative import Size
from ..imperative.random import default_stream
from .conversion.program_effects import acts
from .python_guards import Change
from .recorded_program import RecordedProgram


class Failure(Change):
    """A run that failed, which the function itself may not do."""

    def __str__(self) -> str:
        return f"a program that failed: {self.now}"


def run(program: RecordedProgram, tensors: Sequence[Any]) -> tuple[Any, Any, Change | None]:
    """The results of a run, and where random numbers stood; or why the program is not for the call.

    Raises:
        TensorlikeError: the function would fail so.
    """
    is_for_others = bool(program.reads) or _is_open(program)
    state = default_stream.state() if is_for_others else None
    try:
        return program.run(tensors), state, None
    except _C.TensorlikeError as error:
        change = program.misfit()
        if change is None and is_for_others and not acts(program.compiled):
            change = Failure("the run", "", "a result", str(error))
        if change is None:
            raise
        if state is not None:
            default_stream.give_back(state)
        return None, None, change


def _is_open(program: RecordedProgram) -> bool:
    """Whether it has sizes that are not known."""
    shapes = [program.listing.shape(number) for number, _ in program.all_inputs]
    return any(isinstance(size, Size) for shape in shapes for size in shape)
