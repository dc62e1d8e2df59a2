"""Levels: which of several transforms that are going on is the inner one.

Tapes, tangents and batches take their levels from one counter, so that they nest in any order:
the tensor-like of the innermost transform takes a call, and what it holds belongs to the outer
ones. A level ends with the `with` block that began it, whatever happens inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .. import _C
from ..ops import OpBase


class Level:
    """A transform that is going on in this thread; tensor-likes of it hold this object."""

    __slots__ = ("is_open", "number", "tape")

    def __enter__(self) -> Level:
        """Begins inside all that have begun."""
        self.tape = _C.open_tape()
        self.number = self.tape.level
        self.is_open = True
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends it; what was computed under it is of no use any more."""
        self.is_open = False
        self.tape.close()

    def refuse(self, op: OpBase, what: str) -> NoReturn:
        """Raises what is to be raised when the transform has ended."""
        raise _C.AutodiffError(
            f"a {what} must not outlive the transform that made it",
            op=f"{op}",
            got="one whose transform has ended",
            fix="return values from the function instead of keeping them",
        )


class OfLevel(_C.TensorBase):
    """What a transform swaps in for the values inside: the base of Dual and Batched."""

    __slots__ = ()

    level: Level

    @property
    def inner(self) -> Any:
        """The value that it is around."""
        raise NotImplementedError

    @property
    def outside(self) -> Any:
        """What is left of it when the transform has ended."""
        raise NotImplementedError

    def with_inner(self, value: Any, other: Callable[[Any], Any]) -> Any:
        """The same around another value; `other` says what becomes of its other parts."""
        raise NotImplementedError

    def refuse_outside(self) -> None:
        """Raises if what was made before the transform must not be bound to it."""


def unwrapped(x: Any) -> Any:
    """What a Tensor, or another wrapper, is around; data as a tensor-like."""
    if not isinstance(x, _C.TensorBase):
        x = _C.tensor(x)
    while isinstance(x, _C.TensorWrapper):
        x = x.__wrapped__
    return x


def stopped(value: Any) -> Any:
    """The same value without history and without tangents, on all levels."""
    while isinstance(value, _C.Tracer):
        value = value.primal
    return value.stopped() if hasattr(value, "stopped") else value


def is_differentiated(value: Any) -> bool:
    """Whether a transform wants derivatives by this value."""
    if isinstance(value, _C.TensorWrapper):
        return is_differentiated(value.__wrapped__)
    if isinstance(value, _C.Tracer):
        is_recorded = value.is_leaf or value.op is not None
        return is_recorded or is_differentiated(value.primal)
    return bool(getattr(value, "is_differentiated", False))


def level_of(value: Any) -> int:
    """The level of the transform that a value belongs to; -1 for none."""
    while isinstance(value, _C.TensorWrapper):
        value = value.__wrapped__
    if isinstance(value, _C.Tracer):
        return value.level
    own = getattr(value, "level", None) or getattr(value, "batch", None)
    return own.number if isinstance(own, Level) else -1


def under_leaves(value: Any, number: int) -> Any:
    """A value of the level of this number, from under leaves that were made of it."""
    while isinstance(value, _C.Tracer) and value.level == number + 1:
        value = value.primal
    return value


def innermost_value(value: Any) -> _C.RawTensor | None:
    """The elements under all transforms; None where there are none, as in a listing."""
    while not isinstance(value, _C.RawTensor):
        if isinstance(value, _C.TensorWrapper):
            value = value.__wrapped__
        elif isinstance(value, _C.TensorBase):
            inner = getattr(value, "primal", None)
            value = getattr(value, "value", None) if inner is None else inner
        else:
            return None
    return value
