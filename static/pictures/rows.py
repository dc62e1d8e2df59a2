"""The steps of a program as a picture has them: with phase, layer and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ... import _C
from ...ops.entries import entry_of, flops_of
from ..copying import Copier
from ..operator import Operator
from ..phases import phases
from ..program import Program


class Row(NamedTuple):
    """A step.

    Args:
        number: its place among the steps.
        phase: forward, backward or update.
        layer: the dotted name of the layer that it is of; "" for none.
        operator: the op, with names.
        inputs: numbers of the variables that it reads.
        outputs: of those that it makes.
        read: the names of what it reads.
        made: of what it makes.
        entry: the name of the entry that declares it; "" where there is none.
        flops: the operations on numbers of its products; None where that is not declared.
        bytes: of what it reads and makes; None where the sizes do not fit the program.
    """

    number: int
    phase: str
    layer: str
    operator: Operator
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    read: list[str]
    made: list[str]
    entry: str
    flops: int | None
    bytes: int | None


def rows_of(program: Program, sizes: Mapping[str, int]) -> list[Row]:
    """All steps, with their costs for these sizes."""
    known = _with_sizes(program, sizes)
    layers = _Layers(program)
    names = [name for name, _, _ in program.variables()]
    found = phases(program)
    kinds = {at: "backward" for at in found.backward} | {at: "update" for at in found.update}
    rows = []
    steps = zip(program.applied(), program.block.ops, strict=True)
    for at, (step, operator) in enumerate(steps):
        phase = kinds.get(at, "forward")
        layer = layers.of(phase, step.inputs, step.outputs)
        flops, size = None, None
        if known is not None:
            inputs, outputs = ([_spec(known, n) for n in ns] for ns in (step.inputs, step.outputs))
            shapes = [[shape for shape, _ in specs] for specs in (inputs, outputs)]
            flops = flops_of(known.steps[at][0], *shapes)
            size = sum(math.prod(shape) * width for shape, width in [*inputs, *outputs])
        read, made = ([names[n] for n in numbers] for numbers in (step.inputs, step.outputs))
        entry = entry_of(step.op).name
        variables = (step.inputs, step.outputs, read, made)
        rows.append(Row(at, phase, layer, operator, *variables, entry, flops, size))
    return rows


def _with_sizes(program: Program, sizes: Mapping[str, int]) -> Copier | None:
    """A copy in which sizes are known; None where these do not go together."""
    copier = Copier(program, sizes=sizes)
    try:
        for at in range(len(copier.steps)):
            copier.step(at)
    except (_C.ShapeError, _C.ArgumentError, KeyError):
        return None
    return None if copier.target.sizes() else copier


def _spec(copier: Copier, number: int) -> tuple[tuple[int, ...], int]:
    new = copier.number(number)
    return copier.target.shape(new), copier.target.dtype(new).itemsize


class _Layers:
    """The layer of each step, by the names of the states that it reads, or of what it makes.

    A step that has to do with none is of the layer around the step before it.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._variables = program.variables()
        self._last: dict[str, str] = {}

    def of(self, phase: str, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> str:
        names = [self._variables[n][0] for n in inputs if self._variables[n][1] == "state"]
        names += [name for n in outputs if (name := self._variables[n][0]).endswith("@GRAD")]
        layers = [name.rpartition(".")[0] for name in names if "." in name]
        if layers:
            self._last[phase] = _common(layers).rpartition(".")[0]
            return _common(layers)
        return self._last.get(phase, "")


def _common(layers: list[str]) -> str:
    """The innermost layer around all of them."""
    parts = [layer.split(".") for layer in layers]
    shared = []
    for each in zip(*parts, strict=False):
        if len(set(each)) > 1:
            break
        shared.append(each[0])
    return ".".join(shared)


def totals(rows: list[Row]) -> dict[str, Any]:
    """The costs of several steps."""
    return {
        "steps": len(rows),
        "flops": sum(row.flops or 0 for row in rows),
        "bytes": sum(row.bytes or 0 for row in rows),
    }
