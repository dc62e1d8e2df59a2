"""A training program as parts that see a share of the batch, and what joins their gradients."""

from __future__ import annotations

from typing import NamedTuple

from ... import functional as F
from ..copying import Copier, ancestors, copy, number_of
from ..phases import gradients, phases_for_means
from ..program import Program
from .stages import sent_name


class DataParallel(NamedTuple):
    """What each of several processes runs.

    Args:
        part: the forward and the backward pass, on a share of the batch.
        combine: the update, by the mean of all parts' gradients. Its inputs are called as the
            gradients are, with the part's number behind: ``w@GRAD.0``.
        startup: the startup program, of each process.
        gradients: the names of the gradients in `part`, which all parts send to all.
    """

    part: Program
    combine: Program
    startup: Program
    gradients: tuple[str, ...]


def data_parallel(main: Program, startup: Program, parts: int) -> DataParallel:
    """Splits a training program into what each part does with its share, and a common update.

    For a loss that is a mean, and shares of one size, a run of all parts and of `combine` does what
    a run of the program does with the whole batch. What the forward pass changes, such as running
    statistics, is each part's own; random numbers are drawn in each part.

    Args:
        main: a program with gradients and updates; it stays as it is.
        startup: its startup program; it stays as it is.
        parts: how many there are.

    Raises:
        ArgumentError: there are no gradients or no updates, `parts` is not positive, or an update
            reads something else that follows from the batch.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> main, startup = static.Program(), static.Program()
        >>> with static.program_guard(main, startup):
        ...     w = tl.Parameter([0.0])
        ...     loss = tl.functional.mean((w - static.data("x", (None, 1))) ** 2)
        ...     _ = tl.optim.SGD(lr=0.25).minimize(loss)
        >>> split = static.transpilers.data_parallel(main, startup, 2)
        >>> exe, scope = static.Executor(), static.Scope()
        >>> _ = exe.run(split.startup, scope=scope)
        >>> (g,) = split.gradients
        >>> sent = {}
        >>> for i, x in enumerate([[[1.0]], [[3.0]]]):
        ...     (sent[f"{g}.{i}"],) = exe.run(split.part, {"x": x}, [g], scope)
        >>> exe.run(split.combine, sent, [w], scope)
        [array([1.], dtype=float32)]
    """
    found = phases_for_means(main, parts, "parts", "data_parallel")
    part = Copier(main)
    for at in (*found.forward, *found.backward):
        part.step(at)
    kept = [state for state in main.assigned() if state not in found.updated]
    names = {n: sent_name(main.names(n)) for n in gradients(main)}
    combine = Copier(main, is_whole=False)
    for old, name in names.items():
        part.target.rename(part.number(old), name)
        shape, dtype = main.shape(old), main.dtype(old)
        given = [combine.target.add_input(f"{name}.{i}", shape, dtype) for i in range(parts)]
        total = combine.value(given[0])
        for number in given[1:]:
            total = F.add(total, combine.value(number))
        combine.numbers[old] = combine.results[old] = number_of(F.divide(total, parts))
    means = dict(combine.numbers)
    # What follows from no batch is computed again where an update reads it.
    moved = {n for at in found.update for n in part.steps[at][2]}
    read = {n for at in found.update for n in part.steps[at][1]}
    read.update(main.assigned()[state] for state in found.updated)
    needed = ancestors(main, read - moved - means.keys()) & {*found.forward, *found.backward}
    for at in sorted(needed | set(found.update)):
        combine.step(at)
        combine.numbers.update(means)
    return DataParallel(
        part.finish(kept=kept), combine.finish(kept=found.updated), copy(startup),
        tuple(names.values()),
    )  # fmt: skip
