"""What goes wrong with functions that are traced, as classes that a program can tell apart."""

from __future__ import annotations

from .. import _C


class TraceMismatchError(_C.ArgumentError):
    """A call differs from what was recorded, where it was asked that it must not."""


class RetraceWarning(UserWarning):
    """A function is not run as a program, since it would have to be recorded at each call."""


class FrozenValueWarning(UserWarning):
    """A program that leaves Python holds for one value of what Python read while it was made."""


class Untraceable(Exception):
    """What a function does cannot be a program; its text says why. Nobody outside sees it."""

    def as_error(self, op: str) -> _C.ArgumentError:
        """The error of who wants a program, and not a result."""
        return _C.ArgumentError(
            "the function must be one that can be a program", op=op, got=f"this: {self}",
            fix="leave that to who calls it",
        )  # fmt: skip
