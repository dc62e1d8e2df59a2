"""RowBranch: an op that runs one program on some rows, and another one on the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..ops import Concat, Fill
from .control_flow import ControlOp, refuse_difference
from .sub_programs import Call, Flags, filled, in_places
from .tensor import Tensor


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

    name = "IfElse"

    def __init__(self, when_true: Call, when_false: Call, inputs: int, merged: int) -> None:
        self.when_true = when_true
        self.when_false = when_false
        self.inputs = inputs
        self.merged = merged
        super().__init__((when_true, when_false), len(when_true.results))

    def params(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "merged": self.merged}

    def define(self, mask: Any, *xs: Any) -> Any:
        flags = Tensor(mask).reshape((-1,))
        places = [flags.nonzero()[0], (~flags).nonzero()[0]]
        kept = [place.shape[0] > 0 for place in places]
        found = [
            call(*(Tensor(x)[place].__wrapped__ for x in xs[: self.inputs]), *xs[self.inputs :])
            for call, place, is_run in zip(self.sub_programs, places, kept, strict=True)
            if is_run
        ]
        if not found:
            return self._nothing(mask, *xs)
        rows, sums = [ys[: self.merged] for ys in found], [ys[self.merged :] for ys in found]
        if all(kept):
            order = Tensor(Concat(axis=0)(*(place.__wrapped__ for place in places))[0]).argsort()
            merged = [Tensor(Concat(axis=0)(*ys)[0])[order] for ys in zip(*rows, strict=True)]
            added = [Tensor(a) + Tensor(b) for a, b in zip(*sums, strict=True)]
            return tuple(y.__wrapped__ for y in (*merged, *added))
        return found[0]

    def _nothing(self, *xs: Any) -> tuple[Any, ...]:
        shapes = self.infer(*xs)
        return tuple(Fill(shape=y.shape, fill_value=0, dtype=y.dtype)()[0] for y in shapes)

    def infer(self, mask: Any, *xs: Any) -> Sequence[Any]:
        if mask.dtype.kind != "bool" or len(mask.shape) not in (1, 2) or mask.shape[1:] not in (
            (), (1,),
        ):  # fmt: skip
            raise _C.DTypeError(
                "must be a column of booleans", op=self.name, argument="cond",
                got=f"{mask.dtype.name}{tuple(mask.shape)}",
            )  # fmt: skip
        found = self.when_true.stretch.infer(xs)
        for i, (x, y) in enumerate(zip(found, self.when_false.stretch.infer(xs), strict=True)):
            refuse_difference(self, "both blocks", f"output {i}", x, y)
        for x in (*xs[: self.inputs], *found[: self.merged]):
            if not x.shape or x.shape[0] != mask.shape[0]:
                raise _C.ShapeError(
                    "must have as many rows as there are booleans", op=self.name,
                    argument="inputs and outputs", got=f"shape {tuple(x.shape)}",
                )  # fmt: skip
        return found

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
