"""Which stage of a pipeline each step of a program is in, and to which a state belongs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ... import _C
from ...imperative.sizes import Size
from ...ops.entries import entry_of
from ..copying import ancestors, descendants
from ..numbers import is_unnamed
from ..phases import Phases, draws
from ..program import Program
from .cuts import cuts_of, refuse_cuts

FORWARD, BACKWARD, UPDATE = range(3)
Key = tuple[int, int]  # a phase, and a stage


class Placing:
    """Steps of a program by phase and stage.

    Args:
        program: of which they are.
        count: how many stages there are.
        found: the phases of its steps.
    """

    def __init__(self, program: Program, count: int, found: Phases) -> None:
        """Nothing is placed yet."""
        self.program = program
        self.count = count
        self.found = found
        self.keys: dict[int, Key] = {}  # by step
        self.homes: dict[int, int] = {}  # the stage that a state which changes belongs to
        self.steps = program.steps()
        self.maker_of = {n: at for at, step in enumerate(self.steps) for n in step[2]}
        # The numbers that stand for unknown sizes of inputs.
        sizes: Any = [program.shape(number)[axis] for _, number, axis in program.sizes()]
        self._roots = {size.first for size in sizes}
        self.roles = [role for _, role, _ in program.variables()]
        self.counts, self.free = counting(program, found)

    def is_free(self, number: int) -> bool:
        """Whether each stage makes a variable for itself, of states that it counts for itself."""
        return number in self.counts or self.maker_of.get(number) in self.free

    def order(self) -> Iterator[Key]:
        """The parts as they may run one after the other."""
        yield from ((FORWARD, i) for i in range(self.count))
        yield from ((BACKWARD, i) for i in reversed(range(self.count)))
        yield from ((UPDATE, i) for i in range(self.count))

    def steps_of(self, key: Key) -> list[int]:
        """The steps of a part, in their order."""
        return [at for at in range(len(self.steps)) if self.keys.get(at) == key]

    def is_at(self, number: int, key: Key) -> bool:
        """Whether a part has a variable without receiving it; not asked of what it makes."""
        if number in self.counts:
            return True
        if self.roles[number] == "state" and number in self.homes:
            return self.homes[number] == key[1]
        return self.roles[number] != "result"

    def maker(self, number: int, receiver: Key) -> Key:
        """The part that sends a variable.

        Raises:
            ArgumentError: it runs later than the part that receives it.
        """
        at = self.maker_of.get(number)
        key = (FORWARD, self.homes[number]) if at is None else self.keys[at]
        order = list(self.order())
        if order.index(key) >= order.index(receiver):
            raise _C.ArgumentError(
                "a stage must not need what a later part makes", op="pipeline_cut",
                argument="stages", got=self.program.names(number), fix="cut it elsewhere",
            )  # fmt: skip
        return key

    def assigned_in(self, key: Key) -> list[int]:
        """The states that a part changes."""
        phase, stage = key
        updated, counted = set(self.found.updated), self.counted_in(stage)
        return [
            state
            for state in self.program.assigned()
            if (state in counted if state in self.counts else self.homes[state] == stage)
            and phase == (UPDATE if state in updated else FORWARD)
        ]

    def counted_in(self, stage: int) -> set[int]:
        """The counts that a stage reads, and what they follow from; the first has the rest."""
        read = {n for at, key in self.keys.items() if key[1] == stage for n in self.steps[at][1]}
        assigned, found = self.program.assigned(), set[int]()
        pending = list(read if stage else read | self.counts - self._read_by_others())
        while pending:
            number = pending.pop()
            if number in self.counts and number not in found:
                found.add(number)
                pending.append(assigned[number])
            elif self.maker_of.get(number) in self.free:
                pending.extend(self.steps[self.maker_of[number]][1])
        return found

    def _read_by_others(self) -> set[int]:
        return {n for stage in range(1, self.count) for n in self.counted_in(stage)}

    def repeated(self, number: int) -> int | None:
        """The step that makes a variable, where the receiver does it again instead of receiving.

        So are those that move the elements of inputs and states, and of results whose shape says
        more about their sizes than that of what was moved does.
        """
        at = self.maker_of.get(number)
        if at in self.free:
            return at
        if at is None or not entry_of(self.steps[at][0]).is_view or len(self.steps[at][1]) != 1:
            return None
        (source,) = self.steps[at][1]
        if self._count(source) != self._count(number):
            return None
        sizes: Any = self.program.shape(number)
        is_made = any(isinstance(x, Size) and x.first not in self._roots for x in sizes)
        return at if is_made or self.roles[source] != "result" else None

    def _count(self, number: int) -> int:
        sizes: Any = self.program.shape(number)
        return math.prod(size.first if isinstance(size, Size) else size for size in sizes)

    def states_of(self, stage: int) -> set[int]:
        """The states that the parts of a stage have."""
        read = {
            n for at, key in self.keys.items() if key[1] == stage for n in self.steps[at][1]
        }  # fmt: skip
        states = {n for n in read if self.roles[n] == "state" and self.is_at(n, (FORWARD, stage))}
        states = states - self.counts | self.counted_in(stage)
        return states | {state for state, home in self.homes.items() if home == stage}


def counting(program: Program, found: Phases) -> tuple[set[int], set[int]]:
    """The states that follow from each other and from constants alone, and steps that do."""
    steps, assigned = program.steps(), program.assigned()
    changing = [n for n, (_, role, _) in enumerate(program.variables()) if role == "input"]
    changing += [n for step in program.applied() if draws(step.op) for n in step.outputs]
    counts = set(found.updated)
    while True:
        reached = descendants(program, [*changing, *(s for s in assigned if s not in counts)])
        others = {state for state in counts if assigned[state] in reached}
        if not others:
            break
        counts -= others
    read = descendants(program, counts)
    made = {n for step in steps if read.issuperset(step[2]) for n in step[2]} - reached
    return counts, ancestors(program, made)


def place(program: Program, found: Phases, stages: int | Sequence[Any]) -> Placing:
    """Places all steps.

    Raises:
        ArgumentError: `stages` cuts nothing, or not in order; or an update needs several stages.
    """
    cuts = cuts_of(program, found, stages)
    placing = Placing(program, len(cuts) + 1, found)
    _place_forward(placing, cuts)
    _find_homes(placing)
    _place_backward(placing)
    _place_updates(placing)
    _check_changes(placing)
    _check_draws(placing)
    return placing


def sent_name(name: str) -> str:
    """What a variable is called that one part sends another."""
    return f"value{name}" if is_unnamed(name) else name


def _place_forward(placing: Placing, cuts: Sequence[int]) -> None:
    steps = placing.steps
    level: dict[int, int] = {}
    for at in placing.found.forward:
        stage = max((level.get(n, 0) for n in steps[at][1]), default=0)
        placing.keys[at] = FORWARD, stage
        for n in steps[at][2]:
            level[n] = stage
            if n in cuts:
                if cuts.index(n) != stage:
                    refuse_cuts(placing.program, n)
                level[n] = stage + 1
    anchored = [ancestors(placing.program, [cut]) for cut in cuts] + [set(range(len(steps)))]
    readers = _readers(placing, placing.found.forward)
    for at in reversed(placing.found.forward):  # what a stage does not need is done where it is
        stage = placing.keys[at][1]
        later = [placing.keys[r][1] for n in steps[at][2] for r in readers.get(n, ())]
        if stage < len(cuts) and at not in anchored[stage] and later:
            placing.keys[at] = FORWARD, min(later)


def _find_homes(placing: Placing) -> None:
    """A state that changes belongs to the first stage that reads it."""
    readers = _readers(placing, placing.found.forward)
    for state, value in placing.program.assigned().items():
        if state in placing.counts:
            continue
        stages = [placing.keys[at][1] for at in readers.get(state, ())]
        made = placing.keys.get(placing.maker_of.get(value, -1))
        if stages:
            placing.homes[state] = min(stages)
        elif state not in placing.found.updated:
            placing.homes[state] = made[1] if made else 0


def _place_backward(placing: Placing) -> None:
    """Each step is where what it reads of the forward pass is, or where its results are needed.

    That is the last stage of which it, or a step that follows from it, reads a value that no stage
    before has, or gives a gradient.
    """
    steps, forward = placing.steps, _readers(placing, placing.found.forward)
    needed: dict[int, int] = {}  # by variable
    for backward in placing.program.backwards:
        for state, gradient in backward.gradients.items():
            home = placing.homes.get(state, 0)
            needed[gradient] = max(home, needed.get(gradient, 0))
    for at in reversed(placing.found.backward):
        _, reads, outputs, _, _ = steps[at]
        there = [places for n in reads if (places := _places(placing, n, forward))]
        shared = set.intersection(*there) if there else set()
        own = min(shared, default=max(map(min, there), default=0))
        stage = max([own, *(needed.get(n, 0) for n in outputs)])
        placing.keys[at] = BACKWARD, stage
        needed.update({n: max(stage, needed.get(n, 0)) for n in reads})


def _places(placing: Placing, number: int, readers: dict[int, list[int]]) -> set[int]:
    """The stages whose forward pass has a variable; none where it makes no difference."""
    if placing.is_free(number):
        return set()
    found = {placing.keys[at][1] for at in readers.get(number, ())}
    if number in placing.homes:
        found.add(placing.homes[number])
    at = placing.maker_of.get(number)
    if at is not None and placing.keys.get(at, (BACKWARD, 0))[0] == FORWARD:
        found.add(placing.keys[at][1])
    return found


def _place_updates(placing: Placing) -> None:
    """Steps that share values or states that change are in one stage: that of these states."""
    assigned = placing.program.assigned()
    groups = _Groups()
    for at in placing.found.update:
        if at in placing.free:
            continue  # each stage that reads them repeats them
        _, reads, outputs, _, _ = placing.steps[at]
        shared = [n for n in reads if n in groups.of or (n in assigned and n not in placing.counts)]
        groups.join(at, [*shared, *outputs])
    for state in placing.found.updated:
        group = groups.of.get(assigned[state])
        if group is not None:
            groups.join(-1, [state, assigned[state]])
    for steps, variables in groups.all():
        states = sorted(n for n in variables if n in assigned)
        stage = _stage_of_update(placing, steps, states)
        placing.keys.update({at: (UPDATE, stage) for at in steps})
        for state in states:
            placing.homes.setdefault(state, stage)
    for state in set(placing.found.updated) - placing.counts:
        maker = placing.maker_of.get(assigned[state])
        placing.homes.setdefault(state, 0 if maker is None else placing.keys[maker][1])


class _Groups:
    """Steps that are joined by the variables that they share."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[set[int], set[int]]] = {}  # by variable: steps, variables

    def join(self, at: int, variables: Iterable[int]) -> None:
        """Puts variables, and all that they are joined with, into one group; -1 is no step."""
        steps, members = {at} - {-1}, set(variables)
        merged = {id(group): group for n in members if (group := self.of.get(n))}
        largest = max(merged.values(), key=lambda group: len(group[1]), default=(steps, members))
        for found in [(steps, members), *merged.values()]:
            if found is not largest:
                largest[0].update(found[0])
                largest[1].update(found[1])
                self.of.update(dict.fromkeys(found[1], largest))
        self.of.update(dict.fromkeys(members, largest))

    def all(self) -> list[tuple[set[int], set[int]]]:
        """Each group once."""
        return list({id(group): group for group in self.of.values()}.values())


def _stage_of_update(placing: Placing, members: Iterable[int], states: Sequence[int]) -> int:
    homes = {placing.homes[state]: state for state in states if state in placing.homes}
    if len(homes) > 1:
        names = " and ".join(placing.program.names(state) for state in homes.values())
        raise _C.ArgumentError(
            "an update must not need several stages", op="pipeline_cut", argument="main",
            got=f"one that moves {names} by a common number",
            fix="clip gradients one by one, leave out loss_scale (bfloat16 needs none), or cut it "
            "elsewhere",
        )  # fmt: skip
    read = [placing.maker_of.get(n) for at in members for n in placing.steps[at][1]]
    gradients = [placing.keys[at][1] for at in read if at is not None and at in placing.keys]
    return next(iter(homes), max(gradients, default=0))


def _check_changes(placing: Placing) -> None:
    """Refuses a state that is changed by an earlier part than one that reads it."""
    order = list(placing.order())
    for key in order:
        later = order[order.index(key) + 1 :]
        read = {n for at, k in placing.keys.items() if k in later for n in placing.steps[at][1]}
        changed = [state for state in placing.assigned_in(key) if state not in placing.counts]
        wrong = sorted(read.intersection(changed))
        made = [placing.program.assigned()[state] for state in changed]
        makers = [placing.maker_of[n] for n in made if n in placing.maker_of]
        if wrong or any(order.index(placing.keys[at]) > order.index(key) for at in makers):
            raise _C.ArgumentError(
                "a state must not be read by a stage behind the one that changes it",
                op="pipeline_cut", argument="main",
                got=placing.program.names(wrong[0]) if wrong else "one that two stages change",
                fix="cut it elsewhere",
            )  # fmt: skip


def _check_draws(placing: Placing) -> None:
    """Refuses a draw that two parts would make, each in a run of its own: it would be another."""
    parts: dict[tuple[Any, ...], Key] = {}
    for at, (op, _, _, line, _) in enumerate(placing.steps):
        if entry_of(op).key("effects") != "random":
            continue
        draw = tuple(op.params().get(name) for name in ("seed", "key", "counter"))
        if parts.setdefault(draw, placing.keys[at]) != placing.keys[at]:
            raise _C.ArgumentError(
                "a gradient must not draw again what the forward pass drew, in a part of its own",
                op="pipeline_cut", argument="main", got=f"{op} in {line}",
                fix="draw a mask, x * dropout(ones_like(x)), which is sent",
            )  # fmt: skip


def _readers(placing: Placing, steps: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for at in steps:
        for n in placing.steps[at][1]:
            found.setdefault(n, []).append(at)
    return found
