"""A training program cut into stages, each of which runs in a process of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ... import _C
from ..copying import Copier, SizesOf, pruned
from ..phases import check_trains, check_update, phases
from ..program import Program
from .stages import Placing, place, sent_name


class Part(NamedTuple):
    """A program of a stage; it runs when all that it receives is there.

    Args:
        program: what is run. Its inputs are those of the whole program that it reads, and what it
            receives.
        receives: the names of the inputs that other parts send.
        sends: the names of the variables that other parts receive, to be fetched from a run.
    """

    program: Program
    receives: tuple[str, ...]
    sends: tuple[str, ...]


class Stage(NamedTuple):
    """What one process runs, in this order; `startup` once."""

    startup: Program
    forward: Part
    backward: Part
    update: Part


def pipeline_cut(main: Program, startup: Program, stages: int | Sequence[Any]) -> list[Stage]:
    """Cuts a training program into stages, which send each other values by name.

    The forward parts run from the first stage to the last, the backward parts from the last to the
    first, then the updates; what all of them do is what the program does. A state belongs to the
    stage that reads it first; one that never changes is in each stage that reads it, and so is one
    that counts runs.

    Args:
        main: a program with gradients and updates; it stays as it is.
        startup: its startup program; it stays as it is.
        stages: the variables behind which a stage ends, in their order, or their names; or how many
            stages there are: then the program is cut where one value goes across, into parts that
            take about as many operations on numbers.

    Raises:
        ArgumentError: there are no gradients, variables do not come one after the other in the
            forward pass, there are not so many places to cut, an update needs several stages, as
            gradients clipped by their common norm do, a gradient draws random numbers again, as
            that of dropout does, or a part receives sizes that are made of unknown ones.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> main, startup = static.Program(), static.Program()
        >>> with static.program_guard(main, startup):
        ...     h = tl.nn.Linear(2, 3)(static.data("x", (None, 2)))
        ...     loss = tl.functional.mean(tl.nn.Linear(3, 1)(h) ** 2)
        ...     _ = tl.optim.SGD().minimize(loss)
        >>> first, second = static.transpilers.pipeline_cut(main, startup, [h])
        >>> first.forward.sends, second.forward.receives, second.backward.sends
        (('value_1',), ('value_1',), ('value_9', 'parameter_2@GRAD', 'parameter_3@GRAD'))
    """
    who = "pipeline_cut"
    check_trains(main, who)
    found = phases(main)
    check_update(main, found, who)
    placing = place(main, found, stages)
    parts = {key: _Cut(main, placing, key) for key in placing.order()}
    for key, part in parts.items():
        for number in part.received:
            parts[placing.maker(number, key)].sent.append(number)
    made = {key: part.build() for key, part in parts.items()}
    return [
        Stage(_startup(main, startup, placing, i), *(made[phase, i] for phase in range(3)))
        for i in range(placing.count)
    ]


def _startup(main: Program, startup: Program, placing: Placing, stage: int) -> Program:
    """What gives the states of a stage their first values."""
    names = {main.names(state) for state in placing.states_of(stage)}
    kept = {s: n for s, n in startup.assigned().items() if startup.names(s) in names}
    return pruned(startup, [], kept)


class _Cut:
    """The steps of a part, and what it needs of others."""

    def __init__(self, main: Program, placing: Placing, key: tuple[int, int]) -> None:
        self.main = main
        self.placing = placing
        self.key = key
        self.steps = placing.steps_of(key)
        self.sent: list[int] = []
        self.received: list[int] = []
        self._own: list[int] = []
        self._find_givens()

    def build(self) -> Part:
        """The part's program."""
        copier = Copier(self.main, is_whole=False)
        names = [sent_name(self.main.names(n)) for n in self.received]
        for number, name in zip(self.received, names, strict=True):
            made = copier.add_input(name, number)
            copier.numbers[number] = copier.results[number] = made
        for number in self._own:
            copier.number(number)
        for at in self.steps:
            self._copy(copier, at)
        sent = list(dict.fromkeys(self.sent))
        for number in sent:
            copier.target.rename(copier.number(number), sent_name(self.main.names(number)))
        program = copier.finish(kept=self.placing.assigned_in(self.key))
        return Part(program, tuple(names), tuple(sent_name(self.main.names(n)) for n in sent))

    def _copy(self, copier: Copier, at: int) -> None:
        """Copies a step.

        Raises:
            ArgumentError: what it reads is received with sizes that are made of others, which a
                part does not know.
        """
        try:
            copier.step(at)
        except _C.ShapeError as error:
            raise _C.ArgumentError(
                "what a part receives must have the sizes of inputs, not some made of them",
                op="pipeline_cut", argument="stages", got=str(error),
                fix="cut it elsewhere, or give static.data known sizes",
            ) from error  # fmt: skip

    def _find_givens(self) -> None:
        """Splits what the steps read, and do not make, into the stage's own and the received."""
        assigned = self.main.assigned()
        self._take([assigned[state] for state in self.placing.assigned_in(self.key)])
        for at in list(self.steps):
            self._take(self.placing.steps[at][1])
        self.steps.sort()
        sizes = SizesOf(self.main, [*self._own, *self.received])
        for at in list(self.steps):
            self._take(sizes.missing(at, self._own))

    def _take(self, numbers: Iterable[int]) -> None:
        """Notes what is read."""
        for number in numbers:
            at = self.placing.maker_of.get(number)
            if at in self.steps or number in self._own or number in self.received:
                continue
            again = self.placing.repeated(number)
            if again is not None:
                self.steps.append(again)
                self._take(self.placing.steps[again][1])
            elif self.placing.is_at(number, self.key):
                self._own.append(number)
            else:
                self.received.append(number)
