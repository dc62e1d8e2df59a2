"""Behind which variables the stages of a pipeline end: those that are named, or even shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _C
from ...imperative.sizes import Size
from ...ops.entries import flops_of
from ..copying import ancestors, descendants
from ..numbers import number_in
from ..phases import Phases
from ..program import Program

_ANY = 64  # an unknown size, where costs are compared


def cuts_of(program: Program, found: Phases, stages: int | Sequence[Any]) -> list[int]:
    """The variables behind which stages end.

    Raises:
        ArgumentError: they are none of the forward pass, or there are not so many places to cut.
    """
    if isinstance(stages, int):
        return _even_cuts(program, found, stages)
    steps = program.steps()
    made = {n for at in found.forward for n in steps[at][2]}
    loss = ancestors(program, [backward.loss for backward in program.backwards])
    needed = {n for at in loss for n in steps[at][2]}
    listed = [stages] if isinstance(stages, (str, _C.TensorBase)) else list(stages)
    cuts = [number_in(program, x, "pipeline_cut", "stages") for x in listed]
    for cut in cuts:
        if cut not in made or cut not in needed or cuts.count(cut) > 1:
            refuse_cuts(program, cut)
    return cuts


def refuse_cuts(program: Program, cut: int) -> None:
    """Raises of a variable behind which no stage can end."""
    raise _C.ArgumentError(
        "must be results of the forward pass on which the loss depends, each following from the "
        "one before",
        op="pipeline_cut", argument="stages", got=program.names(cut),
    )  # fmt: skip


def _even_cuts(program: Program, found: Phases, count: int) -> list[int]:
    """The variables that go across alone, nearest to equal shares of the operations."""
    steps = program.steps()
    loss = ancestors(program, [backward.loss for backward in program.backwards])
    fed = descendants(program, [n for n, x in enumerate(program.variables()) if x[1] == "input"])
    path = [at for at in found.forward if at in loss and fed.intersection(steps[at][2])]
    last = {n: at for at in path for n in steps[at][1]}
    costs, places, total = [], [], 0
    live: set[int] = set()
    for at in path:
        live = {n for n in {*live, *steps[at][2]} if last.get(n, -1) > at}
        total += _cost(program, at)
        if len(live) == 1 and at != path[-1]:
            costs.append(total)
            places.append(next(iter(live)))
    chosen: list[int] = []
    for i in range(1, count):
        rest = [k for k in range(len(places)) if places[k] not in chosen]
        rest = [k for k in rest if not chosen or k > places.index(chosen[-1])]
        if len(rest) < count - i:
            break
        allowed = rest[: len(rest) - (count - i) + 1]
        chosen.append(places[min(allowed, key=lambda k: abs(costs[k] - total * i / count))])
    if len(chosen) != count - 1:
        raise _C.ArgumentError(
            f"must be from 1 to {len(set(places)) + 1}, as there are so many places where one "
            "value goes across",
            op="pipeline_cut", argument="stages", got=str(count),
        )  # fmt: skip
    return chosen


def _cost(program: Program, at: int) -> int:
    """About how many operations a step takes: of its products, or one for each element."""
    op, reads, outputs, _, _ = program.steps()[at]
    shapes: Any = [[program.shape(n) for n in numbers] for numbers in (reads, outputs)]
    shapes = [[[_ANY if isinstance(x, Size) else x for x in s] for s in each] for each in shapes]
    flops = flops_of(op, *shapes)
    if flops is not None:
        return flops
    return sum(math.prod(shape) for shape in shapes[1])
