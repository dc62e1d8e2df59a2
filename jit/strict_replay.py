"""Strict replay: Python runs in each call, and each op is held against what was recorded first."""

from __future__ import annotations

from typing import Any

from .. import _C
from .errors import TraceMismatchError
from .recorded_program import RecordedProgram
from .touched import same_elements


def refuse_other(first: RecordedProgram, again: RecordedProgram, who: str) -> None:
    """Raises where a recording differs from the first one, and says what differs.

    Parts that `exclude_from_trace` leaves out do not count.

    Raises:
        TraceMismatchError: it does.
    """
    _Comparison(first, again, who).run()


class _Comparison:
    """Two recordings, side by side."""

    def __init__(self, first: RecordedProgram, again: RecordedProgram, who: str) -> None:
        self.first, self.again, self.who = first, again, who
        self.variables = first.listing.variables()
        self.variables_again = again.listing.variables()
        self.same: dict[int, int] = {}  # variables of the first by those of the second

    def run(self) -> None:
        steps = _counted(self.first)
        steps_again = _counted(self.again)
        for index, step in enumerate(steps_again):
            if index == len(steps):
                self._refuse(
                    "the trace must end where it ended last time", f"one op more, {step[0]}",
                    step[3],
                )  # fmt: skip
            self._compare(index, steps[index], step)
        if len(steps) > len(steps_again):
            missing = steps[len(steps_again)]
            self._refuse(
                "the trace must go on as last time", f"no further op; then came {missing[0]}",
                missing[3],
            )  # fmt: skip
        outputs = [self.same.get(n, n) for n in self.again.outputs]
        if len(self.again.results) != len(self.first.results) or outputs != self.first.outputs:
            self._refuse("results must be those of last time", "others", "")

    def _compare(self, index: int, step: Any, again: Any) -> None:
        line = again[3]
        both_draw = _C.is_random(step[0]) and type(step[0]) is type(again[0])
        if step[0] != again[0] and not both_draw:
            self._refuse(f"op {index} must be the one of last time, {step[0]}", f"{again[0]}", line)
        if len(step[1]) != len(again[1]):
            self._refuse(
                f"op {index}, {step[0]}, must have {len(step[1])} inputs", f"{len(again[1])}", line
            )
        for slot, (old, new) in enumerate(zip(step[1], again[1], strict=True)):
            self._compare_input(index, step[0], slot, old, new, line)
        for old, new in zip(step[2], again[2], strict=True):
            self.same[new] = old
            self._compare_kind(index, step[0], old, new, line)

    def _compare_input(self, index: int, op: Any, slot: int, old: int, new: int, line: str) -> None:
        role, role_again = self.variables[old][1], self.variables_again[new][1]
        where = f"input {slot} of op {index}, {op},"
        if role == "captured" and role_again == "captured":
            a, b = self.variables[old][2], self.variables_again[new][2]
            self._compare_kind(index, op, old, new, line)
            if a is not b and not same_elements(a, b):
                self._refuse(f"{where} must be the constant of last time", "another one", line)
            return
        if role != role_again or self._wired(new) != old:
            self._refuse(
                f"{where} must be {self.variables[old][0]}, as last time",
                f"mis-wiring: {self.variables_again[new][0]}", line,
            )  # fmt: skip

    def _wired(self, new: int) -> int:
        if new in self.same:
            return self.same[new]
        places = {number: place for number, place in self.again.all_inputs}
        for number, place in self.first.all_inputs:
            if repr(place) == repr(places.get(new)):
                return number
        return -1

    def _compare_kind(self, index: int, op: Any, old: int, new: int, line: str) -> None:
        was, now = self.first.listing.describe(old), self.again.listing.describe(new)
        if was != now:
            self._refuse(f"op {index}, {op}, must give {was}, as last time", now, line)

    def _refuse(self, wanted: str, got: str, line: str) -> None:
        place = f" at {line}" if line else ""
        raise TraceMismatchError(
            wanted, op=self.who, got=f"{got}{place}",
            fix="trace without strict=True, or leave the part out by exclude_from_trace()",
        )  # fmt: skip


def _counted(made: RecordedProgram) -> list[Any]:
    """The steps that count."""
    steps = made.listing.steps()
    return [step for i, step in enumerate(steps) if not any(a <= i < b for a, b in made.excluded)]
