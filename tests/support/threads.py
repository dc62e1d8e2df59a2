"""What a computation gives with several numbers of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import tensorlike as tl

Result = TypeVar("Result")


def by_threads(run: Callable[[], Result]) -> list[Result]:
    """What `run` gives with 1, 2 and 5 threads; their number is as it was after it."""
    before = tl.num_threads()
    found = []
    try:
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            found.append(run())
    finally:
        tl.set_num_threads(before)
    return found
