"""Random programs give the same with passes in any order, at any level; and they would tell: of
each pass a wrong version is planted, and caught.

Of `keep`, and of the plans of `arena` (test_arena.py), they can tell no more than that values are
others, of `order` that they are read before they are made: that is what is planted there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.random_programs import RandomProgram, random_program

import tensorlike as tl
from tensorlike import _C, static
from tensorlike.ops import Const, Elemwise, Reduce, Reshape
from tensorlike.static.compiled import CompiledProgram, list_passes

RUNS = 2  # so that what states became is read


def outcomes(program: Any, case: RandomProgram, shift: float = 0.0) -> list[np.ndarray]:
    """What it gives in some runs, and its states after them."""
    exe, scope = static.Executor(), static.Scope()
    exe.run(case.startup, scope=scope)
    feeds = {name: x * (1 + shift) for name, x in case.feeds.items()}
    found: list[np.ndarray] = []
    for _ in range(RUNS):
        found += exe.run(program, feeds, case.results, scope)
    return found + [np.asarray(scope.find_var(name)) for name in sorted(scope.names())]


def is_close(found: np.ndarray, wanted: np.ndarray, close: float) -> bool:
    """Where the one as written overflowed, a fused op may not."""
    finite = np.isfinite(wanted)
    scale = 1 + np.max(np.abs(wanted[finite]), initial=0)
    return bool(np.all(np.abs(found - wanted)[finite] <= close * scale))


def check(seed: int, make: Any = CompiledProgram) -> None:
    case = random_program(seed)
    rng = np.random.default_rng(seed)
    names = [name for name, _, _ in list_passes()]
    order = list(rng.permutation(names))[: int(rng.integers(1, len(names) + 1))]
    if rng.random() < 0.3:
        order = names
    compiled = make(case.main, order, opt_level=int(rng.integers(0, 3)))
    program, numbers = compiled.optimised(case.results)
    _C.verify_program(program, numbers)
    wanted, found = outcomes(case.main, case), outcomes(compiled, case)
    for x, y in zip(wanted, found, strict=True):
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        if is_close(y, x, 1e-8):
            continue
        # Small changes of what is fed may make as much of a difference: then nothing is said.
        moved = outcomes(case.main, case, 1e-13)
        if not all(is_close(b, a, 1e-10) for a, b in zip(wanted, moved, strict=True)):
            return
        raise AssertionError(f"seed {seed}, {order}:\n{case.main}\nbecame\n{program}\n{x}\n{y}")


@pytest.mark.parametrize("first", range(0, 300, 25))
def test_passes_keep_what_programs_give(first: int) -> None:
    for seed in range(first, first + 25):
        check(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1000, 21000, 500))
def test_passes_keep_what_many_programs_give(first: int) -> None:
    for seed in range(first, first + 500):
        check(seed)


Wrong = Callable[[Any, int, Any], bool]


def _takes(mode: str, other: str) -> Wrong:
    """Takes one elementwise function for another one."""

    def change(graph: Any, place: int, step: Any) -> bool:
        return _is(step, mode) and _put(graph, place, step, Elemwise(mode=other), step.inputs)

    return change


def _turns(mode: str) -> Wrong:
    """Reads two operands in the other order."""

    def change(graph: Any, place: int, step: Any) -> bool:
        return _is(step, mode) and _put(graph, place, step, step.op, step.inputs[::-1])

    return change


def _drops_what_is_read(graph: Any, place: int, step: Any) -> bool:
    read = {n for other in graph.steps() for n in other.inputs}
    inputs = step.inputs[:1] * 2
    is_one = _is(step, "exp") and step.outputs[0] in read
    return is_one and _put(graph, place, step, Elemwise(mode="subtract"), inputs)


def _folds_to_another_number(graph: Any, place: int, step: Any) -> bool:
    if not str(step.op).startswith("Const(value=0.5,"):
        return False
    return _put(graph, place, step, Const(value=0.75, dtype=step.op.dtype), step.inputs)


def _moves_by_reshaping(graph: Any, place: int, step: Any) -> bool:
    if not str(step.op).startswith("Transpose(axes=(1, 0"):
        return False
    shape = graph.program.shape(step.inputs[0])[::-1]
    known = all(isinstance(size, int) for size in shape)
    return known and _put(graph, place, step, Reshape(shape=tuple(shape)), step.inputs)


def _merges_other_functions(graph: Any, place: int, step: Any) -> bool:
    for other in graph.steps()[:place]:
        if other.inputs == step.inputs and _is(step, "multiply") and _is(other, "add"):
            graph.replace(step.outputs[0], other.outputs[0])
            return True
    return _is(step, "multiply") and _put(graph, place, step, Elemwise(mode="add"), step.inputs)


def _forgets_a_factor(graph: Any, place: int, step: Any) -> bool:
    return _is(step, "multiply") and _replaced(graph, step.outputs[0], step.inputs[0])


def _sums_for_means(graph: Any, place: int, step: Any) -> bool:
    if not str(step.op).startswith("Reduce(mode='mean', axis=-1"):
        return False
    sums = Reduce(mode="sum", axis=-1, keepdims=step.op.keepdims, dtype=None)
    return _put(graph, place, step, sums, step.inputs)


def _reads_before_it_is_made(graph: Any, place: int, step: Any) -> bool:
    first = graph.steps()[0]
    is_last = place + 1 == len(graph.steps()) and place > 0
    is_one = is_last and bool(first.outputs)
    return is_one and _replaced(graph, first.outputs[0], step.outputs[0])


WRONG: dict[str, Wrong] = {
    "dead_code": _drops_what_is_read,
    "fold": _folds_to_another_number,
    "moves": _moves_by_reshaping,
    "identities": _turns("subtract"),
    "cse": _merges_other_functions,
    "bodies": _takes("abs", "square"),
    "channels": _forgets_a_factor,
    "products": _takes("exp", "negative"),
    "order": _reads_before_it_is_made,
    "chains": _turns("divide"),
    "rows": _sums_for_means,
    "keep": _takes("sqrt", "square"),
    "arena": _takes("relu", "negative"),
}


def _is(step: Any, mode: str) -> bool:
    return str(step.op) == f"Elemwise(mode='{mode}')"


def _replaced(graph: Any, old: int, new: int) -> bool:
    """False where they differ in shape or dtype."""
    try:
        graph.replace(old, new)
    except tl.ShapeError:
        return False
    return True


def _put(graph: Any, place: int, step: Any, op: Any, inputs: Any) -> bool:
    (made,) = graph.insert(place, op, inputs)
    graph.replace(step.outputs[0], made)
    return True


@pytest.mark.parametrize("name", [name for name, _, _ in list_passes()])
def test_a_wrong_version_of_a_pass_is_caught(name: str) -> None:
    planted = 0

    def wrong(graph: Any) -> None:
        nonlocal planted
        for place, step in enumerate(graph.steps()):
            if WRONG[name](graph, place, step):
                planted += 1
                return

    def make(program: Any, order: Any, opt_level: int) -> CompiledProgram:
        return CompiledProgram(program, [wrong, name], opt_level=opt_level)

    caught = 0
    for seed in range(60):
        before = planted
        try:
            check(seed, make)
        except (AssertionError, tl.ArgumentError):
            caught += planted > before
    assert planted
    assert caught >= max(1, planted // 10)
