"""The quick way of a call: what most calls are, checked and run by the core in one step.

All tensors of the arguments are Tensors that hold plain values, or such on one tape; other
arguments are plain numbers and words, and whatever else the function met holds plain values or is a
leaf. The core checks shapes and dtypes, and Python's state by what the guards hold on to. Where
derivatives are wanted, it puts the program on the tape as one op. Every other call goes the long
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import _C
from ..imperative import Tensor
from ..imperative.trees import PLACE, unflatten
from .places import Result
from .python_guards import MISSING, is_plain
from .recorded_program import RecordedProgram
from .signature import is_by_itself

# How many programs a call is tried with before it goes the long way.
_MOST = 8
# What arguments are that the core compares by itself.
_PLAIN = (bool, int, float, str, type(None))

# A name in a dict, and what it must be.
NamedGuard = tuple[dict[str, Any], str, Any]


def with_first(
    known: tuple[_C.QuickCall, ...],
    program: RecordedProgram,
    args: Sequence[Any],
    own: Sequence[NamedGuard],
) -> tuple[_C.QuickCall, ...]:
    """The quick calls that are tried, when a program has served a call that none of them did.

    Args:
        known: those so far.
        program: what served the call.
        args: its arguments, and what the function keeps itself.
        own: what must be so beside the program's guards.
    """
    if not program.is_tried:
        program.is_tried = True
        program.quick = quick_call(program, args, own)
    if program.quick is None or program.quick in known:
        return known
    return (program.quick, *known[: _MOST - 1])


def quick_call(
    program: RecordedProgram, args: Sequence[Any], own: Sequence[NamedGuard]
) -> _C.QuickCall | None:
    """What serves calls like one that a program has just served.

    Args:
        program: what was recorded.
        args: the arguments of that call, all by position, and what the function keeps itself.
        own: what must be so beside the program's guards.

    Returns:
        None: calls of this kind go the long way.
    """
    state = program.plain_state()
    given = _said_arguments(program, args)
    kept = [(one.holder, one.name) for one in program.kept if type(one.holder) is dict]
    if state is None or given is None or len(kept) != len(program.kept):
        return None
    named, cells, fields, others = program.guards.by_kind()
    changes = [(place.said(), output) for place, output in program.assigned]
    leaves, stores = program.leaves[: program.count], _said_stores(program)
    assembling = _assembling(program.treedef)
    if stores is None:
        leaves, stores, assembling = list(range(len(program.results))), [], program.assembled
    return _C.QuickCall(
        program.op,
        given,
        kept,
        ((*own, *named), cells, fields, others),
        MISSING,
        state,
        [place.said() for place in program.places],
        changes,
        stores,
        list(map(_said, program.results)),
        leaves,
        assembling,
        (program.lives, program.op.traced) if program.has_history else None,
    )


def _said_arguments(program: RecordedProgram, args: Sequence[Any]) -> tuple[Any, ...] | None:
    """The arguments as csrc/bind/quick_arguments.h takes them; None: there are others."""
    said: list[Any] = []
    tensors = iter(zip(program.arguments, program.kinds, strict=True))
    seen: list[Tensor] = []
    for x in args:
        if type(x) is not Tensor:
            if type(x) not in _PLAIN and not is_by_itself(x):
                return None
            said.append(x)
            continue
        number, kind = (-1, None) if any(x is other for other in seen) else next(tensors)
        if kind is None:  # neither elements nor such on a tape
            return None
        seen.append(x)
        said.append((number, *kind))
    return tuple(said)


def _said(result: Result) -> tuple[Any, Any]:
    return (result.kind, result.output) if result.place is None else (None, result.place.said())


def _said_stores(program: RecordedProgram) -> list[tuple[Any, Any, int, Any]] | None:
    """What gets into dicts, by key: a result, or -1 and what it is; None: there is more."""
    said = []
    leaves = iter(program.leaves[program.count :])
    for store, items in zip(program.stores, program.stored, strict=True):
        if store.target is None:
            return None
        for key, x in items.items():
            if x is not PLACE and not is_plain(x):
                return None
            said.append((store.target, key, next(leaves) if x is PLACE else -1, x))
    return said


def _assembling(treedef: Any) -> Any:
    """What makes the result of the leaves; None: it is the one that there is."""
    if treedef is PLACE:
        return None
    is_flat = type(treedef) is tuple and all(part is PLACE for part in treedef)
    return tuple if is_flat else partial(unflatten, treedef)
