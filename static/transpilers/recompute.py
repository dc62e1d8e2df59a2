"""Gradients from values that are computed once more instead of being kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _C
from ...imperative.sub_programs import sub_programs_of
from ..copying import Copier, ancestors
from ..numbers import number_in
from ..phases import Phases, check_trains, phases
from ..program import Program


def recompute(main: Program, checkpoints: Sequence[Any]) -> Program:
    """A program that keeps, of what comes before the last checkpoint, the checkpoints alone.

    Gradients that need another value of it get one that is computed again, from the checkpoints
    before it, when they come to it; random numbers are those of the first time, so that every bit
    is the same. What follows the last checkpoint is kept, as its gradients come first.

    Args:
        main: a program with gradients; it stays as it is.
        checkpoints: variables of the forward pass, or their names: best such that not much is
            between one and the next, and that nothing but them is read across.

    Returns:
        The program; it has the startup program of `main`. Its `recomputed` are the variables that
        are computed again, which nobody may merge with those that they repeat.

    Raises:
        ArgumentError: there are no gradients or no checkpoints, or one is no result of the forward
            pass on which the loss depends.

    Source:
        Chen et al. 2016, https://arxiv.org/abs/1604.06174.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program(), static.Program()) as main:
        ...     w = tl.Parameter([1.0])
        ...     h = tl.functional.sin(tl.functional.sin(w))
        ...     _ = static.append_backward(tl.functional.sum(tl.functional.sin(h)))
        >>> [op.type for op in static.transpilers.recompute(main, [h]).block.ops].count("sin")
        4
    """
    check_trains(main, "recompute")
    found = phases(main)
    kept = _checked(main, checkpoints, found)
    again = _repeatable(main, ancestors(main, kept) & set(found.forward))
    copier = Copier(main)
    recomputing = _Recomputing(copier, again, kept)
    backward = set(found.backward)
    for at, step in enumerate(copier.steps):
        if at not in backward:
            copier.step(at)
            continue
        with copier.as_backward(step[2][0]):
            inputs = [recomputing.value(n) for n in step[1]]
        copier.step(at, inputs)
    program = copier.finish()
    program.recomputed.update(recomputing.made)
    return program


def _repeatable(main: Program, steps: set[int]) -> set[int]:
    """Without those that hold programs which draw: repeated, they would draw other numbers."""
    ops = main.ops
    return {at for at in steps if not any(call.draws for call in sub_programs_of(ops[at]))}


def _checked(main: Program, checkpoints: Sequence[Any], found: Phases) -> set[int]:
    given = [checkpoints] if isinstance(checkpoints, (str, _C.TensorBase)) else list(checkpoints)
    kept = {number_in(main, x, "recompute", "checkpoints") for x in given}
    needed = ancestors(main, [backward.loss for backward in main.backwards])
    steps = main.steps()
    known = {n for at in found.forward if at in needed for n in steps[at][2]}
    wrong = sorted(kept - known)
    if wrong or not kept:
        raise _C.ArgumentError(
            "must be results of the forward pass on which the loss depends", op="recompute",
            argument="checkpoints", got=main.names(wrong[0]) if wrong else "none",
        )  # fmt: skip
    return kept


class _Recomputing:
    """What stands for values of the forward pass in the backward one.

    Args:
        copier: of the program.
        again: the forward steps whose results are not kept.
        kept: of these the results that are.
    """

    def __init__(self, copier: Copier, again: set[int], kept: set[int]) -> None:
        self.copier = copier
        self.made: set[int] = set()
        self._values: dict[int, int] = {}
        self._kept = kept
        self._step_of = {n: at for at in again for n in copier.steps[at][2]}

    def value(self, number: int) -> int:
        """The variable that a backward step reads in the place of one of the source."""
        if number not in self._step_of or number in self._kept:
            return self.copier.number(number)
        if number not in self._values:
            for at in self._missing(number):
                inputs = [self._now(n) for n in self.copier.steps[at][1]]
                made = self.copier.step_again(at, inputs)
                self._values.update(zip(self.copier.steps[at][2], made, strict=True))
                self.made.update(made)
        return self._values[number]

    def _now(self, number: int) -> int:
        is_kept = number in self._kept or number not in self._step_of
        return self.copier.number(number) if is_kept else self._values[number]

    def _missing(self, number: int) -> list[int]:
        """The steps from checkpoints to a variable, in order, that were not repeated yet."""
        needed: set[int] = set()
        stack = [number]
        while stack:
            n = stack.pop()
            at = self._step_of.get(n)
            if at is None or n in self._kept or n in self._values or at in needed:
                continue
            needed.add(at)
            stack.extend(self.copier.steps[at][1])
        return sorted(needed)
