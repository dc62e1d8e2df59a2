"""The quick way of a call: what most calls are, checked and run by the core in one step.

All tensors of the arguments are Tensors that hold plain values, or such on one tape; other
arguments are plain numbers and words, and whatever else the function met holds plain values or is a
leaf. The core checks shapes and dtypes, and Python's state by what the guards hold on to. Where
derivatives are wanted, it puts the program on the tape as one op. Every other call goes the long
way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import _C
from ..imperative import Tensor
from ..imperative.trees import PLACE
from .places import Result
from .putting_back import extend, id_of, set_items
from .python_guards import MISSING, is_plain
from .recorded_program import RecordedProgram
from .signature import is_by_itself
from .stores import Item, Store

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
    leaves = list(args[: len(args) - len(program.kept)])
    kept = [
        (name.holder, name.name, _taken_apart(x, leaves))
        for name, x in zip(program.kept, args[len(leaves) :], strict=True)
        if type(name.holder) is dict
    ]
    given = _said_arguments(program, leaves)
    if state is None or given is None or len(kept) != len(program.kept):
        return None
    named, cells, fields, others = program.guards.by_kind()
    changes = [(place.said(), output) for place, output in program.assigned]
    stores = _said_stores(program)
    is_new = program.same is None  # all that is returned
    tree = _put_together(program.treedef, iter(program.leaves)) if is_new else None
    if stores is None or (tree is None and stores):
        stores, tree = [], None
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
        tree,
        program.assembled,
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


def _taken_apart(x: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """What the function keeps, as csrc/bind/quick_trees.h takes it; its leaves are appended."""
    if type(x) in (list, tuple):
        return type(x).__name__, [_taken_apart(item, leaves) for item in x]
    if type(x) is dict:
        return "dict", list(x), [_taken_apart(item, leaves) for item in x.values()]
    leaves.append(x)
    return "leaf", -1


def _put_together(x: Any, leaves: Iterator[int]) -> tuple[Any, ...] | None:
    """What it will keep, as csrc/bind/quick_trees.h takes it; None: there is more in it."""
    if x is PLACE:
        return "leaf", next(leaves)
    if type(x) in (list, tuple, dict):
        parts = [_put_together(y, leaves) for y in (x.values() if type(x) is dict else x)]
        keys = [list(x)] if type(x) is dict else []
        return None if None in parts else (type(x).__name__, *keys, parts)
    return ("same", x) if is_plain(x) else None


def _said_stores(program: RecordedProgram) -> list[tuple[Any, Any, Any]] | None:
    """Who gets what, and under which keys (csrc/bind/quick_results.h); None: there is more."""
    said = []
    leaves = iter(program.leaves[program.count :])
    for store, value in zip(program.stores, program.stored, strict=True):
        holder, kind = _said_holder(program, store)
        is_items = store.put is set_items and kind in (dict, list)
        values = list(value.values()) if is_items else value
        if holder is None or not (is_items or (store.put is extend and kind is list)):
            return None
        items = [_put_together(x, leaves) for x in values]
        if None in items:
            return None
        said.append((holder, list(value) if is_items else None, items))
    return said


def _said_holder(program: RecordedProgram, store: Store) -> tuple[Any, Any]:
    """Who is changed (csrc/bind/quick_results.h), and its class; None: it is found otherwise."""
    place, guard = store.find, store.find.guard
    if place.is_fixed:
        return store.holder, type(store.holder)
    names = [(id_of(name.holder), name.name) for name in program.kept]
    at = None if guard is None else (id_of(guard.holder), guard.name)
    if at not in names or not all(isinstance(step, Item) for step in place.path):
        return None, None
    keys = [step.key for step in place.path]
    return (names.index(at), keys), store.kind
