"""Blocks in which programs are built: they end in any order, and finalizers are outside."""

from __future__ import annotations

import contextvars
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.garbage import Found, Garbage, garbage_all_the_time, is_told

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import nn, static


def _left_open(programs: list[Any] | None = None, inside: Callable[[], Any] = int) -> Iterator[Any]:
    with static.program_guard(static.Program(), static.Program()) as main:
        if programs is not None:
            programs.append(main)
        inside()
        yield main


def _is_nothing_built() -> bool:
    layer = nn.Linear(2, 3)
    made = (F.zeros((2,)), layer.weight, layer.bias)
    is_default = static.default_main_program().global_block().ops == []
    return is_default and all(isinstance(x.detach().__wrapped__, tl.RawTensor) for x in made)


def _contexts(are_own: bool) -> list[Callable[..., Any]]:
    if are_own:
        return [contextvars.copy_context().run, contextvars.copy_context().run]
    return [lambda f, *args: f(*args)] * 2


@pytest.mark.parametrize("are_own", [False, True])
def test_blocks_end_in_the_order_in_which_they_began(are_own: bool) -> None:
    """Those of generators may, each perhaps in a context of its own, as asynchronous tasks are."""
    first, second = _left_open(), _left_open()
    in_first, in_second = _contexts(are_own)
    in_first(next, first)
    main = in_second(next, second)
    in_first(first.close)
    del first
    gc.collect()
    y = in_second(F.zeros, (2,))
    layer = in_second(nn.Linear, 2, 3)
    assert isinstance(y.__wrapped__, static.Variable) and len(main.all_parameters()) == 2
    assert in_second(static.default_main_program) is main
    assert isinstance(layer.weight.detach().__wrapped__, static.Variable)
    in_second(second.close)
    del second, main, y, layer
    gc.collect()
    assert _is_nothing_built()


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1)])
def test_of_several_blocks_the_innermost_that_is_left_goes_on(order: tuple[int, ...]) -> None:
    blocks = [_left_open() for _ in range(3)]
    mains = [next(block) for block in blocks]
    left = [0, 1, 2]
    for which in order:
        before = [len(main.steps()) for main in mains]
        F.zeros((2,))
        after = [len(main.steps()) for main in mains]
        assert [b - a for a, b in zip(before, after, strict=True)] == [
            int(i == left[-1]) for i in range(3)
        ]
        blocks[which].close()
        left.remove(which)
    assert _is_nothing_built()


@pytest.mark.parametrize("is_over", [False, True])
def test_a_block_ends_in_another_thread(is_over: bool) -> None:
    """Whether the one that it began in is over or not; what it kept is as before."""
    older = nn.Linear(2, 3)
    block = _left_open(inside=lambda: static.keep(older))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(next, block).result()
        assert isinstance(older.weight.detach().__wrapped__, static.Variable)
        if is_over:
            thread.shutdown()
        block.close()
        del block
        gc.collect()
        assert isinstance(older.weight.detach().__wrapped__, tl.RawTensor)
        assert is_over or thread.submit(_is_nothing_built).result()
    assert _is_nothing_built()


@pytest.fixture
def garbage() -> Iterator[None]:
    with garbage_all_the_time(also=lambda: tl.Parameter([1.0, 2.0])):
        yield


def _network() -> None:
    x = static.data("x", (None, 3))
    hidden = nn.Linear(3, 4, seed=0)
    y = F.sum(F.relu(hidden(x)) * F.ones((4,)))
    tl.optim.SGD(lr=0.5).minimize(y)


def _if_else() -> None:
    x = static.data("x", (None, 1))
    choice = static.IfElse(x > 0.0)
    with choice.true_block():
        choice.output(choice.input(x) * F.full((1,), 10.0))
    with choice.false_block():
        choice.output(choice.input(x) - 1)
    choice()


def _while() -> None:
    x = static.data("x", (2,))
    i, y = F.zeros((), dtype="int64"), x * F.full((2,), 2.0)
    condition = i < 5
    loop = static.While(condition)
    with loop.block():
        static.assign(y * y, y)
        static.assign(i + 1, i)
        static.assign(i < 5, condition)


def _rnn() -> None:
    x = static.data("x", (4, 2, 3))
    rnn = static.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        memory = rnn.memory(shape=(2, 3))
        moved = memory + word * F.full((3,), 2.0)
        rnn.update_memory(memory, moved)
        rnn.step_output(moved)
    rnn()


BUILT = {"network": _network, "IfElse": _if_else, "While": _while, "StaticRNN": _rnn}


def _built(build: Callable[[], None]) -> list[str]:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        build()
    return [str(main), str(startup)]


@pytest.mark.parametrize("name", BUILT)
def test_finalizers_have_no_part_in_a_program(name: str, garbage: None) -> None:
    found = _built(BUILT[name])
    seen = Garbage.found
    assert seen > 10
    gc.disable()
    try:
        assert found == _built(BUILT[name])
        assert is_told()
    finally:
        gc.enable()
    assert _is_nothing_built()


def test_what_finalizers_set_of_states_is_set_outside() -> None:
    layer = nn.Linear(2, 1, seed=0)
    weight = layer.weight.tolist()
    seen: list[Any] = []

    def restore() -> None:
        seen.append(layer.weight.tolist())
        layer.weight.set_value(F.ones((2, 1)))

    with static.program_guard(static.Program(), static.Program()) as main:
        static.keep(layer)
        x = static.data("x", (None, 2))
        Found(restore)
        gc.collect()
        assert isinstance(layer.weight.detach().__wrapped__, static.Variable)
        layer(x)
        steps = len(main.steps())
    assert seen == [weight]
    assert layer.weight.tolist() == [[1.0], [1.0]] and layer.weight.requires_grad
    assert main.assigned() == {} and steps == len(main.steps())


def test_a_block_that_nobody_closed_ends_while_another_goes_on() -> None:
    """The generator that left it open is found by the collector, and nothing is said."""
    older = nn.Linear(2, 2, seed=0)
    held: list[Any] = []

    def leave() -> None:
        block = _left_open(inside=lambda: static.keep(older))
        held.append(next(block))
        cycle: list[Any] = [block]
        cycle.append(cycle)

    gc.collect()
    gc.disable()
    try:
        with static.program_guard(static.Program(), static.Program()) as main:
            leave()
            assert static.default_main_program() is held[0]
            F.zeros((2,))
            gc.collect()
            assert static.default_main_program() is main
            assert isinstance(F.zeros((3,)).__wrapped__, static.Variable)
            nn.Linear(2, 3)
    finally:
        gc.enable()
    assert isinstance(older.weight.detach().__wrapped__, tl.RawTensor)
    assert len(main.all_parameters()) == 2 and len(held[0].all_parameters()) == 2
    assert _is_nothing_built()


def test_scopes_and_loops_end_in_any_order_too() -> None:
    scopes = [static.Scope() for _ in range(3)]

    def open_scope(scope: Any) -> Iterator[None]:
        with static.scope_guard(scope):
            yield

    blocks = [open_scope(scope) for scope in scopes]
    for block in blocks:
        next(block)
    for which, left in ((1, scopes[2]), (2, scopes[0])):
        blocks[which].close()
        assert static.global_scope() is left
    blocks[0].close()
    assert static.global_scope() not in scopes


def test_two_threads_build_a_loop_each() -> None:
    """`assign` is about the one whose block this thread is in."""
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        with static.program_guard(static.Program(), static.Program()):
            x = static.data("x", ())
            going = x < 100.0
            with static.While(going).block():
                begun.set()
                assert ended.wait(60)
                static.assign(static.assign(x * 3, x) < 100.0, going)

    with ThreadPoolExecutor(1) as pool, static.program_guard(static.Program()) as main:
        x = static.data("x", ())
        going = x < 100.0
        loop = static.While(going)
        with loop.block():
            done = pool.submit(other)
            assert begun.wait(60)
            static.assign(static.assign(x * 2, x) < 100.0, going)
        ended.set()
        done.result()
        y = loop()
    assert static.Executor().run(main, feed={"x": 3.0}, fetch_list=[y])[0].item() == 192.0


def test_only_memories_of_the_block_are_updated() -> None:
    with static.program_guard(static.Program(), static.Program()):
        rnn = static.StaticRNN()
        with pytest.raises(tl.ArgumentError, match="must update a memory of"), rnn.step():
            row = rnn.step_input(static.data("x", (4, 2)))
            rnn.update_memory(row, row)
    wrong: Any = 7
    with pytest.raises(tl.ParameterError, match="scope_guard: scope must be a Scope"):
        static.scope_guard(wrong).__enter__()


def test_parameters_are_not_made_for_what_is_refused() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (4, 3))
        for act in ("no_such", "linalg", "_load", 7):
            with pytest.raises(tl.ParameterError, match="fc: act must be the name of a function"):
                static.fc(x, 2, act=act)  # type: ignore[arg-type]
        with pytest.raises(tl.ArgumentError, match="fc: x must have 1 to 64 dimensions; got"):
            static.fc(7, 2)
        with pytest.raises(tl.DTypeError, match="embedding: x must be of integers"):
            static.embedding(x, (5, 2))
        assert main.all_parameters() == []
