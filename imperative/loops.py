"""WhileLoop and ScanLoop: ops that run a program on what it gave.

The gradient of a scan runs the gradient of its body backwards over the carries that were kept; a
loop with a bound is differentiated as a scan. Tangents are carried along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..ops import Fill
from .autodiff import zeros_like
from .control_flow import Cond, ControlOp, has_examples, is_known
from .derived_programs import Derived
from .sub_programs import Call, Flags, filled, in_places
from .symbolic import is_moving
from .tensor import Tensor


class WhileLoop(ControlOp):
    """A program that is run on what it gave, as long as another one says.

    Args:
        predicate: from carries and constants to a boolean.
        body: from the same to the next carries.
        limit: how many steps there may be; None: any number.
    """

    kind = "WhileLoop"

    def __init__(self, predicate: Call, body: Call, limit: int | None = None) -> None:
        self.predicate = predicate
        self.body = body
        self.limit = limit
        self._scan: ScanLoop | None = None
        super().__init__((predicate, body), len(body.results))

    @property
    def is_open(self) -> bool:
        """Whether it, or one inside of it, has no bound."""
        return self.limit is None or super().is_open

    def params(self) -> dict[str, Any]:
        return {"limit": self.limit}

    def record(self, xs: Sequence[Any], wanted: Flags) -> Sequence[Any]:
        if is_known(xs):
            return tuple(self.define(*xs))  # one call after the other
        if self.limit is None and not any(map(has_examples, xs)):
            return _OpenLoop(self, wanted)(*xs)
        scan = self.as_scan()
        steps = Fill(shape=(self.limit or 0,), fill_value=0, dtype=_C.int64)()[0]
        return tuple(scan(*xs[: self.count], steps, *xs[self.count :]))

    def as_scan(self) -> ScanLoop:
        """A scan of so many steps as there may be, which leave the carries once it is over.

        Raises:
            AutodiffError: there is no bound.
        """
        if self.limit is None:
            raise _C.AutodiffError(
                "gradients of a loop in a program, or over examples, need a bound",
                op="while_loop", got="max_steps=None",
                fix="pass max_steps, or loop over a range, and break",
            )  # fmt: skip
        if self._scan is None:
            n = self.count
            made = Derived(self.body)
            with made.recording() as listing:
                step: Any = listing.input("step", (), _C.int64)
                (predicate,) = self.predicate.define(*made.symbols)
                stays = self.body.between(self.body.given, self.body.given[:n])
                found = Cond(self.body, stays)(predicate, *made.symbols)
            self._scan = ScanLoop(
                Call.of(made, [*made.symbols[:n], step, *made.symbols[n:]], found), n, 1
            )
        return self._scan

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        n = self.count
        moving = tuple(is_moving(x.dtype) for x in primals[:n])
        moving += tuple(dx is not None for dx in tangents[n:])
        op = WhileLoop(
            _with_tangents_beside(_padded(self.predicate, moving), moving, n),
            _with_tangents_beside(self.body.pushed(moving), moving, n),
            self.limit,
        )
        found = op(*_interleaved(primals, _all_tangents(primals, tangents, moving), moving, n))
        return found[:n], in_places(self.body.moves, found[n:])


class _OpenLoop(WhileLoop):
    """A loop without a bound on the tape of a program: who asks for its gradient there is told.

    A tape over values, which the program is run on, records the steps instead.
    """

    def __init__(self, base: WhileLoop, wanted: Flags) -> None:
        super().__init__(base.predicate, base.body)
        self.wanted = wanted

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        self.as_scan()
        return (None,) * len(inputs)


class ScanLoop(ControlOp):
    """A program that is run on what it gave and on one row after the other.

    Args:
        body: from carries, rows and constants to the next carries and rows of results.
        carries: how many there are.
        rows: how many tensors it goes along.
        reverse: whether it goes from the last row to the first.
    """

    kind = "ScanLoop"

    def __init__(self, body: Call, carries: int, rows: int, *, reverse: bool = False) -> None:
        self.body = body
        self.carries = carries
        self.rows = rows
        self.reverse = reverse
        super().__init__((body,), len(body.results))

    def params(self) -> dict[str, Any]:
        return {"carries": self.carries, "rows": self.rows, "reverse": self.reverse}

    def record(self, xs: Sequence[Any], wanted: Flags) -> Sequence[Any]:
        return _TracedScanLoop(self, xs, wanted)(*xs)[: self.count]

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        n, m = self.carries, self.rows
        moving = tuple(is_moving(x.dtype) for x in primals[:n])
        moving += tuple(dx is not None for dx in tangents[n:])
        body = _with_tangents_beside(self.body.pushed(moving), moving, n, m)
        moved, count = sum(moving[:n]), self.count
        values, along = body.results[:count], body.results[count:]
        body = body.between(body.given, [*values[:n], *along[:moved], *values[n:], *along[moved:]])
        op = ScanLoop(body, n + moved, m + sum(moving[n : n + m]), reverse=self.reverse)
        found = op(*_interleaved(primals, _all_tangents(primals, tangents, moving), moving, n, m))
        last = count + moved
        of_results = (*found[n : n + moved], *found[last:])
        return (*found[:n], *found[n + moved : last]), in_places(self.body.moves, of_results)


class _TracedScanLoop(ScanLoop):
    """A scan on a tape: it gives the carries of all steps, too, which its gradient goes along."""

    def __init__(self, base: ScanLoop, xs: Sequence[Any], wanted: Flags) -> None:
        n = base.carries
        body = base.body
        super().__init__(
            body.between(body.given, [*body.results, *body.given[:n]]),
            n,
            base.rows,
            reverse=base.reverse,
        )
        self.base = base
        self.wanted = (*(is_moving(x.dtype) for x in xs[:n]), *wanted[n:])

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        n, m, count = self.carries, self.rows, self.base.count
        moved = self.wanted[:n]
        of_kept = cotangents[count:]
        has_kept = any(dy is not None for dy in of_kept)
        dys = filled(outputs[:count], cotangents[:count])
        constants = [x for x, w in zip(inputs[n + m :], self.wanted[n + m :], strict=True) if w]
        op = _backward_of(self.base, self.wanted, has_kept=has_kept)
        kept = filled(outputs[count:], of_kept) if has_kept else []
        found = op(
            *dys[: sum(moved)],
            *map(zeros_like, constants),
            *outputs[count:],
            *inputs[n : n + m],
            *dys[sum(moved) :],
            *kept,
            *inputs[n + m :],
        )
        starts, sums = found[: sum(moved)], found[sum(moved) : op.carries]
        return in_places(self.wanted, [*starts, *found[op.carries :], *sums])


def _backward_of(scan: ScanLoop, wanted: Flags, *, has_kept: bool) -> ScanLoop:
    """The scan the other way: it carries cotangents of the carries, and sums those of constants."""
    key = ("backward", scan.carries, scan.rows, scan.reverse, wanted, has_kept)
    return scan.body.derived(key, lambda: _make_backward(scan, wanted, has_kept=has_kept))


def _make_backward(scan: ScanLoop, wanted: Flags, *, has_kept: bool) -> ScanLoop:
    n, m = scan.carries, scan.rows
    gradient = scan.body.gradient(wanted)
    made = Derived(gradient)
    count = len(wanted)
    carries, rows, constants = (
        made.symbols[:n],
        made.symbols[n : n + m],
        made.symbols[n + m : count],
    )
    moved = sum(wanted[:n])
    along, dys = made.symbols[count : count + moved], made.symbols[count + moved :]
    with made.recording():
        found = gradient.define(*made.symbols)
        sums = [zeros_like(x) for x, w in zip(constants, wanted[n + m :], strict=True) if w]
        pairs = zip(carries, wanted[:n], strict=True)
        kept = [zeros_like(x) for x, w in pairs if w] if has_kept else []
        last = len(found) - len(sums)
        next_along = list(found[:moved])
        if has_kept:
            next_along = [_added(a, b) for a, b in zip(next_along, kept, strict=True)]
        next_sums = [_added(a, b) for a, b in zip(sums, found[last:], strict=True)]
    body = Call.of(
        made,
        [*along, *sums, *carries, *rows, *dys, *kept, *constants],
        [*next_along, *next_sums, *found[moved:last]],
    )
    return ScanLoop(body, moved + len(sums), n + m + len(dys) + len(kept), reverse=not scan.reverse)


def _added(a: Any, b: Any) -> Any:
    return (Tensor(a) + Tensor(b)).__wrapped__


def _padded(call: Call, moving: Flags) -> Call:
    """The same call, which is given tangents too, of which it needs none."""
    made = Derived(call)
    with made.recording():
        more = [zeros_like(x) for x, m in zip(made.symbols, moving, strict=True) if m]
        found = call.define(*made.symbols)
    return Call.of(made, [*made.symbols, *more], found)


def _interleaved(
    primals: Sequence[Any], tangents: Sequence[Any], moving: Flags, *counts: int
) -> list[Any]:
    """Each group of values (carries, rows, the rest) with its tangents behind it."""
    rest = iter(tangents)
    made: list[Any] = []
    begin = 0
    for end in (*_sums(counts), len(primals)):
        made += [*primals[begin:end], *(next(rest) for moves in moving[begin:end] if moves)]
        begin = end
    return made


def _sums(counts: Sequence[int]) -> list[int]:
    return [sum(counts[: i + 1]) for i in range(len(counts))]


def _all_tangents(primals: Sequence[Any], tangents: Sequence[Any], moving: Flags) -> list[Any]:
    return [
        zeros_like(x) if dx is None else dx
        for x, dx, m in zip(primals, tangents, moving, strict=True)
        if m
    ]


def _with_tangents_beside(call: Call, moving: Flags, *counts: int) -> Call:
    """The call with the tangents that it is given behind the groups that they are of."""
    values, tangents = call.given[: len(moving)], call.given[len(moving) :]
    return call.between(_interleaved(values, tangents, moving, *counts), call.results)
