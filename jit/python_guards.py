"""Guards on Python's state: what a function read of globals, closures and attributes.

A program holds for as long as they are what they were. Plain values are compared, and lists and
dicts item by item; of functions, classes, layers, tensors and other objects it counts which one it
is.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Mapping
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from .. import _C

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "nothing"})()
_PLAIN = (bool, int, float, complex, str, bytes, type(None), _C.dtype, slice, range)
_DEEPEST = 100  # containers in one another; of those further in it counts which one they are
_MOST_SHOWN = 20  # items of a container in a message


def is_plain(x: Any) -> bool:
    """Whether a value says all that it is."""
    return isinstance(x, _PLAIN)


class Change(NamedTuple):
    """Why a program does not serve a call: what was one thing, and is another."""

    what: str
    line: str
    was: str
    now: str

    def __str__(self) -> str:
        place = f" (read at {self.line})" if self.line else ""
        return f"{self.what}{place} changed from {self.was} to {self.now}"


class Snapshot:
    """What is in a container, or in an array of NumPy."""

    __slots__ = ("inner", "items", "keys", "kind", "marks")

    def __init__(self, x: Any, around: frozenset[int]) -> None:
        self.kind = type(x)
        self.keys = list(x) if isinstance(x, dict) else None
        self.items = list(x.values()) if isinstance(x, dict) else list(x)
        self.marks = list(map(id, self.items))
        inside = around | {id(x)}
        found = [snapshot(item, inside) for item in self.items]
        self.inner = [(i, one) for i, one in enumerate(found) if one is not None]

    def holds(self, x: Any) -> bool:
        """Whether the same is in a container now."""
        if type(x) is not self.kind or len(x) != len(self.items):
            return False
        if self.keys is not None:
            if list(x) != self.keys:
                return False
            x = x.values()
        is_same = list(map(id, x)) == self.marks
        if is_same and not self.inner:
            return True
        items = list(x)
        if not is_same and not self._is_equal(items):
            return False
        return all(one.holds(items[i]) for i, one in self.inner)

    def _is_equal(self, items: list[Any]) -> bool:
        looked_into = {i for i, _ in self.inner}
        pairs = enumerate(zip(items, self.items, strict=True))
        return all(i in looked_into or is_same_value(x, was) for i, (x, was) in pairs)


class ArraySnapshot:
    """The elements of an array of NumPy."""

    __slots__ = ("copy",)

    def __init__(self, x: Any) -> None:
        self.copy = x.copy()

    def holds(self, x: Any) -> bool:
        """Whether an array has them."""
        return isinstance(x, np.ndarray) and _same_array(x, self.copy)


def snapshot(x: Any, around: frozenset[int] = frozenset()) -> Snapshot | ArraySnapshot | None:
    """What is in a value; None: it says all by itself, or only which one it is counts.

    Args:
        x: the value.
        around: the containers that it is in, which may be in itself.
    """
    if isinstance(x, np.ndarray) and (x.dtype.kind != "O" or x.ndim == 0):
        return ArraySnapshot(x)
    is_looked_into = (
        (is_container(x) or isinstance(x, np.ndarray))
        and id(x) not in around
        and len(around) < _DEEPEST
    )
    return Snapshot(x, around) if is_looked_into else None


def is_same_value(x: Any, was: Any) -> bool:
    """Whether it is the same object, or one that says all that it is and is equal."""
    if x is was:
        return True
    if type(x) is not type(was):
        return False
    if type(x) is tuple and len(x) == len(was):
        return all(map(is_same_value, x, was))
    return is_plain(x) and _is_equal(x, was)


def is_fixed(x: Any) -> bool:
    """Whether nothing in it can change."""
    return is_plain(x) or (type(x) is tuple and all(map(is_fixed, x)))


def _is_equal(x: Any, y: Any) -> bool:
    if isinstance(x, (float, complex)):
        return repr(x) == repr(y)  # zeros have signs, and NaN is not equal to itself
    return bool(x == y)


def _same_array(x: Any, y: Any) -> bool:
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))


class Fields:
    """Attributes that an object keeps in no dict, in slots say, as a dict has them."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, missing: Any) -> Any:
        """What the attribute is."""
        return getattr(self.owner, name, missing)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self.owner, name, value)

    def __delitem__(self, name: str) -> None:
        delattr(self.owner, name)


class Variable(Fields):
    """The value of a context variable, as a dict has it."""

    def get(self, name: str, missing: Any) -> Any:
        """What it is here."""
        return self.owner.get(missing)


class Guard:
    """What one name was.

    Attributes:
        holder: the dict that has it: globals, or an object's or class's attributes; or a cell.
        name: the name in it.
        text: how the function says it.
        line: where it is read.
        was: what it was.
        told: that in a message.
        is_guessed: nobody has been seen to read it; it counts if the function leaves it alone.
        is_given: what it is has been given with the arguments, and is compared as these are.
    """

    __slots__ = ("holder", "is_given", "is_guessed", "line", "name", "snap", "text", "told", "was")

    def __init__(self, holder: Any, name: str, text: str, line: str) -> None:
        self.holder = holder
        self.name = name
        self.text = text
        self.line = line
        self.was = self.now()
        self.told = shown(self.was)  # what is in it may be another by the time that this is said
        self.snap: Snapshot | ArraySnapshot | None = None
        self.is_guessed = False
        self.is_given = False

    def look_inside(self) -> None:
        """From now on what is in a container counts, too."""
        if self.snap is None and not is_fixed(self.was):
            self.snap = snapshot(self.was)

    def now(self) -> Any:
        """What it is now."""
        return read(self.holder, self.name)

    def holds(self) -> bool:
        """Whether it is what it was."""
        now = self.now()
        return is_same_value(now, self.was) if self.snap is None else self.snap.holds(now)

    def is_value(self) -> bool:
        """Whether it is of interest what it was, and not only which object."""
        return is_fixed(self.was) or (is_container(self.was) and self.snap is not None)

    def __repr__(self) -> str:
        return f"{self.text} was {self.told} ({self.line})"


def read(holder: Any, name: str) -> Any:
    """What a dict or a cell has; MISSING: nothing."""
    if isinstance(holder, CellType):
        try:
            return holder.cell_contents
        except ValueError:
            return MISSING
    return holder.get(name, MISSING)


def write(holder: Any, name: str, value: Any) -> None:
    """Binds what a dict, a slot or a cell has under a name; MISSING: nothing is there any more."""
    if isinstance(holder, CellType):
        if value is MISSING:
            del holder.cell_contents
        else:
            holder.cell_contents = value
    elif value is not MISSING:
        holder[name] = value
    elif holder.get(name, MISSING) is not MISSING:
        del holder[name]


def shown(x: Any) -> str:
    """A value in a message."""
    if is_container(x):
        items = x.values() if isinstance(x, dict) else x
        if len(x) > _MOST_SHOWN or not all(is_plain(item) for item in items):
            return f"a {type(x).__name__} of {len(x)}"
    elif not is_plain(x):
        is_named = isinstance(x, (type, FunctionType, MethodType, BuiltinFunctionType))
        return str(x.__qualname__) if is_named else f"another {type(x).__name__}"
    text = repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_container(x: Any) -> bool:
    """Whether it is looked into."""
    return isinstance(x, (list, tuple, set, frozenset, dict, deque, bytearray, array))


class Guards:
    """All of a program's guards, checked at each call.

    Most are held by identity at once; the others are compared.
    """

    def __init__(self, guards: list[Guard]) -> None:
        self.guards = guards
        quick = [g for g in guards if g.snap is None and isinstance(g.holder, Mapping)]
        self._quick = [(g.holder.get, g.name, g.was, g) for g in quick]
        self._slow = [g for g in guards if not (g.snap is None and isinstance(g.holder, Mapping))]

    def by_kind(self) -> tuple[list[Any], list[Any], list[Any], list[Guard]]:
        """What is the same object as before: in dicts, in cells, in fields; and all others."""
        named = [(guard.holder, name, was) for _, name, was, guard in self._quick]
        cells, fields, others = [], [], []
        for g in self._slow:
            if g.snap is None and isinstance(g.holder, CellType) and g.was is not MISSING:
                cells.append((g.holder, g.was))
            elif g.snap is None and type(g.holder) is Fields and g.was is not MISSING:
                fields.append((g.holder.owner, g.name, g.was))
            else:
                others.append(g)
        return named, cells, fields, others

    def first_changed(self) -> Guard | None:
        """The first guard that does not hold; None: all do."""
        for get, name, was, guard in self._quick:
            if get(name, MISSING) is not was and not guard.holds():
                return guard
        for guard in self._slow:
            if not guard.holds():
                return guard
        return None
