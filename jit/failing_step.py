"""Which step of a program failed: the program is run again, step by step, up to the error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..imperative import Tensor
from ..imperative.blocks import is_symbolic
from ..imperative.control_flow import Cond
from ..imperative.levels import stopped
from ..imperative.loops import WhileLoop
from ..imperative.sub_programs import Call, sub_programs_of
from ..imperative.taking import taken_in
from .conversion.places import Place, is_located, raise_at
from .conversion.program_effects import Effect
from .conversion.swallowed import note
from .recorded_tensor import RecordedTensor


def run_located(op: Any, values: Sequence[Any], function: str) -> Any:
    """What an op around programs gives; an error in them is raised from the user's line.

    Args:
        op: the op.
        values: what it is applied to.
        function: the name of the user's function.
    """
    values = taken_in(values) or values
    try:
        return op(*values)
    except Exception as error:
        note(error)
        if not is_located(error):
            given = [stopped(x.shadow) if isinstance(x, RecordedTensor) else x for x in values]
            if not any(map(is_symbolic, given)):
                raise_from(_inside(op, given, error), function, error)
        raise


def raise_from(line: str, function: str, error: Exception) -> None:
    """Raises an error from a line, ``file:line``; of none it does nothing."""
    filename, _, number = line.rpartition(":")
    if filename:
        raise_at(Place(filename, int(number), function), error)


def failing_line(call: Call, values: Sequence[Any], error: Exception) -> str:
    """The user's line, as ``file:line``, of the step that raises such an error; "": none does.

    What the program prints is not printed again.
    """
    program = call.program
    known = {
        number: value
        for number, (_, _, value) in enumerate(program.variables())
        if value is not None
    }
    known.update(zip(call.given, values, strict=True))
    for step in program.applied():
        if not all(number in known for number in step.inputs):
            continue
        given = [known[number] for number in step.inputs]
        if isinstance(step.op, Effect):
            known.update(zip(step.outputs, given[:1], strict=True))
            continue
        try:
            made = step.op(*given)
        except type(error):
            return _inside(step.op, given, error) or step.line
        except Exception:
            return ""
        known.update(zip(step.outputs, made, strict=True))
    return ""


def _inside(op: Any, given: Sequence[Any], error: Exception) -> str:
    """The line in the programs of an op."""
    if isinstance(op, Cond):
        call = op.when_true if Tensor(given[0]) else op.when_false
        return failing_line(call, given[1:], error)
    if isinstance(op, WhileLoop):
        carries, constants = list(given[: op.count]), given[op.count :]
        while Tensor(op.predicate(*carries, *constants)[0]):
            try:
                carries = list(op.body(*carries, *constants))
            except type(error):
                return failing_line(op.body, [*carries, *constants], error)
        return ""
    for call in sub_programs_of(op):
        lines = [step.line for step in call.program.applied() if step.line]
        return lines[0] if lines else ""
    return ""
