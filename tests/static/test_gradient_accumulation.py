"""Updates by the mean gradient of several runs: those of one run with all of their batches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.static.transpilers import gradient_accumulation
from tests.support.training_programs import Training, random_training, states_of, training

STEPS = 3


def parts_of(feed: dict[str, Any], axis: int) -> list[dict[str, Any]]:
    """Batches of other rows, of the same sizes."""
    return [
        {"x": np.roll(np.flip(feed["x"], i % 2), i, axis) if i else feed["x"]}
        | ({"target": np.roll(feed["target"], i, 0)} if "target" in feed else {})
        for i in range(STEPS)
    ]


def check(found: Training, axis: int = 0, rounds: int = 2) -> None:
    """Holds the accumulating program against the plain one on all batches at once."""
    before = str(found.main), str(found.startup)
    main, startup = gradient_accumulation(found.main, found.startup, STEPS)
    assert (str(found.main), str(found.startup)) == before
    parts = parts_of(found.feed, axis)
    whole = {
        key: np.concatenate([part[key] for part in parts], axis if key == "x" else 0)
        for key in found.feed
    }
    exe, slow, plain = static.Executor(), static.Scope(), static.Scope()
    exe.run(startup, scope=slow)
    exe.run(found.startup, scope=plain)
    for _ in range(rounds):
        (wanted,) = exe.run(found.main, whole, [found.loss], plain)
        first = states_of(slow)
        losses = []
        for i, part in enumerate(parts):
            losses.append(exe.run(main, part, [found.loss], slow)[0])
            if i < STEPS - 1:
                now = states_of(slow)
                assert all(np.array_equal(now[key], first[key]) for key in states_of(plain))
        np.testing.assert_allclose(np.mean(losses), wanted, rtol=1e-12)
    now = states_of(slow)
    for key, value in states_of(plain).items():
        np.testing.assert_allclose(now[key], value, rtol=1e-10, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize("name", ["mlp", "cnn", "lstm", "gpt"])
def test_X8_runs_are_one_run_with_all_batches(name: str, optimizer: str) -> None:
    check(training(name, optimizer, batch="batch", dtype="float64"), 1 if name == "lstm" else 0)


@pytest.mark.parametrize("seed", range(20))
def test_runs_of_random_programs_are_one_run_with_all_batches(seed: int) -> None:
    check(random_training(seed, "float64", draws=False))


def test_running_statistics_move_in_each_run_and_parameters_in_the_last() -> None:
    found = training("residual", "adam")
    main, startup = gradient_accumulation(found.main, found.startup, 2)
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    seen = [states_of(scope)]
    for _ in range(3):
        exe.run(main, found.feed, scope=scope)
        seen.append(states_of(scope))
    moved = {
        key: [not np.array_equal(a[key], b[key]) for a, b in pairwise(seen)] for key in seen[0]
    }
    assert moved["norm1.running_mean"] == [True, True, True]
    for key in ("first.weight", "moment1_0", "beta1_pow_0"):
        assert moved[key] == [False, True, False], key


def test_a_gradient_of_one_run_is_that_run_s_alone() -> None:
    found = training("mlp")
    main, startup = gradient_accumulation(found.main, found.startup, 2)
    exe, scope, plain = static.Executor(), static.Scope(), static.Scope()
    exe.run(startup, scope=scope)
    exe.run(found.startup, scope=plain)
    name = "first.weight@GRAD"
    (wanted,) = exe.run(found.main, found.feed, [name], plain)
    for _ in range(2):
        assert np.array_equal(exe.run(main, found.feed, [name], scope)[0], wanted)


def test_accumulating_twice_takes_the_product_of_runs() -> None:
    found = training("mlp", dtype="float64")
    once, start = gradient_accumulation(found.main, found.startup, 2)
    main, startup = gradient_accumulation(once, start, 2)
    assert main.number_of("accumulated_runs_1") is not None
    exe, scope, plain = static.Executor(), static.Scope(), static.Scope()
    exe.run(startup, scope=scope)
    exe.run(found.startup, scope=plain)
    exe.run(found.main, found.feed, scope=plain)
    first = np.array(scope.find_var("first.weight"))
    for run in range(4):
        assert np.array_equal(first, np.array(scope.find_var("first.weight"))), run
        exe.run(main, found.feed, scope=scope)
    wanted = np.array(plain.find_var("first.weight"))
    np.testing.assert_allclose(np.array(scope.find_var("first.weight")), wanted, rtol=1e-12)


def test_what_does_not_fit_is_refused() -> None:
    found = training("mlp")
    with pytest.raises(tl.ArgumentError, match="steps must be positive; got 0"):
        gradient_accumulation(found.main, found.startup, 0)
    with pytest.raises(tl.ArgumentError, match="gradients"):
        gradient_accumulation(found.main.prune(found.loss), found.startup, 2)
    with pytest.raises(tl.ParameterError, match="must be a Program"):
        gradient_accumulation("main", found.startup, 2)  # type: ignore[arg-type]


def test_an_update_that_reads_the_batch_is_refused() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter([1.0])
        loss = F.mean((w - static.data("x", (None, 1))) ** 2)
        ((p, g),) = static.append_backward(loss)
        p.set_value(p.detach() - g * loss.detach())
    with pytest.raises(tl.ArgumentError, match="must read gradients, and nothing else"):
        gradient_accumulation(main, startup, 2)


def test_a_parameter_is_fetched_as_it_is_after_the_run() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter([0.0])
        loss = F.mean((w - static.data("x", (1,))) ** 2)
        tl.optim.SGD(lr=0.25).minimize(loss)
    slow, start = gradient_accumulation(main, startup, 2)
    exe, scope = static.Executor(), static.Scope()
    exe.run(start, scope=scope)
    for x, wanted in ((1.0, 0.0), (3.0, 1.0)):
        found = exe.run(slow, {"x": [x]}, [w, "parameter_0"], scope)
        assert [value.tolist() for value in found] == [[wanted], [wanted]]
