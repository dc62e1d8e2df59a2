"""Levels: which of several transforms that are going on is the inner one.

Tapes, tangents and batches take their levels from one counter, so that they nest in any order:
the tensor-like of the innermost transform takes a call, and what it holds belongs to the outer
ones. A level ends with the `with` block that began it, whatever happens inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


class TransformValue(_C.TensorBase):
    """What a transform swaps in for the values of a function: the base of Dual and Batched.

    It belongs to a `Level`, and is around a value of any kind: that of an outer transform, or a
    plain one. A rule for it, written in ops, says what an op means inside the transform. The level
    that began last takes a call; what belongs to the outer ones is a constant there, which rules
    get as it is.

    A subclass must offer `shape`, `dtype`, `inner`, `outside` and
    `with_inner`; a class that lacks one cannot be made. The others may be said otherwise.

    Args:
        level: the transform that it belongs to.

    Raises:
        ParameterError: when the class is made: what it must offer is missing.
    """

    __slots__ = ("level", "priority")
    _REQUIRED = ("shape", "dtype", "inner", "outside", "with_inner")

    def __init__(self, level: Level) -> None:
        """Above all values, and above what belongs to the levels that began before."""
        self.level = level
        self.priority = 100.0 + level.number

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuses a class that lacks what it must offer."""
        super().__init_subclass__(**kwargs)
        base = vars(TransformValue)
        missing = [name for name in cls._REQUIRED if getattr(cls, name, None) is base.get(name)]
        if missing:
            raise _C.ParameterError(
                f"must define {', '.join(missing)}", op=cls.__name__, got="a class without"
            )

    @property
    def inner(self) -> Any:
        """The value that it is around: a tensor-like."""
        raise NotImplementedError

    @property
    def outside(self) -> Any:
        """What is left of it when the transform has ended."""
        raise NotImplementedError

    def with_inner(self, value: Any, other: Callable[[Any], Any]) -> Any:
        """The same around another value; `other` says what becomes of its other parts.

        It is called with each of them, tensor-likes too, where a Tensor that was made outside is
        bound to a value of the inside, whose parts lose their history.
        """
        raise NotImplementedError

    def refuse_outside(self) -> None:
        """Raises if what was made before the transform must not be bound to it."""

    @property
    def elements(self) -> Any:
        """Whose elements are read where Python asks for numbers: the value's."""
        return self.inner

    @property
    def is_differentiated(self) -> bool:
        """Whether derivatives are wanted: by the value."""
        return is_differentiated(self.inner)

    def stopped(self) -> Any:
        """The same without history: what is left outside, without its own."""
        return stopped(self.outside)

    def lift(self, other: Any) -> Any:
        """What stands beside it is a constant, and stays what it is."""
        return other


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
    if type(value) is _C.RawTensor:
        return value
    return value.stopped() if hasattr(value, "stopped") else value


def cut(value: Any) -> Any:
    """The same value without history; where it is a variable of a program, a step says so.

    A body is differentiated when the program around is, long after its own tapes are gone.
    """
    inner = stopped(value)
    if type(inner) is _C.RawTensor:
        return inner
    *_, bottom = layers(inner)
    ending = getattr(bottom, "ending", None)
    return inner if ending is None else ending(inner)[0]


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
    return value.level.number if isinstance(value, TransformValue) else -1


def under_leaves(value: Any, number: int) -> Any:
    """A value of the level of this number, from under leaves that were made of it."""
    while isinstance(value, _C.Tracer) and value.level == number + 1:
        value = value.primal
    return value


def layers(value: Any) -> Iterator[Any]:
    """A value, then what is inside of it: what wrappers, tapes and transforms have put away."""
    while True:
        yield value
        if isinstance(value, _C.TensorWrapper):
            value = value.__wrapped__
        elif isinstance(value, _C.Tracer):
            value = value.primal
        elif isinstance(value, TransformValue):
            value = value.inner
        else:
            return


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
