"""Stores: what a function leaves behind in Python's state, for each run of its program to repeat.

When it has been recorded, names, attributes and containers that its code reaches are compared with
what they were (`putting_back.py`). What has changed is a store: who is changed, as it is found at
each call, and the value, whose tensors are results of the program. What is only added to containers
that the function does not look into, and is no tensor, was a note of the recording.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import reduce
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from .. import _C
from .bound_methods import ATTRIBUTE
from .errors import Untraceable
from .putting_back import Changed
from .python_guards import Guard, is_container, shown
from .reading import Reading
from .state import holds_tensor
from .users import dict_of

# The arguments of a call: those by position, and those by name.
Given: TypeAlias = tuple[Sequence[Any], Mapping[str, Any]]
_DEEPEST = 20


class Place:
    """Who is changed: found on a path from a name or from the arguments, or always the same.

    Attributes:
        guard: of the name; None: the arguments.
        path: how one comes from there to it: by items, or by attributes.
        is_unread: whether the function does not look at what is in it.
        is_fixed: whether it is the same in all calls.
    """

    def __init__(
        self, guard: Guard | None, path: Sequence[Any], *, is_unread: bool = False
    ) -> None:
        self.guard = guard
        self.path = path
        self.is_unread = is_unread
        self.is_fixed = is_unread and not path  # since the guard holds

    def behind(self, step: Callable[[Any], Any]) -> Place:
        """The place that one step more leads to."""
        return Place(self.guard, (*self.path, step), is_unread=self.is_unread)

    def is_deep(self) -> bool:
        """Whether there are more steps than anybody takes."""
        return len(self.path) > _DEEPEST

    def __call__(self, given: Given | None) -> Any:
        root = given if self.guard is None else self.guard.now()
        return reduce(lambda x, step: step(x), self.path, root)


class Always(Place):
    """The same in all calls."""

    def __init__(self, holder: Any) -> None:
        super().__init__(None, ())
        self.is_fixed = True
        self._holder = holder

    def __call__(self, given: Given | None) -> Any:
        return self._holder


class Item:
    """A step from a container to what it has under a key."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __call__(self, x: Any) -> Any:
        return x[self.key]


class Store(NamedTuple):
    """One change.

    Attributes:
        find: who is changed, in a call with these arguments.
        put: changes it, given it and a value.
        holder: who was changed, if it is the same in all calls.
        kind: of which class it is.
    """

    find: Place
    put: Callable[[Any, Any], None]
    holder: Any
    kind: type


def put_all(stores: Sequence[Store], values: Sequence[Any], given: Given | None) -> None:
    """Changes the same again, to these values."""
    holders = [store.find(given) for store in stores]  # before anything has changed
    for store, holder, value in zip(stores, holders, values, strict=True):
        store.put(holder, value)


def with_same(made: Any, same: Any, given: Given | None) -> Any:
    """What is returned, with containers that were there in the place of equal ones.

    Args:
        made: what is returned otherwise.
        same: as `take_stores` finds it.
        given: the arguments of the call.
    """
    if same is None:
        return made
    if isinstance(same, Place):
        return same(given)
    if type(made) is dict:
        return {key: with_same(x, same[key], given) for key, x in made.items()}
    return type(made)([with_same(x, y, given) for x, y in zip(made, same, strict=True)])


def take_stores(
    reading: Reading, result: Any, given: Given, counted: Sequence[tuple[Any, Any]]
) -> tuple[list[Store], list[Any], Any]:
    """What has changed by now, which is as it was again; and the values that it gets.

    The third are the places of containers in what is returned that were there before, arranged as
    that is; None: there are none.

    Args:
        reading: what the function reads.
        result: what it returns.
        given: the arguments of the call.
        counted: who has numbers that the program counts by itself, and under which key.

    Raises:
        Untraceable: no program could do it again.
    """
    finder = _Finder(reading, given)
    found, values, undone = [], [], []
    for changed in filter(None, map(_Uncounted(counted), reading.before.changes())):
        place = finder.place_of(changed.holder)
        has_tensor = holds_tensor(changed.value) or holds_tensor(changed.gone)
        if not has_tensor and (place is None or (changed.is_added and place.is_unread)):
            continue
        if place is None or (place.is_unread and not changed.is_added):
            raise Untraceable(f"it keeps a tensor in {shown(changed.holder)}, out of reach")
        finder.refuse_shared(changed.value)
        holder = changed.holder if place.is_fixed else None
        found.append(Store(place, changed.put, holder, type(changed.holder)))
        values.append(changed.value)
        undone.append(changed.undo)
    same = finder.same_in(result)
    for undo in undone:
        undo()
    return found, values, same


class _Uncounted:
    """Leaves out what a program or our own classes count by themselves."""

    def __init__(self, counted: Sequence[tuple[Any, Any]]) -> None:
        self._keys: dict[int, set[Any]] = {}
        for holder, key in counted:
            held = holder if is_container(holder) else dict_of(holder)
            self._keys.setdefault(id(held), {ATTRIBUTE}).add(key)

    def __call__(self, changed: Changed) -> Changed | None:
        keys = self._keys.get(id(changed.holder), {ATTRIBUTE})
        if not isinstance(changed.value, dict) or keys.isdisjoint(changed.value):
            return changed
        value = {key: x for key, x in changed.value.items() if key not in keys}
        return changed._replace(value=value) if value else None


class _Finder:
    """Finds containers, as they were before, on paths that lead to them in other calls, too."""

    def __init__(self, reading: Reading, given: Given) -> None:
        self._before = reading.before
        self._places: dict[int, Place] = {}
        for guard in reading.guards:
            is_unread = guard.snap is None and not (guard.is_given or guard.is_guessed)
            self._walk(guard.was, Place(guard, (), is_unread=is_unread))
        for index, part in enumerate(given):
            self._walk_argument(part, Place(None, (Item(index),)))

    def place_of(self, holder: Any) -> Place | None:
        """Where a holder is found; None: nowhere."""
        place = self._places.get(id(holder))
        if place is not None or (is_container(holder) and not self._before.is_attributes(holder)):
            return place
        return Always(holder)

    def same_in(self, result: Any, depth: int = 0) -> Any:
        """The places of containers that were there, arranged as a result; None: there are none."""
        if not isinstance(result, tuple) and id(result) in self._places:
            return self._places[id(result)]
        if type(result) not in (list, tuple, dict) or depth == _DEEPEST:
            return None
        items = result.values() if type(result) is dict else result
        parts = [self.same_in(x, depth + 1) for x in items]
        if all(part is None for part in parts):
            return None
        return dict(zip(result, parts, strict=True)) if type(result) is dict else parts

    def refuse_shared(self, value: Any) -> None:
        """Raises where a container of the state gets into another, or one that is no plain tree.

        Raises:
            Untraceable: so it is.
        """
        for x in _containers_in(value):
            is_old = id(x) in self._places or self._before.was(x) is not None
            if is_old and not isinstance(x, tuple):
                raise Untraceable(f"it puts {shown(x)} that was there into another")
            is_usual = type(x) in (list, tuple, dict) or hasattr(x, "_fields") or is_dataclass(x)
            if not is_usual and holds_tensor(x):
                raise Untraceable(f"it keeps a tensor in {shown(x)}")

    def _walk(self, x: Any, place: Place) -> None:
        if not is_container(x) or id(x) in self._places or place.is_deep():
            return
        self._places[id(x)] = place
        was = self._before.was(x)
        for key, item in _items(x if was is None else was):
            self._walk(item, place.behind(Item(key)))

    def _walk_argument(self, x: Any, place: Place) -> None:
        """Of an argument that is a dataclass, what is in it counts, and not which one it is."""
        if place.is_deep() or isinstance(x, _C.TensorBase):
            return
        if is_container(x):
            self._walk(x, place)
            for key, item in _items(x):
                self._walk_argument(item, place.behind(Item(key)))
        elif is_dataclass(x) and not isinstance(x, type):
            self._places[id(dict_of(x))] = place.behind(vars)
            for field in fields(x):
                item = getattr(x, field.name, None)
                self._walk_argument(item, place.behind(attrgetter(field.name)))


def _items(x: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(x, dict):
        yield from x.items()
    elif isinstance(x, (list, tuple, deque)):
        yield from enumerate(x)


def _containers_in(x: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(x, _C.TensorBase) or depth == _DEEPEST:
        return
    if is_container(x):
        yield x
        for _, item in _items(x):
            yield from _containers_in(item, depth + 1)
