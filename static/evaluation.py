"""Programs without what only training does: `Program.clone(for_test=True)`."""

from __future__ import annotations

from .. import functional as F
from .copying import Copier, ancestors, descendants, number_of
from .program import Program


def in_evaluation(program: Program) -> Program:
    """The program without gradients and changes of states, in evaluation where its ops tell."""
    copier = Copier(program)
    kept = _kept(program)
    compared = {
        n for op, reads, *_ in copier.steps if getattr(op, "mode", "") in _COMPARED for n in reads
    }
    for at in sorted(kept):
        op, reads, outputs, _, _ = copier.steps[at]
        name = type(op).__name__
        if name == "Dropout" and not compared.intersection(outputs):
            passed = copier.number(reads[0])
            copier.numbers[outputs[0]] = copier.results[outputs[0]] = passed
        elif name == "BatchNorm" and (found := _running(program, outputs)):
            _normalise(copier, at, *found)
        else:
            copier.step(at)
    return copier.finish(kept=())


_COMPARED = ("equal", "not_equal")


def _kept(program: Program) -> set[int]:
    """The steps that do not serve gradients and changes of states alone."""
    steps = program.steps()
    losses = {backward.loss for backward in program.backwards}
    gone = descendants(program, {n for b in program.backwards for n in b.made})
    readers: dict[int, set[int]] = {}
    for at, (_, reads, *_) in enumerate(steps):
        for n in reads:
            readers.setdefault(n, set()).add(at)
    changed = set(program.assigned().values())
    kept: set[int] = set()
    for at in reversed(range(len(steps))):
        outputs = steps[at][2]
        if gone.intersection(outputs):
            continue
        is_asked = not any(n in changed or n in readers for n in outputs)
        is_read = any(readers.get(n, set()) & kept for n in outputs)
        if is_asked or is_read or losses.intersection(outputs):
            kept.add(at)
    return kept | ancestors(program, [n for at in kept for n in steps[at][2]])


def _running(program: Program, outputs: tuple[int, ...]) -> tuple[int, int] | None:
    """The states that are moved towards a batch's mean and variance."""
    found = []
    for value in outputs[1:]:
        moved = descendants(program, [value]) - descendants(program, [outputs[0]])
        states = [s for s, n in program.assigned().items() if n in moved]
        if len(states) != 1:
            return None
        found += states
    return found[0], found[1]


def _normalise(copier: Copier, at: int, mean: int, variance: int) -> None:
    """Puts batch norm by running statistics in the place of batch norm by the batch's own."""
    op, reads, outputs, _, _ = copier.steps[at]
    x, weight, bias = (copier.value(copier.number(n)) for n in reads)
    shape = copier.source.shape(outputs[1])
    means, variances = (
        F.reshape(copier.value(copier.number(state)), shape) for state in (mean, variance)
    )
    # As layers in evaluation do it: one factor and one shift for each feature.
    factor = F.multiply(F.rsqrt(F.add(variances, op.eps)), weight)
    shift = F.subtract(bias, F.multiply(means, factor))
    made = [F.multiply_add(x, factor, shift), means, variances]
    for old, value in zip(outputs, made, strict=True):
        copier.numbers[old] = copier.results[old] = number_of(value)
