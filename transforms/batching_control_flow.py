"""How branches and loops in programs go over the examples of a `Batched`.

Where all examples go one way, the op stays what it is, around programs of many examples. Where they
differ, both branches run, and each example takes its own; a loop goes on until the last example is
done, and those that are stay as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .. import functional as F
from ..imperative.batch import Batch
from ..imperative.batched import Batched
from ..imperative.control_flow import Cond, ControlOp
from ..imperative.derived_programs import Derived
from ..imperative.dispatch import apply
from ..imperative.loops import ScanLoop, WhileLoop
from ..imperative.sizes import Size
from ..imperative.sub_programs import Call, Flags
from ..imperative.tensor import Tensor
from .batched_call import BatchedCall, moved_axis
from .batching import examples, map_one_by_one


@apply.register
def apply_control_batched(op: ControlOp, *xs: Batched) -> Any:
    """The op around programs of many examples."""
    batch: Any = max((x.batch for x in xs if type(x) is Batched), key=lambda batch: batch.number)
    if not batch.is_open:
        batch.refuse(op, "Batched")
    is_mapped = tuple(type(x) is Batched and x.batch is batch for x in xs)
    if isinstance(op, Cond) and is_mapped[0]:
        return _selected(op, *xs)
    if not isinstance(op, (Cond, WhileLoop, ScanLoop)):
        return map_one_by_one(op, xs)
    values = [x.value if m else x for x, m in zip(xs, is_mapped, strict=True)]
    call = BatchedCall(op, values, is_mapped, batch.size)
    if isinstance(op, Cond):
        found = _cond(op, call)
    elif isinstance(op, WhileLoop):
        found = _while_loop(op, call)
    else:
        found = _scan(op, call)
    return tuple(Batched(y, batch) for y in found)


def _selected(op: Cond, predicate: Any, *xs: Any) -> tuple[Any, ...]:
    pairs = zip(op.when_true(*xs), op.when_false(*xs), strict=True)
    chosen = Tensor(predicate)
    return tuple(F.where(chosen, Tensor(y), Tensor(z)).__wrapped__ for y, z in pairs)


def _cond(op: Cond, call: BatchedCall) -> Sequence[Any]:
    flags = tuple(call.is_mapped[1:])
    branches = [over_examples(branch, flags, call.size) for branch in op.sub_programs]
    return Cond(*branches)(*call.values)


def _scan(op: ScanLoop, call: BatchedCall) -> Sequence[Any]:
    n, m = op.carries, op.rows
    flags = ((True,) * n) + tuple(call.is_mapped[n:])
    body = over_examples(op.body, flags, call.size)
    rows = [
        moved_axis(x, 0, 1) if mapped else x
        for x, mapped in zip(call.values[n : n + m], flags[n : n + m], strict=True)
    ]
    found = ScanLoop(body, n, m, reverse=op.reverse)(
        *(call.mapped(i) for i in range(n)), *rows, *call.values[n + m :]
    )
    return [*found[:n], *(moved_axis(y, 1, 0) for y in found[n:])]


def _while_loop(op: WhileLoop, call: BatchedCall) -> Sequence[Any]:
    n = op.count
    flags = ((True,) * n) + tuple(call.is_mapped[n:])
    carries = [call.mapped(i) for i in range(n)]
    constants = call.values[n:]
    (is_on,) = over_examples(op.predicate, flags, call.size)(*carries, *constants)
    loop = _frozen_when_done(op, flags, call.size)
    return loop(is_on, *carries, *constants)[1:]


def _frozen_when_done(op: WhileLoop, flags: Flags, size: Any) -> WhileLoop:
    """The loop over examples, which carries a flag for each beside the carries."""
    made = Derived(op.body, size, flags)
    n = op.count
    with made.recording() as listing:
        lead = made.examples_name if isinstance(size, Size) else size
        is_on: Any = listing.input("is_on", (lead,), _C.bool_)
        with Batch(_count(made, flags, size), draws=False) as batch:
            given = _batched(made, flags, batch)
            found = op.body.define(*given)
            (again,) = op.predicate.define(*found, *given[n:])
            going = Tensor(Batched(is_on, batch))
            results = [F.logical_and(going, Tensor(again))]
            results += [
                F.where(going, Tensor(y), Tensor(x)) for x, y in zip(given[:n], found, strict=True)
            ]
            values = [examples(y.__wrapped__, batch) for y in results]
        is_any = F.any(Tensor(is_on)).__wrapped__
    every = [is_on, *made.symbols]
    return WhileLoop(Call.of(made, every, [is_any]), Call.of(made, every, values), op.limit)


def over_examples(call: Call, is_mapped: Flags, size: Any) -> Call:
    """A call of one example as a call of many; all results have the axis of examples."""
    key = ("examples", is_mapped, None if isinstance(size, Size) else size)

    def make() -> Call:
        made = Derived(call, size, is_mapped)
        with made.recording(), Batch(_count(made, is_mapped, size), draws=False) as batch:
            found = call.define(*_batched(made, is_mapped, batch))
            values = [examples(y, batch) for y in found]
        return Call.of(made, made.symbols, values)

    return call.derived(key, make)


def _count(made: Derived, is_mapped: Flags, size: Any) -> Any:
    """The number of examples in the derived program, where it may be a size that is not known."""
    if not isinstance(size, Size):
        return size
    return made.symbols[is_mapped.index(True)].shape[0]


def _batched(made: Derived, is_mapped: Flags, batch: Batch) -> list[Any]:
    pairs = zip(made.symbols, is_mapped, strict=True)
    return [Batched(x, batch) if mapped else x for x, mapped in pairs]
