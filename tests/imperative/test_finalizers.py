"""Finalizers that run at any time, while something watches: nobody's result, and none is undone."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, jit, static
from tensorlike.imperative.finalizers import finalizers_wait


class Garbage:
    """What makes garbage of its kind again when it is found, and counts in a tensor that it was."""

    is_going_on = False
    is_busy = False
    found = 0
    counted = tl.tensor([0.0, 0.0])
    made = tl.tensor([0.0])

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        if not Garbage.is_going_on:
            return
        if not Garbage.is_busy:  # it is found while it runs, too
            Garbage.is_busy = True
            Garbage.found += 1
            Garbage.counted.set_value(Garbage.counted + F.ones((2,)))
            Garbage.made.set_value(F.full((1,), 2.0))
            Garbage.is_busy = False
        Garbage()


@pytest.fixture
def garbage() -> Iterator[None]:
    """Python looks for garbage all the time, and always finds some."""
    thresholds = gc.get_threshold()
    Garbage.found, Garbage.is_going_on = 0, True
    Garbage.counted.set_value(tl.tensor([0.0, 0.0]))
    Garbage()
    gc.set_threshold(1, 1, 1)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        Garbage.is_going_on = False
        gc.collect()


def _listed(function: Callable[[Any], Any]) -> str:
    listing = tl.Listing()
    function(listing.input("x", (3,)))
    return str(listing)


def _branch(x: Any) -> Any:
    return F.sum(F.cond(F.sum(x) > 0, lambda x: F.sin(x) * 2, lambda x: -x, x))


def _loop(x: Any) -> Any:
    return F.sum(F.while_loop(lambda y: F.sum(y) < 20, lambda y: y * 2, x, max_steps=8))


def _program(x: Any) -> Any:
    listing = tl.Listing()
    given = listing.input("x", (3,))
    called = static.program_op(listing, F.sum(F.tanh(given) * given))
    return called(x)


def _checkpointed(x: Any) -> Any:
    return tl.checkpoint(lambda x: F.sum(F.dropout(F.sin(x), 0.5)))(x)


X = tl.tensor([0.5, 1.0, 2.0])
WATCHERS: dict[str, Callable[[], Any]] = {
    "cond, recorded": lambda: _listed(_branch),
    "while_loop, recorded": lambda: _listed(_loop),
    "gradient of a loop": lambda: tl.grad(_loop)(X).tolist(),
    "gradient of a program": lambda: tl.grad(_program)(X).tolist(),
    "second gradient of a program": lambda: tl.hessian(_program)(X).tolist(),
    "checkpoint": lambda: (tl.manual_seed(3), tl.grad(_checkpointed)(X).tolist())[1],
    "trace": lambda: jit.trace(_branch)(X).item(),
    "to_static": lambda: jit.to_static(_branch)(X).item(),
    "vmap of grad": lambda: tl.vmap(tl.grad(F.sum))(F.stack([X, X])).tolist(),
    "jvp": lambda: tl.jvp(_branch, (X,), (X,))[1].item(),
}


@pytest.mark.parametrize("name", WATCHERS)
def test_finalizers_have_no_part_in_what_is_watched(name: str, garbage: None) -> None:
    found = WATCHERS[name]()
    seen = Garbage.found
    gc.disable()
    try:
        wanted = WATCHERS[name]()
        assert isinstance(Garbage.counted.__wrapped__, tl.RawTensor)
        assert isinstance(Garbage.made.__wrapped__, tl.RawTensor)
        assert Garbage.counted.tolist() == [Garbage.found] * 2 and Garbage.made.tolist() == [2.0]
    finally:
        gc.enable()
    assert found == wanted
    assert seen > 0


def test_the_collector_is_as_it_was_behind_each() -> None:
    for is_enabled in (True, False):
        (gc.enable if is_enabled else gc.disable)()
        try:
            for watcher in WATCHERS.values():
                watcher()
                assert gc.isenabled() is is_enabled
        finally:
            gc.enable()


def test_a_program_is_told_while_finalizers_add_to_it(garbage: None) -> None:
    listing = tl.Listing()
    x = listing.input("x", (3,))
    with _C.Recording(listing):
        for _ in range(50):
            x = x + 1
            assert len(listing.steps()) <= len(listing.steps())
            assert len(listing.variables()) >= 2
    assert len(listing.steps()) > 100  # theirs, too


def test_garbage_that_is_cleared_meanwhile_was_not_set_by_anybody() -> None:
    """Python lets what it finds go by giving it other values, which no block is to take for one."""

    def leave_garbage() -> None:
        held: list[Any] = [F.sin(tl.tensor([[1.0, 2.0]], requires_grad=True))]
        held.append(held)

    gc.disable()
    try:
        for _ in range(3):
            leave_garbage()
        with _C.Journal() as journal:
            assert gc.collect() > 0
            assert journal.rebound() == []
        leave_garbage()

        @jit.to_static
        def function(x: Any) -> Any:
            while F.sum(x) < 20:
                gc.collect()
                x = x * 2
            return x

        assert function(tl.tensor([1.0, 2.0])).tolist() == [8.0, 16.0]
    finally:
        gc.enable()


def test_a_block_inside_of_one_waits_where_somebody_enabled_the_collector() -> None:
    with finalizers_wait():
        gc.enable()
        with finalizers_wait():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
