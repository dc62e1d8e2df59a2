"""Programs whose steps run beside each other, and programs that only infer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tests.support.models import models


def same_bits(a: Any, b: Any) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def branches(x: Any, count: int = 4) -> list[Any]:
    """Independent ones, of several steps each."""
    found = []
    for i in range(count):
        y = F.sort(F.sin(x * (i + 1.0)), axis=0)
        found.append(F.cumulative_sum(y * y, axis=0))
    return found


def overlaps(events: Any) -> bool:
    spans = sorted((event.start, event.start + event.duration) for event in events)
    return any(second[0] < first[1] for first, second in itertools.pairwise(spans))


def test_X13_independent_branches_overlap_and_give_the_same_bits() -> None:
    # Steps much longer than a turn of the system's: where other processes keep the processors busy,
    # what is pushed would else be run to its end before the next is.
    size = 3_000_000
    listing = tl.Listing()
    found = branches(tl.Tensor(listing.input("x", (size,))), count=3)
    y = F.sum(F.stack(found), axis=0)
    x = tl.tensor(np.random.default_rng(0).normal(size=size).astype(np.float32))
    in_order, beside = (static.CompiledProgram(listing, threads=n) for n in (1, 3))
    with tl.profile() as profile:
        wanted = np.asarray(in_order.run(y, x))
    assert not overlaps(profile.events)
    for _ in range(10):
        with tl.profile() as profile:
            found_y = np.asarray(beside.run(y, x))
        assert same_bits(found_y, wanted)
        if overlaps(profile.events):
            return
    pytest.fail("no two steps of independent branches ran at the same time")


@pytest.mark.parametrize("name", ["mlp", "cnn", "lstm", "gpt"])
def test_models_train_to_the_same_bits_on_several_threads(name: str) -> None:
    found = []
    for threads in (1, 2, 5):
        tl.manual_seed(3)
        main, startup, scope = static.Program(), static.Program(), static.Scope()
        with static.program_guard(main, startup):
            model = models()[name]
            static.keep(model.network)
            x = static.data("x", model.inputs.shape, model.inputs.dtype.name)
            target = static.data("target", model.classes.shape, "int64")
            loss = F.cross_entropy(model.network(x), target)
            tl.optim.Adam(lr=0.01).minimize(loss)
        executor = static.Executor()
        executor.run(startup, scope=scope)
        feed = {"x": model.inputs, "target": model.classes}
        compiled = static.CompiledProgram(main, threads=threads)
        with tl.engine.mode("sync", threshold=1):
            losses = [executor.run(compiled, feed, [loss], scope)[0] for _ in range(3)]
        found.append([*losses, *(np.asarray(scope.find_var(name)) for name in scope.names())])
    for other in found[1:]:
        assert all(same_bits(a, b) for a, b in zip(found[0], other, strict=True))


def test_an_error_in_one_branch_is_told_and_the_next_run_works() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (50_000,)))
    rows = tl.Tensor(listing.input("rows", (20_000,), tl.int64))
    results = [*branches(x), F.take(x, rows, axis=0)]
    compiled = static.CompiledProgram(listing, threads=3)
    given = tl.tensor(np.linspace(0, 1, 50_000, dtype=np.float32))
    good = tl.tensor(np.arange(20_000))
    wanted = [np.asarray(y) for y in compiled.run(results, given, good)]
    with pytest.raises(tl.TensorlikeError, match="indices must be"):
        compiled.run(results, given, good + 40_000)
    for y, found in zip(wanted, compiled.run(results, given, good), strict=True):
        assert same_bits(found, y)


@pytest.mark.parametrize("threads", [0, 65, 1.5, "2"])
def test_threads_are_a_number_of_them(threads: Any) -> None:
    with pytest.raises((tl.ArgumentError, tl.ParameterError), match="threads"):
        static.CompiledProgram(tl.Listing(), threads=threads)


def trained() -> tuple[Any, Any, Any, Any]:
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        layers = (tl.nn.Linear(40, 64), tl.nn.BatchNorm1d(64), tl.nn.Linear(64, 32))
        x = static.data("x", (None, 40))
        y = layers[2](F.relu(layers[1](layers[0](x))))
        loss = F.mean(F.square(y))
        tl.optim.SGD(lr=0.01).minimize(loss)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    feed = {"x": np.random.default_rng(0).normal(size=(16, 40)).astype(np.float32)}
    for _ in range(3):
        executor.run(main, feed, [loss], scope)
    return main, scope, y, feed


def test_states_of_a_scope_are_constants_where_the_program_leaves_them_alone() -> None:
    main, scope, y, feed = trained()
    test = main.clone(for_test=True)
    executor = static.Executor()
    frozen = static.CompiledProgram(test, scope=scope)
    wanted = executor.run(test, feed, [y], scope)[0]
    for where in (scope, static.Scope()):  # which it does not need any more
        found = executor.run(frozen, feed, [y], where)[0]
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)
    assert "# state" not in "\n".join(
        line for line in frozen.text([y]).split("\n") if " = " in line
    )
    assert {report.name: report.changes for report in frozen.report()}["keep"] == 2


def test_states_that_change_stay_states() -> None:
    main, scope, y, feed = trained()
    executor, other = static.Executor(), static.Scope()
    for name in scope.names():
        other.set(name, scope.find_var(name))
    frozen = static.CompiledProgram(main, scope=scope)
    for _ in range(3):
        (a,), (b,) = (
            executor.run(main, feed, [y], other), executor.run(frozen, feed, [y], scope)
        )  # fmt: skip
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)
    assert not np.allclose(scope.find_var("parameter_0"), 0)


def test_a_scope_is_one() -> None:
    wrong: Any = {"w": 1}
    with pytest.raises(tl.ParameterError, match="scope must be a Scope; got dict"):
        static.CompiledProgram(tl.Listing(), scope=wrong)
