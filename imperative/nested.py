"""Nested: what goes on in a block of a user's, which may be inside of another of its kind.

Such blocks end in any order, and in any context: a generator may have been left open inside of one,
to be closed later, or by Python's collector. So nothing is reset when one ends; it is passed over.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from .. import _C


class Nested:
    """What goes on in a block."""

    has_ended = False
    outer: Any = None  # what goes on around it
    collection = 0  # in which it began: finalizers know of their own blocks alone

    def begin(self, *variables: ContextVar[Any]) -> None:
        """From here on it is what goes on, as these variables say."""
        self.has_ended = False
        self.outer = innermost(variables[0])
        self.collection = _C.collection()
        for variable in variables:
            variable.set(self)

    def end(self, *variables: ContextVar[Any]) -> None:
        """The block ends."""
        self.has_ended = True
        for variable in variables:
            if variable.get() is self:
                variable.set(self.outer)


def innermost(variable: ContextVar[Any]) -> Any:
    """What goes on in the innermost block that has not ended; None: nothing."""
    found = variable.get()
    while found is not None and (found.has_ended or found.collection != _C.collection()):
        found = found.outer
    return found
