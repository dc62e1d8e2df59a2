"""Errors of a conversion that a handler of the user's has caught: they must not be lost.

A branch on a tensor is recorded whether it is taken or not, so that a handler around it would run
for all calls. Whoever makes such an error notes it here, and the end of the function asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_noted: ContextVar[list[Exception] | None] = ContextVar("tensorlike_swallowed", default=None)


@contextmanager
def none_swallowed() -> Iterator[None]:
    """A block at whose end the first error that was noted, and caught, is raised after all.

    Raises:
        Exception: that error.
    """
    around = _noted.get()
    mine: list[Exception] = []
    token = _noted.set(mine)
    try:
        yield
    finally:
        _noted.reset(token)
        if around is not None:
            around.extend(mine)
    if mine:
        raise mine[0]


def note(error: Exception) -> None:
    """An error that must not be caught."""
    noted = _noted.get()
    if noted is not None and all(error is not other for other in noted):
        noted.append(error)


def excuse(error: Exception) -> None:
    """It may be caught, after all."""
    noted = _noted.get()
    if noted is not None:
        noted[:] = [other for other in noted if other is not error]
