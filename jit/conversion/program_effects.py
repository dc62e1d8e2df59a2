"""Effects of a program: what it prints, checks and raises while it runs, in its order.

Each is an op on a count of the effects so far, which gives the next count. The count is a Tensor
that was there before, so that a branch or a loop that changes it hands it on, and no pass drops it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from ... import _C
from ...imperative import Tensor, apply
from ...imperative.carrier import Carrier
from ...imperative.levels import TransformValue, innermost_value, unwrapped
from ...imperative.sub_programs import sub_programs_of
from ...ops import OpBase
from .kinds import quoted
from .places import Place, raise_at
from .swallowed import note

COUNT = Tensor(0)  # of the effects of all programs


class Effect(OpBase):
    """An op that does something: ``op(count, *values)`` gives the next count."""

    def happen(self, values: Sequence[Any]) -> None:
        """Does it, with the values as Tensors."""
        raise NotImplementedError

    def define(self, count: Any, *values: Any) -> tuple[Any, ...]:
        """Does it, whatever transforms the values belong to."""
        elements = [innermost_value(x) for x in values]
        self.happen([Tensor(x if y is None else y) for x, y in zip(values, elements, strict=True)])
        return (unwrapped(Tensor(count) + 1),)

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        """No gradient flows through it."""
        return (None,) * len(inputs)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def acts(program: Any) -> bool:
    """Whether a program, or one that its ops hold, has effects."""
    return any(
        isinstance(step.op, Effect) or any(acts(call.program) for call in sub_programs_of(step.op))
        for step in program.applied()
    )


@apply.register
def infer_effect(op: Effect, *xs: _C.ShapeTensor) -> Any:
    """The count."""
    return (xs[0],)


@apply.register
def apply_effect_transformed(op: Effect, *xs: TransformValue) -> Any:
    """It happens once, with the values of all examples."""
    return op.define(*xs)


@apply.register
def apply_effect_carried(op: Effect, *xs: Carrier) -> Any:
    """A carrier has no part in it."""
    return op.define(*xs)


class Print(Effect):
    """Prints values between texts.

    Args:
        parts: texts, and None for each value.
        options: of Python's `print`.
    """

    def __init__(self, parts: Sequence[Any], options: dict[str, Any]) -> None:
        self.parts = tuple(parts)
        self.options = options

    def happen(self, values: Sequence[Any]) -> None:
        rest = iter(values)
        print(*(next(rest) if part is None else part[0] for part in self.parts), **self.options)


class Check(Effect):
    """Raises AssertionError unless a boolean holds.

    Args:
        message: the error's argument; None: there is none.
        place: where it stands.
    """

    def __init__(self, message: Any, place: Place) -> None:
        self.message = message
        self.place = place

    def happen(self, values: Sequence[Any]) -> None:
        if not bool(values[0]):
            place = f"{self.place.filename}, {quoted(self.place.filename, self.place.line)}"
            text = place if self.message is None else f"{self.message}; {place}"
            raise_at(self.place, AssertionError(text))


class Fail(Effect):
    """Raises an error.

    Args:
        error: it.
        place: where it stands.
    """

    def __init__(self, error: BaseException, place: Place) -> None:
        self.error = error
        self.place = place

    def happen(self, values: Sequence[Any]) -> None:
        error = copy(self.error)
        raise_at(self.place, error.with_traceback(None))


def effect(op: Effect, *values: Any) -> None:
    """Adds an effect to the program that is recorded."""
    from .slots import met

    count = met(COUNT)
    try:
        (made,) = op(unwrapped(count), *(unwrapped(met(x)) for x in values))
    except Exception as error:
        note(error)
        raise
    _C.set_value(COUNT, made)


def list_failure(region: Any) -> None:
    """Adds to a block that has come to a `raise` the op that raises."""
    from .slots import Binding, Leaf, met

    slot = Binding(COUNT)
    before = region.ends.get(slot.key)
    value = unwrapped(met(COUNT)) if before is None else before.value
    (made,) = Fail(region.error, region.place)(region.block.take(value))
    region.slots[slot.key] = slot
    region.ends[slot.key] = Leaf(made)
