"""Python's state as it was before a function was recorded, as far as its code can reach it.

A recording may turn out to be for other calls: then the function is called once more, and what the
first run has appended, counted or set must not stay. What a run has changed for good, the runs of
its program do again (`stores.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..nn import Layer
from .python_guards import MISSING, is_container, is_same_value, read, write
from .users import dict_of, is_ours

_CHANGEABLE = (list, dict, set, deque, bytearray)


class Changed(NamedTuple):
    """What a function has done to a container, to the attributes of an object, or to a name.

    Attributes:
        holder: what it did that to.
        put: does the same again, given the holder and a value.
        value: what has got there.
        gone: what was there in its place.
        is_added: whether it counts not at all what was there.
        undo: puts back what was there.
    """

    holder: Any
    put: Any
    value: Any
    gone: Any
    is_added: bool
    undo: Callable[[], None]


class Before:
    """What containers held, and what names were."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}
        self._attributes: dict[int, Any] = {}  # whose they are; globals are nobody's
        self._names: dict[tuple[int, str], tuple[Any, str, Any]] = {}

    def note(self, x: Any) -> None:
        """What is in a container."""
        if isinstance(x, _CHANGEABLE) and id(x) not in self._held:
            self._held[id(x)] = x, dict(x) if isinstance(x, dict) else x.copy()

    def note_all(self, x: Any) -> None:
        """What is in containers, and in those inside of them."""
        if is_container(x) and self.was(x) is None:
            self.note(x)
            for item in x.values() if isinstance(x, dict) else x:
                self.note_all(item)

    def note_attributes(self, owner: Any) -> None:
        """What the attributes of an object are."""
        held = dict_of(owner)
        if held is not None:
            self.note(held)
            self._attributes[id(held)] = owner

    def note_name(self, holder: Any, name: str) -> None:
        """What a global or a slot is, or what is in a cell."""
        self._names.setdefault((id_of(holder), name), (holder, name, read(holder, name)))
        self._attributes.setdefault(id(holder), None)

    def was(self, x: Any) -> Any:
        """What was in a container; None: it was not noted."""
        return self._held[id(x)][1] if id(x) in self._held else None

    def is_attributes(self, x: Any) -> bool:
        """Whether they are the attributes of an object, or globals."""
        return id(x) in self._attributes

    def put_back(self) -> bool:
        """All of it; whether anything was otherwise."""
        found = list(self._all_changes())
        for changed in found:
            changed.undo()
        return bool(found)

    def changes(self) -> Iterator[Changed]:
        """What is not as it was, but for what optimisers and others of ours keep by themselves."""
        for changed in self._all_changes():
            owner = self._attributes.get(id(changed.holder))
            if isinstance(owner, Layer) or not is_ours(type(owner).__module__):
                yield changed

    def _all_changes(self) -> Iterator[Changed]:
        for x, was in self._held.values():
            found = _in_dict(x, was) if isinstance(x, dict) else _in_items(x, was)
            if found is not None:
                yield found
        for holder, name, was in self._names.values():
            now = read(holder, name)
            if is_same_value(now, was):
                continue
            undo = partial(write, holder, name, was)
            if type(holder) is dict and now is not MISSING:
                yield Changed(holder, set_items, {name: now}, was, True, undo)
            else:
                yield Changed(holder, partial(_write, name), now, was, False, undo)


def id_of(holder: Any) -> int:
    """Which one a holder of names is; slots are those of their object."""
    return id(getattr(holder, "owner", holder))


def _write(name: str, holder: Any, value: Any) -> None:
    write(holder, name, value)


def _put_back_items(x: dict[Any, Any], was: dict[Any, Any]) -> None:
    for key in [key for key in x if key not in was]:
        del x[key]
    for key, value in was.items():
        if x.get(key, MISSING) is not value:
            x[key] = value


def _is_same(x: Any, was: Any) -> bool:
    return len(x) == len(was) and all(a is b for a, b in zip(x, was, strict=True))


def _in_dict(x: dict[Any, Any], was: dict[Any, Any]) -> Changed | None:
    new = {key: y for key, y in x.items() if not is_same_value(y, was.get(key, MISSING))}
    lost = [key for key in was if key not in x]
    if not new and not lost:
        return None
    gone = [was[key] for key in (*lost, *new) if key in was]
    put = partial(_update, lost) if lost else set_items
    return Changed(x, put, new, gone, not lost, partial(_put_back_items, x, was))


def _update(lost: Iterable[Any], x: dict[Any, Any], new: dict[Any, Any]) -> None:
    for key in lost:
        x.pop(key, None)
    x.update(new)


def _in_items(x: Any, was: Any) -> Changed | None:
    undo = partial(_refill, x, was)
    if isinstance(x, set):
        new, gone = list(x - was), list(was - x)
        if gone:
            return Changed(x, _refill, list(x), gone, False, undo)
        return Changed(x, extend, new, gone, True, undo) if new else None
    if _is_same(x, was):
        return None
    tail = _tail(x, list(was))
    if tail is not None:
        return Changed(x, extend, tail, [], True, undo)
    if len(x) != len(was):
        return Changed(x, _refill, list(x), list(was), False, undo)
    pairs = list(zip(x, was, strict=True))
    new_items = {i: y for i, (y, old) in enumerate(pairs) if not is_same_value(y, old)}
    replaced = [pairs[i][1] for i in new_items]
    return Changed(x, set_items, new_items, replaced, False, undo) if new_items else None


def _tail(x: Any, was: list[Any]) -> list[Any] | None:
    """What was appended; None: something else has been done."""
    items, most = list(x), getattr(x, "maxlen", None)
    for count in range(1, len(x) + 1) if most is not None else [len(x) - len(was)]:
        made = [*was, *items[len(items) - count :]]
        if count > 0 and _is_same(items, made if most is None else made[-most:]):
            return items[len(items) - count :]
    return None


def set_items(x: Any, new: dict[Any, Any]) -> None:
    """Sets items of a dict or a list."""
    for key, y in new.items():
        x[key] = y


def extend(x: Any, new: list[Any]) -> None:
    """Puts something into a list, a deque or a set."""
    (x.update if isinstance(x, set) else x.extend)(new)


def _refill(x: Any, items: Iterable[Any]) -> None:
    kept = list(items)
    x.clear()
    extend(x, kept)
