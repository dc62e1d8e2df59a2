"""RowBranch: an op that runs one program on some rows, and another one on the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .control_flow import ControlOp
from .sub_programs import Call, Flags, filled, in_places


class RowBranch(ControlOp):
    """Two programs, each on the rows that a column of booleans leaves it: ``op(mask, *xs)``.

    A program without rows does not run.

    Args:
        when_true: from rows of the first inputs, and the others as they are, to rows of results,
            and to what is summed over both programs.
        when_false: the same.
        inputs: how many inputs are of rows.
        merged: how many results are.
    """

    kind = "RowBranch"

    def __init__(self, when_true: Call, when_false: Call, inputs: int, merged: int) -> None:
        self.when_true = when_true
        self.when_false = when_false
        self.inputs = inputs
        self.merged = merged
        super().__init__((when_true, when_false), len(when_true.results))

    def params(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "merged": self.merged}

    def record(self, xs: Sequence[Any], wanted: Flags) -> Sequence[Any]:
        return _TracedRowBranch(self, wanted)(*xs)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        moving = tuple(dx is not None for dx in tangents[1:])
        values, along = list(primals[1:]), [dx for dx in tangents if dx is not None]
        op = self._beside([call.pushed(moving) for call in self.sub_programs], moving)
        r, m = self.inputs, sum(moving[: self.inputs])
        found = op(primals[0], *values[:r], *along[:m], *values[r:], *along[m:])
        flags = self.when_true.moves
        moved = sum(flags[: self.merged])
        rows, sums = found[: op.merged], found[op.merged :]
        count = self.count - self.merged
        return (
            (*rows[: self.merged], *sums[:count]),
            in_places(flags, [*rows[self.merged : self.merged + moved], *sums[count:]]),
        )

    def _beside(self, calls: Sequence[Call], moving: Flags) -> RowBranch:
        """The branch of calls that are given tangents, and give some, beside what they are of."""
        r, m, n = self.inputs, sum(moving[: self.inputs]), len(moving)
        flags = self.when_true.moves
        moved = sum(flags[: self.merged])
        made = []
        for call in calls:
            values, along = call.given[:n], call.given[n:]
            ys, dys = call.results[: self.count], call.results[self.count :]
            made.append(
                call.between(
                    [*values[:r], *along[:m], *values[r:], *along[m:]],
                    [*ys[: self.merged], *dys[:moved], *ys[self.merged :], *dys[moved:]],
                )
            )
        return RowBranch(made[0], made[1], r + m, self.merged + moved)


class _TracedRowBranch(RowBranch):
    """A RowBranch on a tape; its gradient is one, too."""

    def __init__(self, base: RowBranch, wanted: Flags) -> None:
        super().__init__(base.when_true, base.when_false, base.inputs, base.merged)
        self.wanted = wanted[1:]

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        mask, *xs = inputs
        r, n = self.inputs, len(self.wanted)
        dys = filled(outputs, cotangents)
        moved = sum(self.when_true.moves[: self.merged])
        calls = []
        for call in self.sub_programs:
            gradient = call.gradient(self.wanted)
            given = gradient.given
            reordered = [*given[:r], *given[n : n + moved], *given[r:n], *given[n + moved :]]
            calls.append(gradient.between(reordered, gradient.results))
        op = RowBranch(calls[0], calls[1], r + moved, sum(self.wanted[:r]))
        found = op(mask, *xs[:r], *dys[:moved], *xs[r:], *dys[moved:])
        return (None, *in_places(self.wanted, found))
