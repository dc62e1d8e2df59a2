"""The pass "arena": results of a run share memory, and give what they gave before.

Memory is filled with a byte that makes no sense when it is handed out and when it is given back,
and results of any size take part: a value that is read when its slice is another's shows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.random_programs import random_program
from support.unknown_sizes import array, gradients, leaves

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, static
from tensorlike.opdecl import load_builtin
from tensorlike.static.compiled import CompiledProgram
from tensorlike.testing.corpus import Example, examples

MODES = ["sync", "async", "lazy"]
PASSES = [["arena"], ["chains", "rows", "arena"]]
WITH_GRADIENTS = [x for x in examples(tuple(load_builtin().functions)) if x.has_gradient]


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """All memory, and results of all sizes."""
    _C.poison_memory(True)
    _C.share_all_memory(True, False)
    try:
        yield
    finally:
        _C.poison_memory(False)
        _C.share_all_memory(False, False)


def same(found: Any, wanted: Any) -> None:
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def in_a_run(call: Any, arrays: list[Any], passes: list[str]) -> list[Any]:
    """What a function gives as a program, run twice after these passes."""
    with static.program_guard(static.Program(), static.Program()) as main:
        given = [
            tl.Tensor(static.data(f"x{i}", x.shape, tl.tensor(x).dtype))
            for i, x in enumerate(arrays)
        ]
        results = leaves(call(*given))
    program = CompiledProgram(main, passes)
    feed = {f"x{i}": x for i, x in enumerate(arrays)}
    tl.manual_seed(5)
    first = static.Executor().run(program, feed, results, static.Scope())
    tl.manual_seed(5)
    same(static.Executor().run(program, feed, results, static.Scope()), first)
    return first


@pytest.mark.parametrize("example", WITH_GRADIENTS, ids=lambda example: example.entry.function)
def test_gradients_of_all_functions_in_an_arena(example: Example) -> None:
    if example.entry.function == "masked_scatter":  # refused as a program
        return
    call, arrays = gradients(example, example.moving()), [x for _, x in example.arrays]
    wanted = in_a_run(call, arrays, [])
    same(in_a_run(call, arrays, ["arena"]), wanted)


def outcomes(program: Any, case: Any) -> list[Any]:
    """What some runs give, that write over states and that do not, and the states then."""
    executor, scope = static.Executor(), static.Scope()
    executor.run(case.startup, scope=scope)
    found: list[Any] = []
    for donates in (False, True, True):
        found += executor.run(program, case.feeds, case.results, scope, donate_states=donates)
    return found + [np.asarray(scope.find_var(name)) for name in sorted(scope.names())]


@pytest.mark.parametrize("first", range(0, 200, 50))
@pytest.mark.parametrize("is_wrong", [False, True], ids=["plans", "wrong plans"])
@pytest.mark.parametrize("mode", MODES)
def test_random_programs_in_an_arena(mode: str, is_wrong: bool, first: int) -> None:
    """Plans that say of everything that it lives for a moment cost memory, and no result."""
    shared = 0
    with tl.engine.mode(mode, threshold=1):
        for seed in range(first, first + 50):
            case = random_program(seed)
            for passes in PASSES:
                others = [one for one in passes if one != "arena"]
                wanted = outcomes(CompiledProgram(case.main, others), case)
                _C.share_all_memory(True, is_wrong)
                program = CompiledProgram(case.main, passes)
                same(outcomes(program, case), wanted)
                shapes = [x.shape for x in case.feeds.values()]
                report = program.memory(case.results, *shapes)
                shared += report.planned > report.least
    assert shared > 15  # of 100


def deep(x: Any) -> Any:
    """Products, views of them and what is computed over those."""
    for _ in range(4):
        y = x @ x.T
        x = F.tanh(y.T @ x) + F.reshape(x, x.shape)[::-1]
    return x


def compiled(shape: tuple[Any, ...], call: Any = deep) -> tuple[CompiledProgram, Any]:
    listing = tl.Listing()
    y = call(tl.Tensor(listing.input("x", shape)))
    return CompiledProgram(listing), y


def test_the_report_says_what_is_shared() -> None:
    _C.share_all_memory(False, False)
    program, y = compiled((128, 64))
    report = program.memory(y, (128, 64))
    assert report.least <= report.shared < report.planned <= report.results
    assert "share" in str(report)
    alone = program.without("arena").memory(y, (128, 64))
    assert alone.results == report.results
    with pytest.raises(tl.ArgumentError, match="one shape for each"):
        program.memory(y)


def test_unknown_sizes_have_a_layout_each() -> None:
    program, y = compiled((None, 16))
    for rows in (1, 40, 3, 0, 40):
        x = np.random.default_rng(rows).standard_normal((rows, 16), dtype=np.float32)
        found = program.run(y, x)
        same([array(found)], [array(program.without("arena").run(y, x))])
    sizes = [program.memory(y, (rows, 16)).shared for rows in (10, 20)]
    assert sizes[0] < sizes[1]


def test_what_is_held_outlives_its_run() -> None:
    """A result, a view of one, and an input."""

    def call(x: Any) -> Any:
        return [F.exp(x @ x)[2:5], (x @ x).T, x]

    program, y = compiled((20, 20), call)
    x = np.random.default_rng(0).standard_normal((20, 20), dtype=np.float32)
    wanted = [array(one) for one in call(tl.tensor(x))]
    held = [program.run(y, x) for _ in range(3)]
    for _ in range(3):
        program.run(y, x + 1)
    for found in held:
        same(map(array, found), wanted)


def test_loops_and_branches_have_memory_of_their_own() -> None:
    """In runs that are inside of a run: of a function that calls itself by a loop in a branch."""

    def call(x: Any) -> Any:
        def body(carry: Any) -> Any:
            i, y = carry
            z = F.cond(F.sum(y) > 0, lambda y: deep(y) * 0.5, lambda y: deep(-y) + y, y)
            return i + 1, F.tanh(z @ z.T @ y) + y * 0.1

        start = (tl.tensor(0), x)
        return F.while_loop(lambda carry: carry[0] < 3, body, start)[1] + deep(x)

    x = np.random.default_rng(0).standard_normal((12, 8), dtype=np.float32)
    wanted = array(call(tl.tensor(x)))
    program, y = compiled((12, 8), call)
    for _ in range(2):
        np.testing.assert_allclose(array(program.run(y, x)), wanted, rtol=1e-5)
    same([array(program.run(y, x))], [array(program.without("arena").run(y, x))])


def test_two_threads_have_memory_of_their_own() -> None:
    program, y = compiled((64, 64))
    xs = [np.random.default_rng(i).standard_normal((64, 64), dtype=np.float32) for i in range(2)]
    wanted = [array(program.run(y, x)) for x in xs]
    wrong: list[Any] = []

    def work(i: int) -> None:
        wrong.extend(1 for _ in range(50) if (array(program.run(y, xs[i])) != wanted[i]).any())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_that_cannot_be_had_is_told_and_nothing_is_lost() -> None:
    program, y = compiled((64, 64))
    x = np.random.default_rng(0).standard_normal((64, 64), dtype=np.float32)
    wanted = array(program.run(y, x))
    for count in range(40):
        _C.fail_allocation_after(count)
        try:
            found = array(program.run(y, x))
            same([found], [wanted])
        except tl.OutOfMemoryError:
            pass
        finally:
            _C.fail_allocation_after(-1)
    same([array(program.run(y, x))], [wanted])
