"""Updates that take the mean of several runs' gradients."""

from __future__ import annotations

import numpy as np

from ... import _C
from ... import functional as F
from ..copying import Copier, copy, number_of
from ..phases import gradients, phases_for_means
from ..program import Program


def gradient_accumulation(main: Program, startup: Program, steps: int) -> tuple[Program, Program]:
    """A program whose parameters move in every n-th run, by the mean of n runs' gradients.

    For a loss that is a mean, n runs do what one does with a batch n times as large, to rounding.
    What an update changes (parameters, moments, powers of rates) changes in every n-th run; what
    the forward pass changes, such as running statistics, in each.

    Args:
        main: a program with gradients and updates; it stays as it is.
        startup: its startup program; it stays as it is.
        steps: how many runs go into an update.

    Returns:
        The program, and its startup program, which gives the new states their first values, too.

    Raises:
        ArgumentError: there are no gradients or no updates, `steps` is not positive, or an update
            reads something else that follows from the batch.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> main, startup = static.Program(), static.Program()
        >>> with static.program_guard(main, startup):
        ...     w = tl.Parameter([0.0])
        ...     loss = tl.functional.mean((w - static.data("x", (1,))) ** 2)
        ...     _ = tl.optim.SGD(lr=0.25).minimize(loss)
        >>> slow, start = static.transpilers.gradient_accumulation(main, startup, 2)
        >>> exe, scope = static.Executor(), static.Scope()
        >>> _ = exe.run(start, scope=scope)
        >>> [exe.run(slow, {"x": [x]}, [w], scope)[0].tolist() for x in (1.0, 3.0)]
        [[0.0], [1.0]]
    """
    found = phases_for_means(main, steps, "steps", "gradient_accumulation")
    copier, first = Copier(main), copy(startup)
    for at in (*found.forward, *found.backward):
        copier.step(at)
    is_last, count, runs = _counted(copier, steps, first)
    totals = {}
    for gradient, name in gradients(main).items():
        new = copier.number(gradient)
        shape, dtype = main.shape(gradient), main.dtype(gradient)
        zeros = F.full(shape, 0, dtype=dtype)
        state = copier.add_state(f"{name}@TOTAL", zeros, first)
        total = F.add(copier.value(state), copier.value(new))
        totals[state] = F.where(is_last, F.zeros_like(total), total)
        copier.numbers[gradient] = number_of(F.divide(total, steps))
    for at in found.update:
        copier.step(at)
    for state in found.updated:
        value = main.assigned()[state]
        moved, old = (copier.value(copier.number(n)) for n in (value, state))
        copier.assign(state, number_of(F.where(is_last, moved, old)))
    program = copier.finish()
    for state, total in totals.items():
        _C.assign_state(program, state, number_of(total))
    _C.assign_state(program, runs, number_of(count))
    return program, first


def _counted(copier: Copier, steps: int, startup: Program) -> tuple[object, object, int]:
    """Whether a run is the last one before an update, the count after it, and the count's state."""
    state = copier.add_state("accumulated_runs", np.zeros((), np.int64), startup)
    count = F.remainder(F.add(copier.value(state), 1), steps)
    return F.equal(count, 0), count, state
