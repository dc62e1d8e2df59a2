"""Runs that write over the states that they change: less memory, and the same bits."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, static
from tests.support.models import models

OPTIMIZERS = {
    "sgd": lambda: tl.optim.SGD(lr=0.1),
    "momentum": lambda: tl.optim.SGD(lr=0.1, momentum=0.9),
    "adam": lambda: tl.optim.Adam(lr=0.01, decay=0.1),
}


class Training:
    """A model's program, and its states in a scope."""

    def __init__(self, name: str, optimizer: str = "adam") -> None:
        tl.manual_seed(3)
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            model = models()[name]
            static.keep(model.network)
            x = static.data("x", model.inputs.shape, model.inputs.dtype.name)
            target = static.data("target", model.classes.shape, "int64")
            self.loss = F.cross_entropy(model.network(x), target)
            OPTIMIZERS[optimizer]().minimize(self.loss)
        self.main, self.scope, self.executor = main, static.Scope(), static.Executor()
        self.executor.run(startup, scope=self.scope)
        self.feed = {"x": model.inputs, "target": model.classes}

    def step(self, program: Any = None, *, donate: bool = True) -> Any:
        (loss,) = self.executor.run(
            program or self.main, self.feed, [self.loss], self.scope, donate_states=donate
        )
        return loss

    def states(self) -> dict[str, bytes]:
        return {name: np.array(self.scope.find_var(name)).tobytes() for name in self.scope.names()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", ["mlp", "cnn", "residual", "lstm", "gpt"])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_training_has_the_same_bits(name: str, optimizer: str, is_compiled: bool) -> None:
    one, other = Training(name, optimizer), Training(name, optimizer)
    programs = [static.CompiledProgram(t.main) if is_compiled else t.main for t in (one, other)]
    for _ in range(3):
        assert one.step(programs[0]).tobytes() == other.step(programs[1], donate=False).tobytes()
    assert one.states() == other.states()


@pytest.mark.parametrize("mode", ["async", "lazy"])
def test_modes_of_the_engine(mode: str) -> None:
    one, other = Training("mlp"), Training("mlp")
    with tl.engine.mode(mode, threshold=1):
        for _ in range(3):
            one.step()
    for _ in range(3):
        other.step(donate=False)
    assert one.states() == other.states()


def test_states_are_written_over() -> None:
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        x = static.data("x", ())
        states = [tl.Parameter(np.ones((1000, 1000), np.float32)) for _ in range(3)]
        with tl.no_grad():
            for w in states:
                w.set_value(w * 0.5 + x)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    feed = {"x": 0.25}
    compiled = static.CompiledProgram(main)
    peaks = []
    for donate in (False, True):
        for _ in range(2):
            gc.collect()
            start = tl.memory.stats()["allocated"]
            tl.memory.reset_peak()
            executor.run(compiled, feed, [], scope, donate_states=donate)
            peak = tl.memory.stats()["peak"] - start
        peaks.append(peak)
    assert peaks[0] > 3 * 4_000_000
    assert peaks[1] < 1_000_000
    assert np.array_equal(np.array(scope.find_var("parameter_0")), np.full((1000, 1000), 0.53125))


def test_what_somebody_holds_stays() -> None:
    training = Training("mlp")
    held = {name: training.scope.find_var(name) for name in training.scope.names()}
    views = {name: np.asarray(x) for name, x in held.items()}
    fetched = training.executor.run(
        training.main, training.feed, [next(iter(held))], training.scope, return_numpy=False,
        donate_states=True,
    )  # fmt: skip
    before = {name: x.copy() for name, x in views.items()}
    kept = np.array(fetched[0])
    for _ in range(3):
        training.step()
    assert all(np.array_equal(views[name], before[name]) for name in held)
    assert all(np.array_equal(np.asarray(held[name]), before[name]) for name in held)
    assert np.array_equal(np.asarray(fetched[0]), kept)


def test_an_error_before_states_are_touched_changes_nothing() -> None:
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        w = tl.Parameter(np.arange(6, dtype=np.float32).reshape(3, 2))
        rows = static.data("rows", (2,), "int64")
        loss = F.sum(F.square(F.take(w, rows, axis=0)))
        tl.optim.SGD(lr=0.1).minimize(loss)
        with tl.no_grad():
            counter = tl.Parameter(np.zeros((), np.float32))
            counter.set_value(counter + 1)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    names = scope.names()
    before = {name: np.array(scope.find_var(name)) for name in names}
    with pytest.raises(tl.TensorlikeError, match="indices"):
        executor.run(main, {"rows": [0, 7]}, [loss], scope, donate_states=True)
    assert {name: np.array(scope.find_var(name)).tobytes() for name in names} == {
        name: x.tobytes() for name, x in before.items()
    }
    executor.run(main, {"rows": [0, 1]}, [loss], scope, donate_states=True)
    assert not np.array_equal(np.array(scope.find_var("parameter_0")), before["parameter_0"])


@pytest.mark.parametrize("name", ["mlp", "residual"])
def test_where_memory_ends_each_state_is_old_or_new(name: str) -> None:
    training = Training(name)
    training.step()
    failed = 0
    for count in range(0, 4000, 7):
        old = training.states()
        _C.fail_allocation_after(count)
        try:
            training.step()
        except tl.OutOfMemoryError:
            failed += 1
        else:
            break
        finally:
            _C.fail_allocation_after(-1)
        assert set(training.states()) == set(old)
        assert all(len(x) == len(old[key]) for key, x in training.states().items())
    assert failed > 3
    training.step()


def test_states_of_outer_scopes_stay_there() -> None:
    training = Training("mlp")
    inner, names = training.scope.new_scope(), set(training.scope.names())
    before = training.states()
    training.executor.run(training.main, training.feed, [training.loss], inner, donate_states=True)
    assert not inner.names()
    assert set(training.scope.names()) == names
    assert training.states() != before


def test_one_array_under_two_names_is_not_written_over() -> None:
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        a = tl.Parameter(np.zeros(3, np.float32))
        b = tl.Parameter(np.zeros(3, np.float32))
        with tl.no_grad():
            a.set_value(a + 1)
            b.set_value(b * 2)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    shared = tl.as_raw_tensor(np.arange(3, dtype=np.float32))
    scope.set("parameter_0", shared)
    scope.set("parameter_1", shared)
    del shared
    executor.run(main, {}, [], scope, donate_states=True)
    assert np.array(scope.find_var("parameter_0")).tolist() == [1, 2, 3]
    assert np.array(scope.find_var("parameter_1")).tolist() == [0, 2, 4]


def test_states_that_read_each_other() -> None:
    """A swap, a chain and a draw: what is read is what was there before the run."""

    def build() -> Any:
        main, startup, scope = static.Program(), static.Program(), static.Scope()
        with static.program_guard(main, startup):
            a, b, c = (tl.Parameter(np.full(4, i, np.float32)) for i in (1.0, 2.0, 3.0))
            with tl.no_grad():
                x, y, z = a * 1, b * 1, c * 1
                a.set_value(y + z)
                b.set_value(x * 0.5)
                c.set_value(F.random.uniform((4,)) + a)
            total = F.sum(a) + F.sum(c)
        static.Executor().run(startup, scope=scope)
        return main, scope, total

    found = []
    for donate in (True, False):
        tl.manual_seed(1)
        main, scope, total = build()
        tl.manual_seed(2)
        rows = [
            static.Executor().run(main, {}, [total], scope, donate_states=donate)[0].item()
            for _ in range(4)
        ]
        found.append((rows, {n: np.array(scope.find_var(n)).tolist() for n in scope.names()}))
    assert found[0] == found[1]
