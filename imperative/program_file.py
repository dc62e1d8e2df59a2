"""Programs as bytes: the core writes and reads them; here is what only Python knows of a program.

That is the texts from which ops were declared, and ops that are classes written in Python. The
form is described in docs/program_file.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _C
from ..ops import OpBase, builtin
from ..ops.serializing import deserialize, serialize
from ..ops.sources import restore as restore
from ..ops.sources import sources_of as sources_of
from ..ops.versions import class_of

_SELF = sys.modules[__name__]


def write(
    program: _C.Program,
    results: Mapping[str, int] | Sequence[int],
    weights: Mapping[str, Any] | None = None,
) -> bytes:
    """The program, the variables that are its results, and the values of its states.

    Args:
        program: a program.
        results: variables by number, under names or in order.
        weights: arrays by the names of states.

    Raises:
        ParameterError: a captured value is no array, or an op cannot be written.
    """
    if not isinstance(results, Mapping):
        results = {str(i): number for i, number in enumerate(results)}
    return program.write_file(dict(results), weights, _SELF)


def read(data: bytes, empty: _C.Program) -> tuple[dict[str, int], dict[str, _C.RawTensor]]:
    """Adds what `write` wrote to an empty program.

    Returns:
        The numbers of the results by their names, and the values of states by theirs.

    Raises:
        ArgumentError: the bytes are no program, or one that this process cannot make.
    """
    from . import sub_programs as sub_programs  # which says what stands around those of a file

    return empty.read_file(data, _SELF)


def text_of(op: OpBase) -> str:
    """An op of a class written in Python, as text."""
    return serialize(op).decode()


def op_of(text: str) -> OpBase:
    """The op that `text_of` wrote, where its class is known here; or one that holds programs.

    The core writes those itself: as text, with programs as bytes in it, older files have them.
    """
    import json

    from . import held_programs

    record = json.loads(text)
    if not held_programs.is_record(record):
        return deserialize(text.encode())
    from base64 import b64decode

    from .symbolic import Listing

    held, numbers = [], []
    for data in record["programs"]:
        held.append(Listing())
        numbers.append(held[-1].read_file(b64decode(data, validate=True), _SELF)[0])
    for call in record["calls"]:
        own = numbers[call["program"]]
        for key in ("given", "results"):
            call[key] = tuple(own[str(n)] for n in call[key])
    made: OpBase = held_programs.op_of_record(record, held)
    return made


def meet(cls: tuple[str, str, int]) -> None:
    """Gives a class of ops that the core knows its Python class: an older version, or a new one."""
    native, name, version = cls
    if native != name:
        class_of(name, version)
        return
    place = {"__slots__": (), "__module__": builtin.__name__, "__doc__": f"{name}, of a program."}
    made: Any = type(name, (OpBase,), place, native=native, version=version)
    builtin.register(name, made)
