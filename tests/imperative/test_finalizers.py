"""Finalizers that run at any time, while something watches: nobody's result, and none is undone."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.garbage import Found, Garbage, garbage_all_the_time, is_told

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, jit, static


@pytest.fixture
def garbage() -> Iterator[None]:
    with garbage_all_the_time():
        yield


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
        assert is_told() and Garbage.made.tolist() == [2.0]
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


def test_a_program_is_told_while_finalizers_add_to_it() -> None:
    """Which they may, by what they hold of it."""
    listing = tl.Listing()
    first = x = listing.input("x", (3,))
    with garbage_all_the_time(also=lambda: first * 2), _C.Recording(listing):
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
    with _C.FinalizersWait():
        gc.enable()
        with _C.FinalizersWait():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


LAYERS: dict[str, Callable[[Any], Any]] = {
    "functional_call": lambda layer: tl.nn.functional_call(layer, _state(layer), X),
    "functional_call of nothing else": lambda layer: tl.nn.functional_call(layer, {}, X),
    "vmap of functional_call": lambda layer: tl.vmap(
        lambda state: tl.nn.functional_call(layer, state, X)
    )({"weight": F.stack([layer.weight, layer.weight * 2])}),
    "grad of a layer": lambda layer: tl.grad(_of_layer)(layer)["weight"],
    "checkpoint of a layer": lambda layer: tl.grad(_checkpointed_layer)(layer)["weight"],
}


def _state(layer: Any) -> dict[str, Any]:
    return {"weight": layer.weight * 2, "bias": layer.bias - 1}


def _collected(x: Any) -> Any:
    gc.collect()
    return x


def _of_layer(layer: Any) -> Any:
    return F.sum(F.sin(_collected(layer(X))) ** 2)


def _checkpointed_layer(layer: Any) -> Any:
    return tl.checkpoint(_of_layer)(layer)


class _Collecting(tl.nn.Linear):
    """One in whose call Python looks for garbage."""

    def forward(self, x: Any) -> Any:
        return super().forward(_collected(x))


@pytest.mark.parametrize("name", LAYERS)
def test_finalizers_set_what_a_layer_holds_outside_of_a_call(name: str) -> None:
    """The call goes on with what it was given; what was set stays."""
    gc.collect()
    layer = _Collecting(3, 2, seed=0)
    wanted = LAYERS[name](layer).tolist()
    gc.disable()
    try:
        Found(lambda: layer.weight.set_value(F.full((3, 2), 7.0)))
        seen: list[Any] = []
        Found(lambda: seen.append(layer.bias.tolist()))
        assert LAYERS[name](layer).tolist() == wanted
    finally:
        gc.enable()
    assert seen == [layer.bias.tolist()]
    assert layer.weight.tolist() == [[7.0, 7.0]] * 3 and layer.weight.requires_grad


def test_finalizers_have_no_part_in_a_call_of_a_layer(garbage: None) -> None:
    layer = tl.nn.Linear(3, 2, seed=0)
    for _ in range(20):
        state = {"weight": F.ones((3, 2)), "bias": F.zeros((2,))}
        assert tl.nn.functional_call(layer, state, X).tolist() == [3.5, 3.5]
    assert Garbage.found > 20 and is_told()


def test_a_traced_function_collects_garbage_itself() -> None:
    made: list[Any] = []

    @jit.to_static
    def function(x: Any) -> Any:
        Found(lambda: made.append(F.ones((2,)) + X[:2]))
        gc.collect()
        return x * x

    assert function(X).tolist() == [0.25, 1.0, 4.0]
    assert [y.tolist() for y in made] == [[1.5, 2.0]]
    assert len(function.concrete().program.steps()) == 1


def test_who_takes_the_callbacks_away_breaks_nothing() -> None:
    """In the middle of a collection, so that nobody says that it has ended."""
    callbacks, were = gc.callbacks, list(gc.callbacks)
    layer = _Collecting(3, 2, seed=0)
    own = layer.bias.tolist()
    try:
        Found(callbacks.clear)
        for _ in range(2):
            tl.nn.functional_call(layer, {"bias": F.ones((2,))}, X)
            assert layer.bias.tolist() == own
        gc.callbacks = None  # type: ignore[assignment]
        wanted = _Collecting.forward(layer, X) - layer.bias + F.ones((2,))
        found = tl.nn.functional_call(layer, {"bias": F.ones((2,))}, X)
        assert (F.abs(found - wanted) < 1e-6).all()
    finally:
        gc.callbacks = callbacks  # Python calls what is in this very list
        callbacks[:] = were
    assert layer.bias.tolist() == own
