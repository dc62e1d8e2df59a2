"""If, Loop and Scan: at once on values, and as `cond`, `while_loop` and `scan` in a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..... import _C
from ..... import functional as F
from .....imperative import Size, Tensor
from .....imperative.blocks import is_symbolic
from ..narrow_types import Narrow
from ..rule_table import rule
from ..sizes import Sizes

MOST_STEPS = 2**31
MOST_UNROLLED = 10_000  # steps of which each is recorded by itself


def _tensors(values: Sequence[Any], op: str) -> list[Any]:
    """Values as tensors, which is what programs carry.

    Raises:
        NumberNeeded: one is no tensor: a sequence, or nothing.
    """
    from ..running import NumberNeeded

    found = [value.as_tensor() if isinstance(value, Sizes) else value for value in values]
    for value in found:
        if not isinstance(value, Tensor):
            raise NumberNeeded(
                "its values must be tensors in a program", op=op, got=type(value).__name__
            )
    return found


def _truth(x: Any) -> Any:
    """A condition as a boolean of no dimensions; a bool where it is known."""
    one = F.reshape(x, ())
    return one if is_symbolic(one) else bool(one)


@rule
def choose(condition: Any, *, then_branch: Any, else_branch: Any) -> Any:
    """One of two graphs, as a boolean says."""
    flag = _truth(condition)
    if isinstance(flag, bool):
        return tuple((then_branch if flag else else_branch)())
    from ..running import NumberNeeded

    # What the branches read is given to them: made of what lies outside, it would be made there,
    # whichever branch is taken.
    around = {**then_branch.recorded_around(), **else_branch.recorded_around()}

    def taking(branch: Any) -> Any:
        def run(*tensors: Any) -> Any:
            given = dict(zip(around, tensors, strict=True))
            return tuple(_tensors(branch(given=given), "If"))

        return run

    try:
        return tuple(F.cond(flag, taking(then_branch), taking(else_branch), *around.values()))
    except NumberNeeded:
        raise
    except _C.TensorlikeError as error:
        # A branch that no run of these sizes takes need not go with them, nor give the same shapes.
        raise NumberNeeded(
            "must be known, since not both branches can be recorded", op="If",
            argument="condition", got=str(error),
        ) from error  # fmt: skip


@rule
def loop(count: Any, condition: Any, initial: Sequence[Any], *, body: Any) -> Any:
    """A graph applied to what it gave, so often, or as long as it says."""
    carried = len(initial)
    flag = True if condition is None else _truth(condition)
    most = None if count is None else _count(count)
    if _is_plain(flag) and _is_plain(most) and not _is_symbolic_any(initial):
        return _steps(most, flag, list(initial), body, carried)
    if body.outputs and len(body.outputs) - 1 - carried == 0:
        return _while(most, flag, initial, body)
    if type(most) is int or isinstance(most, Size):
        return _for(most, flag, initial, body, carried)
    from ..running import NumberNeeded

    raise NumberNeeded("must be known when a program is made", op="Loop", argument="count")


def _count(count: Any) -> Any:
    if isinstance(count, Sizes):
        found = count.listed()
        return found[0] if isinstance(found, list) else found
    one = F.reshape(count, ())
    return one if is_symbolic(one) else int(one)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int))


def _is_symbolic_any(values: Sequence[Any]) -> bool:
    return any(
        is_symbolic(value.tensor if isinstance(value, Narrow) else value)
        for value in values
        if isinstance(value, (Tensor, Narrow))
    )


def _steps(most: Any, flag: Any, values: list[Any], body: Any, carried: int) -> Any:
    """Python's own loop."""
    from ..running import NumberNeeded

    rows: list[list[Any]] = [[] for _ in range(len(body.outputs) - 1 - carried)]
    number = 0
    while flag and (most is None or number < most):
        if number >= (MOST_UNROLLED if body.is_recording else MOST_STEPS):
            raise NumberNeeded("must end soon in a program", op="Loop", got=f"{number} steps")
        found = body(_integer(number), _boolean(True), *values)
        again = _truth(found[0])
        if not isinstance(again, bool):
            raise NumberNeeded("must be known when a program is made", op="Loop", argument="cond")
        flag, values = again, found[1 : carried + 1]
        for row, value in zip(rows, found[carried + 1 :], strict=True):
            row.append(value)
        number += 1
    return (*values, *(F.stack(row) if row else _none(body, i) for i, row in enumerate(rows)))


def _none(body: Any, number: int) -> Any:
    """No rows: of what shape, no step has said."""
    return F.full((0,), 0.0)


def _integer(number: int) -> Any:
    return F.asarray(np.int64(number))


def _boolean(flag: bool) -> Any:
    return F.asarray(np.bool_(flag))


def _while(most: Any, flag: Any, initial: Sequence[Any], body: Any) -> Any:
    start = _tensors(initial, "Loop")
    first = flag if isinstance(flag, Tensor) else _boolean(flag)

    def again(carry: Any) -> Any:
        number, flag, _ = carry
        return flag if most is None else F.logical_and(flag, number < most)

    def step(carry: Any) -> Any:
        number, flag, values = carry
        found = _tensors(body(number, flag, *values), "Loop")
        return number + 1, F.reshape(found[0], ()), found[1:]

    _, _, values = F.while_loop(again, step, (_integer(0), first, start))
    return tuple(values)


def _for(most: Any, flag: Any, initial: Sequence[Any], body: Any, carried: int) -> Any:
    """A loop with rows of results: it must go on to its end, which its condition has to say."""
    from ..running import NumberNeeded

    if not (flag is True and _never_ends(body)):
        raise NumberNeeded("must be known when a program is made", op="Loop", argument="cond")
    start = _tensors(initial, "Loop")

    def step(values: Any, number: Any) -> Any:
        found = _tensors(body(number, _boolean(True), *values), "Loop")[1:]
        return found[:carried], tuple(found[carried:])

    numbers = F.arange(0, most, 1, dtype="int64")
    values, rows = F.scan(step, start, numbers)
    return (*values, *rows)


def _never_ends(body: Any) -> bool:
    """Whether the condition that a body gives is the one that it is given, or true."""
    name, graph = body.outputs[0], body.graph
    while True:
        if len(graph.inputs) > 1 and name == graph.inputs[1]:
            return True
        held = graph.constants.get(name)
        node = graph.makers.get(name)
        if held is None and node is not None and node.op == "Constant":
            held = node.attributes.get("value")
        if isinstance(held, Tensor):
            return bool(held.all())
        if node is None or node.op != "Identity":
            return False
        name = node.inputs[0]


@rule
def scan(
    values: Sequence[Any], *, body: Any, num_scan_inputs: int, scan_input_axes: Any,
    scan_input_directions: Any, scan_output_axes: Any, scan_output_directions: Any,
) -> Any:  # fmt: skip
    """A graph applied to what it gave and to one row after the other."""
    carried = len(values) - num_scan_inputs
    start, rows = _tensors(values[:carried], "Scan"), _tensors(values[carried:], "Scan")
    results = len(body.outputs) - carried
    axes = scan_input_axes or (0,) * num_scan_inputs
    rows = [F.moveaxis(x, axis, 0) for x, axis in zip(rows, axes, strict=True)]
    back = scan_input_directions or (0,) * num_scan_inputs
    rows = [F.flip(x, axis=0) if flag else x for x, flag in zip(rows, back, strict=True)]

    def step(carry: Any, row: Any) -> Any:
        found = _tensors(body(*carry, *row), "Scan")
        return found[:carried], tuple(found[carried:])

    final, made = F.scan(step, start, tuple(rows))
    back = scan_output_directions or (0,) * results
    made = [F.flip(y, axis=0) if flag else y for y, flag in zip(made, back, strict=True)]
    axes = scan_output_axes or (0,) * results
    return (*final, *(F.moveaxis(y, 0, axis) for y, axis in zip(made, axes, strict=True)))


@rule
def scan_of_batches(
    lengths: Any, values: Sequence[Any], *, body: Any, num_scan_inputs: int, directions: Any
) -> Any:
    """The form of opset 8: the same for each example along a first axis."""
    if lengths is not None:
        raise _C.ArgumentError(
            "must not be given", op="Scan", argument="sequence_lens", got="a tensor",
            fix="convert the model to opset 9",
        )  # fmt: skip
    found = [
        scan(
            [value[i] for value in values], body=body, num_scan_inputs=num_scan_inputs,
            scan_input_axes=None, scan_input_directions=directions, scan_output_axes=None,
            scan_output_directions=None,
        )
        for i in range(_tensors(values, "Scan")[0].shape[0])
    ]  # fmt: skip
    return tuple(F.stack(list(rows)) for rows in zip(*found, strict=True))
