"""ControlOp: ops that hold programs, and run them as their inputs say; and Cond.

On values they run at once: the branch that is taken, so many steps as there are. What a transform
makes of one is such an op again, of programs that follow from its own, so that they nest, and are
recorded in programs as one op. `loops.py` has the other two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..ops import OpBase
from .carrier import Carrier
from .dispatch import apply
from .dual import Dual, taken_apart
from .levels import TransformValue, innermost_value, layers
from .sub_programs import Call, Flags, filled, in_places, wanted_of


class ControlOp(OpBase):
    """An op that holds programs.

    What it means on values and on shapes, the core knows by its kind (csrc/program/holder.h). A
    subclass says what its gradient (`record`) and its tangents (`push`) are, in ops of its kind.

    Args:
        sub_programs: the programs.
        count: how many results it has.

    Raises:
        ArgumentError: the numbers of what programs are given and give do not go together.
    """

    kind = ""

    def __init__(self, sub_programs: tuple[Call, ...], count: int) -> None:
        self.sub_programs = sub_programs
        self.count = count
        stretches = tuple(call.stretch for call in sub_programs)
        self.holder = _C.Holder(self.kind, stretches, tuple(self.params().values()))

    @property
    def is_open(self) -> bool:
        """Whether it holds a loop without a bound."""
        return any(call.is_open for call in self.sub_programs)

    def params(self) -> dict[str, Any]:
        """What it was made with beside the programs."""
        return {}

    def define(self, *xs: Any) -> tuple[Any, ...]:
        """What it gives for tensor-likes of any kind, to which the programs are applied as ops."""
        return self.holder.run(xs, self.sub_programs)

    def record(self, xs: Sequence[Any], wanted: Flags) -> Sequence[Any]:
        """What it gives on Tracers, as ops that have gradients."""
        raise NotImplementedError

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The results, and a tangent for each, or None."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        """Whether it is of the same kind, around equal programs."""
        return type(other) is type(self) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.count))

    def _parts(self) -> Any:
        return self.sub_programs, self.params()

    def __repr__(self) -> str:
        """Its kind, and its programs."""
        return self.holder.text()

    __str__ = __repr__


def is_known(xs: Sequence[Any]) -> bool:
    """Whether the elements of all values can be read, as one value each."""
    return not any(has_examples(x) or innermost_value(x) is None for x in xs)


def has_examples(x: Any) -> bool:
    """Whether a value differs between the examples of a `vmap`."""
    return any(isinstance(part, TransformValue) and hasattr(part, "batch") for part in layers(x))


def checked_dtype(value: Any) -> Any:
    """The dtype that a tensor-like says; what is none is refused."""
    return _C.ShapeTensor((), value.dtype).dtype


class Cond(ControlOp):
    """One of two programs, as a predicate says: ``Cond(...)(predicate, *xs)``."""

    kind = "Cond"

    def __init__(self, when_true: Call, when_false: Call) -> None:
        self.when_true = when_true
        self.when_false = when_false
        super().__init__((when_true, when_false), len(when_true.results))

    def record(self, xs: Sequence[Any], wanted: Flags) -> Sequence[Any]:
        return _TracedCond(self, wanted)(*xs)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        moving = tuple(dx is not None for dx in tangents[1:])
        op = Cond(self.when_true.pushed(moving), self.when_false.pushed(moving))
        found = op(*primals, *(dx for dx in tangents if dx is not None))
        return found[: self.count], in_places(self.when_true.moves, found[self.count :])


class _TracedCond(Cond):
    """A Cond on a tape; its gradient is one of the branches' gradients."""

    def __init__(self, base: Cond, wanted: Flags) -> None:
        super().__init__(base.when_true, base.when_false)
        self.wanted = wanted[1:]

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        branches = [call.gradient(self.wanted) for call in self.sub_programs]
        found = Cond(*branches)(*inputs, *filled(outputs, cotangents))
        return (None, *in_places(self.wanted, found))


@apply.register
def apply_control_traced(op: ControlOp, *xs: _C.Tracer) -> Any:
    """One op on the tape, where it has a gradient of its own; else what it does is recorded."""
    wanted = wanted_of(xs)
    own = getattr(op, "wanted", None)
    if not any(wanted):
        return apply.super(op, *xs)
    if op.is_open and is_known(xs):
        return op.define(*xs)
    if own is not None and _covers(op, own, wanted):
        return apply.super(op, *xs)
    return op.record(xs, wanted)


def _covers(op: ControlOp, own: Flags, wanted: Flags) -> bool:
    given = wanted[len(wanted) - len(own) :]  # a predicate has no gradient
    return not any(w and not o for w, o in zip(given, own, strict=True))


@apply.register
def apply_control_carried(op: ControlOp, *xs: Carrier) -> Any:
    """A carrier sees the ops of the programs."""
    return op.define(*xs)


@apply.register
def apply_control_dual(op: ControlOp, *xs: Dual) -> Any:
    """The same op around the programs' derivatives."""
    level, primals, tangents = taken_apart(xs)
    if not level.is_open:
        level.refuse(op, "Dual")
    if level.number <= _C.paused_level() or all(dx is None for dx in tangents):
        return op(*primals)
    values, along = op.push(primals, tangents)
    return tuple(
        y if dy is None else Dual(y, dy, level) for y, dy in zip(values, along, strict=True)
    )
