"""Call: a program, or a part of one, as an op.

Applying it means to run the program, on tensor-likes of any kind: so tangents, examples and
carriers go through its ops. A tape records it as one op, whose gradient is a part of a program too:
that is recorded once, with the function run on Tracers over a program's variables, and cut where
the forward ops end. What the backward part reads of the forward one is kept by the call.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import _C
from ..ops import OpBase
from .autodiff import zeros_like
from .carrier import Carrier
from .derived_programs import Derived
from .dispatch import apply
from .dual import Dual
from .levels import Level, TransformValue, innermost_value, is_differentiated, under_leaves
from .symbolic import Listing, Step, is_moving

Flags = tuple[bool, ...]
_Made = TypeVar("_Made")


class Call(OpBase):
    """A program as an op.

    Args:
        program: what is run.
        given: the numbers of its variables that the op is applied to.
        results: the numbers of those that it gives.
        passes: by which the programs of its gradient are rewritten, as far as they run on elements.
    """

    def __init__(
        self,
        program: Listing,
        given: Sequence[int],
        results: Sequence[int],
        passes: tuple[str, ...] = (),
    ) -> None:
        self.program = program
        self.given = tuple(given)
        self.results = tuple(results)
        self.passes = passes
        self.stretch = _C.Stretch(program, self.given, self.results)
        self.holder = _C.Holder("Call", (self.stretch,), ())
        self._derived: dict[Any, Any] = {}

    def define(self, *xs: Any) -> tuple[Any, ...]:
        """Runs it."""
        return self.stretch.run(xs)

    @property
    def sub_programs(self) -> tuple[Call, ...]:
        """Itself: what printers and blocks look for."""
        return (self,)

    @property
    def draws(self) -> bool:
        """Whether each run draws random numbers anew."""
        return self.stretch.draws

    @property
    def is_open(self) -> bool:
        """Whether it has a loop without a bound, whose gradient takes values."""
        return any(getattr(step.op, "is_open", False) for step in self.program.applied())

    @property
    def moves(self) -> Flags:
        """Which results are of floating-point numbers."""
        return tuple(is_moving(self.program.dtype(number)) for number in self.results)

    @classmethod
    def of(cls, made: Derived, given: Sequence[Any], results: Sequence[Any]) -> Call:
        """The op from some values of a derived program to others."""
        numbers = [x.number for x in given]
        return Call(made.listing, numbers, [made.number(y) for y in results])

    def rewrite(self) -> _C.Stretch:
        """Lets what passes make of it run on elements."""
        stretch = _C.rewritten(self.stretch, self.passes, 1) if self.passes else self.stretch
        self.holder = _C.Holder("Call", (stretch,), ())
        return stretch

    def between(self, given: Sequence[int], results: Sequence[int]) -> Call:
        """Another part of the same program."""
        key = ("between", tuple(given), tuple(results))
        return self.derived(key, lambda: Call(self.program, given, results))

    def derived(self, key: Any, make: Callable[[], _Made]) -> _Made:
        """What follows from the program, made once."""
        if key not in self._derived:
            self._derived[key] = make()
        found: _Made = self._derived[key]
        return found

    def gradient(self, wanted: Flags) -> Call:
        """From what is given, and cotangents of the results that move, to the wanted gradients.

        Raises:
            AutodiffError: it draws random numbers, which would be others than those of the forward
                run.
        """
        if self.draws:
            raise _C.AutodiffError(
                "a program that draws random numbers is not run again for its gradient", op="Call",
                got="one in control flow, or for a second derivative",
                fix="draw them outside, and give them as arguments",
            )  # fmt: skip
        return self.derived(("gradient", wanted), lambda: _Joint(self, wanted).whole())

    def traced(self, wanted: Flags) -> _Traced | None:
        """The same with what its gradient reads among the results.

        None: its ops must be recorded one by one, since it has no gradient, one that takes values,
        or one that draws the random numbers of the forward run again.
        """

        def make() -> _Traced | None:
            if self.is_open:
                return None
            joint = _Joint(self, wanted)
            made = None if joint.is_cut else _Traced(self, joint, wanted)
            return None if made is None or made.backward.draws else made

        return self.derived(("traced", wanted), make)

    def pushed(self, moving: Flags) -> Call:
        """From what is given, and tangents of what moves, to results and tangents of those."""
        return self.derived(("pushed", moving), lambda: _pushed(self, moving))

    def __eq__(self, other: object) -> bool:
        """Whether both run the same ops on the same constants."""
        if self is other:
            return True
        return type(other) is type(self) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((len(self.given), len(self.results)))

    def _parts(self) -> Any:
        ops = tuple(step[:3] for step in self.program.applied())
        return self.given, self.results, self.program.held(), ops

    def __repr__(self) -> str:
        """The names of its ops, of a long one the first."""
        return self.stretch.name()

    __str__ = __repr__


def sub_programs_of(op: OpBase) -> tuple[Call, ...]:
    """The programs that an op holds."""
    return getattr(op, "sub_programs", ())


def wanted_of(xs: Sequence[Any]) -> Flags:
    """By which of the values somebody differentiates."""
    return tuple(is_moving(x.dtype) and is_differentiated(x) for x in xs)


class _Joint:
    """A program and its gradient, one after the other."""

    def __init__(self, call: Call, wanted: Flags) -> None:
        made = self.made = Derived(call)
        with made.recording():
            tape = _C.open_tape()
            try:
                given = [
                    tape.leaf(x) if w else x for x, w in zip(made.symbols, wanted, strict=True)
                ]
                outputs = call.define(*given)
                values = [self._value(y, tape.level) for y in outputs]
                self.count = len(made.listing.steps())
                self.outputs = [made.number(y) for y in values]
                seeds = [
                    zeros_like(y) if m else None for y, m in zip(values, call.moves, strict=True)
                ]
                self.cotangents = [dy for dy in seeds if dy is not None]
                leaves = [x for x, w in zip(given, wanted, strict=True) if w]
                found = self._pull(tape, outputs, seeds, leaves)
                self.is_cut = all(dx is None for dx in found)
            finally:
                tape.close()
            self.gradients = [
                zeros_like(x.primal) if dx is None else dx
                for x, dx in zip(leaves, found, strict=True)
            ]
            self.is_reached = [dx is not None for dx in found]

    @staticmethod
    def _value(y: Any, level: int) -> Any:
        y = under_leaves(y, level)
        return y.primal if isinstance(y, _C.Tracer) and y.level == level else y

    @staticmethod
    def _pull(tape: Any, outputs: Sequence[Any], seeds: Sequence[Any], leaves: Any) -> list[Any]:
        roots = [
            (under_leaves(y, tape.level), dy)
            for y, dy in zip(outputs, seeds, strict=True)
            if dy is not None
            and isinstance(under_leaves(y, tape.level), _C.Tracer)
            and under_leaves(y, tape.level).level == tape.level
        ]
        if not roots:
            return [None] * len(leaves)
        ys, dys = zip(*roots, strict=True)
        found = _C.backward(ys, dys, False, False, tuple(leaves), None)
        _C.forget_cut()
        return list(found)

    def whole(self) -> Call:
        """From what is given and cotangents to gradients."""
        return Call.of(self.made, [*self.made.symbols, *self.cotangents], self.gradients)

    def reached(self) -> list[Any]:
        """The gradients by what a result follows from."""
        return [dx for dx, r in zip(self.gradients, self.is_reached, strict=True) if r]

    def kept(self) -> list[int]:
        """What the backward ops read of what the forward ones make."""
        steps: list[Step] = self.made.listing.applied()
        read = {self.made.number(dx) for dx in self.reached()}
        for step in reversed(steps[self.count :]):
            if not read.isdisjoint(step.outputs):
                read.update(step.inputs)
        before = {number for step in steps[: self.count] for number in step.outputs}
        given = {x.number for x in self.made.symbols}
        return sorted((read & before) - given)


class _Traced(Call):
    """A call that gives beside its results what its gradient, a part of a program too, reads."""

    def __init__(self, base: Call, joint: _Joint, wanted: Flags) -> None:
        kept = joint.kept()
        given = [x.number for x in joint.made.symbols]
        super().__init__(joint.made.listing, given, [*joint.outputs, *kept], base.passes)
        self.rewrite()
        # Not the call itself, which holds this one: nobody else would let the two go.
        self._base = weakref.ref(base)
        self._parts_of_base = (base.program, base.given, base.results)
        self.wanted = wanted
        # What no result follows from has no gradient; zeros would be one.
        reached = iter(joint.is_reached)
        self.reached = tuple([w and next(reached) for w in wanted])
        self.count = len(joint.outputs)
        self.backward = Call(
            joint.made.listing,
            [*given, *kept, *(dy.number for dy in joint.cotangents)],
            [joint.made.number(dx) for dx in joint.reached()],
            base.passes,
        )
        self.holder.pull_by(self.backward, self.backward.rewrite(), self.count, self.reached)

    @property
    def base(self) -> Call:
        """The call whose gradient it has."""
        return self._base() or Call(*self._parts_of_base)

    @property
    def plain(self) -> Call:
        """The same as any other call."""
        return self.between(self.given, self.results)

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        """Runs the backward part; the whole gradient where it is differentiated in turn.

        Where all is plain the core does so by itself (csrc/program/pulled_call.h).
        """
        count = self.count
        flows = [dy for dy in cotangents if dy is not None]
        of_kept = any(dy is not None for dy in cotangents[count:])
        if of_kept or any(map(is_differentiated, (*inputs, *flows))):
            op = self.plain if of_kept else self.base
            dys = filled(outputs[: len(op.results)], cotangents[: len(op.results)])
            whole = in_places(self.wanted, op.gradient(self.wanted)(*inputs, *dys))
            return tuple([dx if r else None for dx, r in zip(whole, self.reached, strict=True)])
        dys = filled(outputs[:count], cotangents[:count])
        return in_places(self.reached, self.backward(*inputs, *outputs[count:], *dys))


def filled(outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The cotangents of outputs that move, zeros where none is."""
    return [
        zeros_like(y) if dy is None else dy
        for y, dy in zip(outputs, cotangents, strict=True)
        if is_moving(y.dtype)
    ]


def in_places(flags: Flags, values: Sequence[Any]) -> tuple[Any, ...]:
    """A value for each flag that is set, else None."""
    rest = iter(values)
    return tuple([next(rest) if flag else None for flag in flags])


def _pushed(call: Call, moving: Flags) -> Call:
    made = Derived(call)
    with made.recording(), Level() as level:
        tangents = [zeros_like(x) if m else None for x, m in zip(made.symbols, moving, strict=True)]
        duals = [
            x if dx is None else Dual(x, dx, level)
            for x, dx in zip(made.symbols, tangents, strict=True)
        ]
        values, along = [], []
        for y, moves in zip(call.define(*duals), call.moves, strict=True):
            own = under_leaves(y, level.number)
            is_own = isinstance(own, Dual) and own.level is level
            values.append(own.primal if is_own else y)
            if moves:
                tangent = own.tangent if is_own else None
                along.append(zeros_like(values[-1]) if tangent is None else tangent)
    return Call.of(
        made, [*made.symbols, *(dx for dx in tangents if dx is not None)], [*values, *along]
    )


@apply.register
def apply_call_transformed(op: Call, *xs: TransformValue) -> tuple[Any, ...]:
    """Tangents and examples go through the ops of the program."""
    return op.define(*xs)


@apply.register
def apply_call_carried(op: Call, *xs: Carrier) -> tuple[Any, ...]:
    """A carrier sees the ops of the program."""
    return op.define(*xs)


@apply.register
def apply_call_traced(op: Call, *xs: _C.Tracer) -> Any:
    """One op on the tape, which keeps what its gradient reads."""
    wanted = wanted_of(xs)
    is_enough = isinstance(op, _Traced) and not any(
        w and not own for w, own in zip(wanted, op.wanted, strict=True)
    )
    if is_enough or not any(wanted):
        return apply.super(op, *xs)
    plain = op.plain if isinstance(op, _Traced) else op
    form = plain.traced(wanted)
    if form is None:  # what stands in the way of a gradient is named by the tape
        return op.define(*xs)
    return form(*xs)[: len(op.results)]


def op_around(kind: str, calls: Sequence[Any], params: Sequence[Any]) -> OpBase:
    """The op of a kind around programs that the core has: from a file, say, or after passes."""
    from .held_programs import make_op  # which knows the kinds, and stands above them

    return make_op(kind, [Call(*call) for call in calls], params)


_C.set_holders(op_around, Listing, innermost_value, apply_call_traced)
