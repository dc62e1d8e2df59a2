"""The quick way of a call: what most calls of an inference function are, in few steps.

All arguments are Tensors that hold plain values, as is what the function met beside them; nothing
was read, and nothing is set. The core then checks shapes and dtypes itself when it binds the
program, so what is left to check is Python's state. Every other call goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C
from ..imperative import Tensor
from ..imperative.trees import PLACE
from .places import ArgumentPlace, HeldPlace
from .python_guards import MISSING
from .recorded_program import RecordedProgram
from .recording import current_recording

_RawTensor = _C.RawTensor
_Tracer = _C.Tracer

QuickCall = Callable[[tuple[Any, ...]], Any]


def quick_call(program: RecordedProgram, count: int) -> QuickCall | None:
    """A function of the tuple of arguments, which gives NotImplemented where it does not serve.

    Args:
        program: what was recorded.
        count: how many tensors the arguments are, and they are nothing else.

    Returns:
        None: the program is not of this kind.
    """
    if not _is_simple(program, count):
        return None
    run = program.op.stretch.call if program.is_plain() else _without_history(program, count)
    named, cells, others = program.guards.by_kind()
    held = tuple([p.held for p in program.places if isinstance(p, HeldPlace)])
    is_one = count == 1

    def call(args: tuple[Any, ...]) -> Any:
        if len(args) != count:
            return NotImplemented
        for x in args:
            if type(x) is not Tensor:
                return NotImplemented
        for get, name, was in named:
            if get(name, MISSING) is not was:
                return NotImplemented
        if not is_one and len(set(map(id, args))) != count:
            return NotImplemented
        try:
            for cell, was in cells:
                if cell.cell_contents is not was:
                    return NotImplemented
            for guard in others:
                if not guard.holds():
                    return NotImplemented
            found = run(*args, *held)
        except (_C.TensorlikeError, ValueError):  # the long way says what is wrong, if anything is
            return NotImplemented
        if found is not NotImplemented:
            program.calls += 1
        return found

    return call


def _without_history(program: RecordedProgram, count: int) -> Callable[..., Any]:
    """Runs the program on the values under parameters: the function makes nothing of their tapes.

    That is so of a layer after ``eval(record=False)``.
    """
    run = program.op.stretch.run
    is_one = program.treedef is PLACE

    def call(*tensors: Any) -> Any:
        values = [x.__wrapped__ for x in tensors]
        for index, value in enumerate(values):
            if type(value) is _Tracer and index >= count:
                values[index] = value = value.primal
            if type(value) is not _RawTensor:
                return NotImplemented
        if current_recording() is not None:
            return NotImplemented
        found = run(values)
        return Tensor(found[0]) if is_one else tuple(map(Tensor, found))

    return call


def _is_simple(program: RecordedProgram, count: int) -> bool:
    if program.has_history or program.reads or program.assigned or not program.is_closed():
        return False
    places = program.places
    arguments = [p.index for p in places if isinstance(p, ArgumentPlace)]
    holds = [isinstance(p, HeldPlace) for p in places[count:]]
    if arguments != list(range(count)) or not all(holds):
        return False
    outputs = [result.output for result in program.results]
    if outputs != list(range(len(outputs))) or any(r.kind is not Tensor for r in program.results):
        return False
    return program.treedef is PLACE or (
        len(outputs) > 1 and program.treedef == (PLACE,) * len(outputs)
    )
