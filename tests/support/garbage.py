"""Garbage whose finalizers compute and set tensors, which Python is always about to find."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorlike as tl
import tensorlike.functional as F


class Garbage:
    """What makes garbage of its kind again when it is found, and counts in a tensor that it was."""

    is_going_on = False
    is_busy = False
    found = 0
    counted = tl.tensor([0.0, 0.0])
    made = tl.tensor([0.0])
    also: Callable[[], Any] | None = None  # what it does beside that

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        if not Garbage.is_going_on:
            return
        if not Garbage.is_busy:  # it is found while it runs, too
            Garbage.is_busy = True
            Garbage.found += 1
            Garbage.counted.set_value(Garbage.counted + F.ones((2,)))
            Garbage.made.set_value(F.full((1,), 2.0))
            if Garbage.also is not None:
                Garbage.also()
            Garbage.is_busy = False
        Garbage()


@contextmanager
def garbage_all_the_time(also: Callable[[], Any] | None = None) -> Iterator[None]:
    """Python looks for garbage all the time, and always finds some."""
    thresholds = gc.get_threshold()
    Garbage.found, Garbage.is_going_on, Garbage.also = 0, True, also
    Garbage.counted.set_value(tl.tensor([0.0, 0.0]))
    Garbage()
    gc.set_threshold(1, 1, 1)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        Garbage.is_going_on = False
        gc.collect()


def is_told() -> bool:
    """Whether the counts are arrays, and say how often garbage was found."""
    are_arrays = all(
        isinstance(x.__wrapped__, tl.RawTensor) for x in (Garbage.counted, Garbage.made)
    )
    return are_arrays and Garbage.counted.tolist() == [Garbage.found] * 2


class Found:
    """Garbage that does something once, when it is found."""

    def __init__(self, does: Callable[[], Any]) -> None:
        self.does = does
        self.itself = self

    def __del__(self) -> None:
        self.does()
