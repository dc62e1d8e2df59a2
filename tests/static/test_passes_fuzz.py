"""Random programs give the same with passes in any order, at any level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.random_programs import RandomProgram, random_program

from tensorlike import _C, static
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


def test_a_wrong_pass_is_caught() -> None:
    """One that takes every product for a sum; and that passes fire at all in these programs."""

    def wrong(graph: Any) -> None:
        import tensorlike as tl

        for place, step in enumerate(graph.steps()):
            if str(step.op) == "Elemwise(mode='multiply')":
                (made,) = graph.insert(place, tl.ops.Elemwise(mode="add"), step.inputs)
                graph.replace(step.outputs[0], made)
                return

    def make(program: Any, order: Any, opt_level: int) -> CompiledProgram:
        return CompiledProgram(program, [wrong, *order], opt_level=opt_level)

    caught = 0
    for seed in range(20):
        try:
            check(seed, make)
        except AssertionError:
            caught += 1
    assert caught >= 5
