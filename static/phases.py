"""Which steps of a training program are forward, which are backward, and which update states."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .. import _C
from ..imperative.sub_programs import sub_programs_of
from ..ops.entries import entry_of
from .copying import descendants
from .program import Program


class Phases(NamedTuple):
    """Numbers of steps, in their order.

    Args:
        forward: what is computed of the batch, with all that is recorded before gradients are.
        backward: the gradients.
        update: what depends on gradients, or was recorded behind them for states alone, as powers
            of an optimiser's rates are.
        updated: the states that an update changes, and those that count updates: what follows from
            no batch and no draw, such as the number of the step that a rate is made of.
    """

    forward: list[int]
    backward: list[int]
    update: list[int]
    updated: list[int]


def phases(program: Program) -> Phases:
    """The phases of a program; without `append_backward` all of it is forward."""
    steps = program.steps()
    made = {n for backward in program.backwards for n in backward.made}
    fed = descendants(program, [n for n, x in enumerate(program.variables()) if x[1] == "input"])
    after = descendants(program, made)
    begins = min(made, default=len(program.variables()))
    backward = {at for at, step in enumerate(steps) if made.intersection(step[2])}
    update = {
        at
        for at, step in enumerate(steps)
        if at not in backward
        and (after.intersection(step[2]) or (begins < step[2][0] and not fed.intersection(step[2])))
    }
    read: set[int] = set()  # by forward steps, which make what they read themselves
    for at in reversed(range(len(steps))):
        if (
            at in update
            and read.intersection(steps[at][2])
            and not after.intersection(steps[at][2])
        ):
            update.remove(at)
        if at not in update and at not in backward:
            read.update(steps[at][1])
    forward = [at for at in range(len(steps)) if at not in update and at not in backward]
    values = {n for at in (*update, *backward) for n in steps[at][2]}
    assigned = program.assigned()
    updated = {state for state, value in assigned.items() if value in values}
    updated |= _counts(program, {s: n for s, n in assigned.items() if s not in updated}, values)
    return Phases(
        forward, sorted(backward), sorted(update), [state for state in assigned if state in updated]
    )


def _counts(program: Program, changed: Mapping[int, int], later: set[int]) -> set[int]:
    """Of the states that a forward pass changes those that change with an update all the same.

    They follow from no batch and no draw. What only running statistics read, as the number of the
    batches that they are the mean of, counts batches.

    Args:
        program: the program.
        changed: the states, and what they become.
        later: what the backward pass and the update make.
    """
    drawn = [n for step in program.applied() if draws(step.op) for n in step.outputs]
    inputs = [n for n, (_, role, _) in enumerate(program.variables()) if role == "input"]
    moving: set[int] = set()
    while True:
        reached = descendants(program, [*inputs, *drawn, *moving])
        found = {state for state, value in changed.items() if value in reached}
        if found == moving:
            break
        moving = found
    trained = later.union(backward.loss for backward in program.backwards)
    statistics = {changed[state] for state in moving}
    counts = set()
    for state in changed.keys() - moving:
        readers = descendants(program, [state])
        if readers & trained or not readers & statistics:
            counts.add(state)
    return counts


def draws(op: Any) -> bool:
    """Whether an op draws random numbers, or runs a program that does."""
    return entry_of(op).key("effects") == "random" or any(p.draws for p in sub_programs_of(op))


def gradients(program: Program) -> dict[int, str]:
    """The variables that are gradients, and what they are called after: the first parameter."""
    found: dict[int, str] = {}
    for backward in program.backwards:
        for parameter, gradient in backward.gradients.items():
            found.setdefault(gradient, program.names(parameter))
    return found


def check_trains(program: Program, who: str) -> None:
    """Raises where there are no gradients.

    Raises:
        ArgumentError: `minimize` or `append_backward` was not called.
    """
    if not isinstance(program, Program):
        raise _C.ParameterError(
            "must be a Program", op=who, argument="main", got=type(program).__name__
        )
    if not any(backward.gradients for backward in program.backwards):
        raise _C.ArgumentError(
            "must be a program with gradients", op=who, argument="main", got="one without",
            fix="call an optimiser's minimize, or static.append_backward, while it is built",
        )  # fmt: skip


def check_updates(found: Phases, who: str, why: str) -> None:
    """Raises where nothing is updated.

    Raises:
        ArgumentError: there are gradients alone.
    """
    if not found.updated:
        raise _C.ArgumentError(
            f"must be a program with updates, {why}", op=who, argument="main",
            got="one with gradients alone",
            fix="call an optimiser's minimize while it is built, and split it afterwards",
        )  # fmt: skip


def check_update(program: Program, found: Phases, who: str) -> None:
    """Raises where an update reads more of a batch than gradients.

    Raises:
        ArgumentError: it does: what is done for several batches at once could not be the same.
    """
    steps = program.steps()
    moved = {n for at in found.update for n in steps[at][2]}
    for at in (*found.forward, *found.backward):
        if read := moved.intersection(steps[at][1]):
            raise _C.ArgumentError(
                "gradients must not follow from what an update made", op=who, argument="main",
                got=f"{program.names(min(read))} in {steps[at][3] or steps[at][0]}",
                fix="build a program for each optimiser",
            )  # fmt: skip
    allowed: Collection[int] = gradients(program)
    roles = [role for _, role, _ in program.variables()]
    fed = descendants(program, [n for n, role in enumerate(roles) if role == "input"])
    inner = {n for at in (*found.forward, *found.backward) for n in steps[at][2]}
    for at in found.update:
        for n in steps[at][1]:
            if (n in inner or roles[n] == "input") and n not in allowed and n in fed:
                raise _C.ArgumentError(
                    "an update must read gradients, and nothing else that follows from the batch",
                    op=who, argument="main",
                    got=f"{program.names(n)} in {steps[at][3] or steps[at][0]}",
                )  # fmt: skip


def phases_for_means(program: Program, count: int, argument: str, who: str) -> Phases:
    """The phases of a program whose update shall take the mean of several gradients.

    Args:
        program: the program.
        count: how many there are of each.
        argument: what the count is called there.
        who: the call, for errors.

    Raises:
        ArgumentError: there are no gradients or no updates, the count is not positive, or an
            update reads something else that follows from the batch.
    """
    check_trains(program, who)
    if operator.index(count) < 1:
        raise _C.ArgumentError("must be positive", op=who, argument=argument, got=str(count))
    found = phases(program)
    check_updates(found, who, "which take the mean of several gradients")
    check_update(program, found, who)
    return found
