"""Whether two programs are the same, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _C
from .program import Program


def is_same(a: Program, b: Program) -> bool:
    """Whether both apply the same ops, in the same order, to the same variables."""
    pairs = _givens(a, b)
    if pairs is None or len(a.steps()) != len(b.steps()) or a.parts.keys() != b.parts.keys():
        return False
    for (op, reads, makes, _, sizes), other in zip(a.steps(), b.steps(), strict=True):
        if [pairs.get(n) for n in reads] != list(other[1]) or len(makes) != len(other[2]):
            return False
        pairs.update(zip(makes, other[2], strict=True))
        if [a.describe(n) for n in makes] != [b.describe(n) for n in other[2]]:
            return False
        if not _is_op(op, other[0], set(sizes)) or _moved(sizes, pairs) != other[4]:
            return False
    guards = [
        (_moved(x, pairs), _moved(y, pairs), how, is_so) for x, y, how, is_so, _ in a.guards()
    ]
    assigned = {pairs.get(s): pairs.get(n) for s, n in a.assigned().items()}
    return (
        guards == [tuple(guard[:4]) for guard in b.guards()]
        and assigned == b.assigned()
        and all(_is_part(part, b.parts[name]) for name, part in a.parts.items())
    )


def _givens(a: Program, b: Program) -> dict[int, int] | None:
    """Inputs and states of `a`, by name, and constants in their order, to those of `b`."""
    pairs: dict[int, int] = {}
    for role in ("input", "state", "captured"):
        ours, theirs = (_of_role(p, role) for p in (a, b))
        if role != "captured":
            if ours.keys() != theirs.keys():
                return None
            matched = [(n, theirs[name]) for name, n in ours.items()]
        elif len(ours) == len(theirs):
            matched = list(zip(ours.values(), theirs.values(), strict=True))
        else:
            return None
        for n, m in matched:
            if a.describe(n) != b.describe(m):
                return None
            if role == "captured" and not _is_value(a.variables()[n][2], b.variables()[m][2]):
                return None
            pairs[n] = m
    return pairs


def _of_role(program: Program, role: str) -> dict[Any, int]:
    """Variables of a role by their names; constants, which have none, by their numbers."""
    found = [(n, x[0]) for n, x in enumerate(program.variables()) if x[1] == role]
    return {n if role == "captured" else name: n for n, name in found}


def _is_value(x: Any, y: Any) -> bool:
    """Whether two constants are the same object, or arrays of the same bytes."""
    if x is y:
        return True
    if not isinstance(x, _C.RawTensor) or not isinstance(y, _C.RawTensor):
        return False
    return np.asarray(x).tobytes() == np.asarray(y).tobytes()


def _is_op(a: Any, b: Any, sizes: set[str]) -> bool:
    """Whether two ops are the same but for attributes that follow from unknown sizes."""
    if type(a) is not type(b):
        return False
    if not sizes:
        return bool(a == b)
    mine, theirs = a.params(), b.params()
    return mine.keys() == theirs.keys() and all(
        repr(mine[name]) == repr(theirs[name]) for name in mine if name not in sizes
    )


def _moved(value: Any, pairs: dict[int, int]) -> Any:
    """An expression of sizes over the other program's variables."""
    if isinstance(value, dict):
        return {name: _moved(x, pairs) for name, x in value.items()}
    if isinstance(value, tuple) and value and value[0] == "size":
        return ("size", pairs.get(value[1]), value[2])
    return tuple(_moved(x, pairs) for x in value) if isinstance(value, tuple) else value


def _is_part(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, Program) and isinstance(b, Program) and is_same(a, b))
