"""Python's state as it was before a function was recorded, as far as its code can reach it.

A recording may turn out to be for other calls: then the function is called once more, and what the
first run has appended, counted or set must not stay.
"""

from __future__ import annotations

from collections import deque
from types import CellType
from typing import Any

from .python_guards import MISSING, read

_CHANGEABLE = (list, dict, set, deque, bytearray)


class Before:
    """What containers held, and what names were."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}
        self._names: dict[tuple[int, str], tuple[Any, str, Any]] = {}

    def note(self, x: Any) -> None:
        """What is in a container, or in the attributes of an object."""
        if isinstance(x, _CHANGEABLE) and id(x) not in self._held:
            self._held[id(x)] = x, dict(x) if isinstance(x, dict) else x.copy()

    def note_name(self, holder: Any, name: str) -> None:
        """What a global is, or what is in a cell."""
        self._names.setdefault((id(holder), name), (holder, name, read(holder, name)))

    def put_back(self) -> None:
        """All of it."""
        for x, was in self._held.values():
            if isinstance(x, dict):
                _put_back_items(x, was)
            elif not _is_same(x, was):
                x.clear()
                (x.update if isinstance(x, set) else x.extend)(was)
        for holder, name, value in self._names.values():
            if read(holder, name) is value:
                continue
            if isinstance(holder, CellType):
                holder.cell_contents = value
            elif value is MISSING:
                del holder[name]
            else:
                holder[name] = value


def _put_back_items(x: dict[Any, Any], was: dict[Any, Any]) -> None:
    for key in [key for key in x if key not in was]:
        del x[key]
    for key, value in was.items():
        if x.get(key, MISSING) is not value:
            x[key] = value


def _is_same(x: Any, was: Any) -> bool:
    return len(x) == len(was) and all(a is b for a, b in zip(x, was, strict=True))
