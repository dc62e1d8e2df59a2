"""Recomputed values: the same bits, less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.static.copying import ancestors
from tensorlike.static.phases import phases
from tensorlike.static.transpilers import recompute
from tests.support.training_programs import Training, random_training, training


def gradients_of(found: Training, main: Any) -> list[Any]:
    """The loss and all gradients of two runs, on the same random numbers each time."""
    tl.manual_seed(7)
    scope, exe = static.Scope(), static.Executor()
    exe.run(found.startup, scope=scope)
    names = [found.main.names(n) for b in found.main.backwards for n in b.gradients.values()]
    return [exe.run(main, found.feed, [found.loss, *names], scope) for _ in range(2)]


def check(found: Training, checkpoints: Any) -> Any:
    """Holds the recomputing program against the plain one, bit by bit."""
    before = str(found.main)
    main = recompute(found.main, checkpoints)
    assert str(found.main) == before
    for a, b in zip(gradients_of(found, found.main), gradients_of(found, main), strict=True):
        assert all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))
    return main


def every(program: Any, type: str) -> list[str]:
    return [op.outputs["Out"][0] for op in program.block.ops if op.type == type]


@pytest.mark.parametrize("batch", [None, "batch"], ids=["known", "unknown"])
@pytest.mark.parametrize("name", ["mlp", "cnn", "residual", "lstm", "gpt"])
def test_gradients_are_the_same_bits(name: str, batch: Any) -> None:
    found = training(name, "adam", batch=batch, dropout=0.4)
    kinds = ["linear", "convolution", "recurrence"]
    forward = phases(found.main).forward
    made = [n for at in forward for n in found.main.steps()[at][2]]
    names = {found.main.names(n) for n in made}
    checkpoints = [x for kind in kinds for x in every(found.main, kind) if x in names]
    main = check(found, checkpoints[-2:])
    assert main.recomputed
    assert len(main.block.ops) > len(found.main.block.ops)
    assert main.clone().recomputed == {
        main.clone().number_of(main.names(n)) for n in main.recomputed
    }


@pytest.mark.parametrize("seed", range(30))
def test_gradients_of_random_programs_are_the_same_bits(seed: int) -> None:
    found = random_training(seed)
    steps = found.main.steps()
    rng = np.random.default_rng(seed)
    forward = [n for at in phases(found.main).forward for n in steps[at][2]]
    (loss,) = (b.loss for b in found.main.backwards)
    needed = {n for at in ancestors(found.main, [loss]) for n in steps[at][2]}
    usual = [found.main.names(n) for n in forward if n in needed]
    chosen = rng.choice(usual, size=min(3, len(usual)), replace=False)
    check(found, [str(name) for name in chosen])


def deep(layers: int, rows: int) -> tuple[Training, list[Any]]:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        y = static.data("x", (rows, 8))
        marks = []
        for i in range(layers):
            for _ in range(4):
                y = F.tanh(F.sin(y) * 1.5)
            y = tl.nn.Linear(8, 8, seed=i)(y)
            marks.append(y)
        loss = F.mean(y * y)
        tl.optim.SGD().minimize(loss)
    return Training(main, startup, loss, {"x": np.ones((rows, 8), "f")}), marks[:-1]


def test_less_memory_is_in_use() -> None:
    found, checkpoints = deep(8, 4000)
    main = check(found, checkpoints)
    peaks = []
    for program in (found.main, main):
        scope, exe = static.Scope(), static.Executor()
        exe.run(found.startup, scope=scope)
        exe.run(program, found.feed, scope=scope)
        tl.memory.reset_peak()
        before = tl.memory.stats()["allocated"]
        exe.run(program, found.feed, scope=scope)
        peaks.append(tl.memory.stats()["peak"] - before)
    assert peaks[1] < 0.45 * peaks[0]


def test_random_numbers_are_drawn_again_in_each_run_and_the_same_within_one() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter(np.ones(64, "f"))
        kept = tl.nn.Dropout(0.5)(w)
        h = F.sin(tl.nn.Dropout(0.5)(F.sin(kept)))
        loss = F.sum(h * h)
        ((_, gradient),) = static.append_backward(loss)
    found = Training(main, startup, loss, {})
    again = check(found, [h])
    assert every(again, "dropout") != every(main, "dropout")
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    first, second = (exe.run(again, {}, [gradient], scope)[0] for _ in range(2))
    assert not np.array_equal(first, second)


def test_what_comes_after_the_last_checkpoint_is_not_repeated() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter([1.0])
        h = F.cos(F.cos(w))
        loss = F.sum(F.sin(F.sin(h)))
        static.append_backward(loss)
    # Each derivative of sin computes a cos, and the other way round.
    before = [op.type for op in main.block.ops]
    after = [op.type for op in recompute(main, [h]).block.ops]
    assert len(after) == len(before) + 1 and after.count("cos") == before.count("cos") + 1


def test_what_does_not_fit_is_refused() -> None:
    found = training("mlp")
    for checkpoints in ([], ["x"], ["first.weight"], ["first.weight@GRAD"]):
        with pytest.raises(tl.ArgumentError, match="must be results of the forward pass"):
            recompute(found.main, checkpoints)
    with pytest.raises(tl.ArgumentError, match="must be variables of the program"):
        recompute(found.main, ["nowhere"])
    with pytest.raises(tl.ArgumentError, match="with gradients"):
        recompute(found.main.prune(found.loss), [found.loss])


def test_a_loop_that_draws_is_not_run_again() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (4, 30))
        w = tl.Parameter(np.ones(30, np.float32))
        rows = F.scan(lambda c, row: (c, tl.nn.Dropout(0.5)(row)), 0.0, F.cos(x))[1]
        h = F.sin(rows * w)
        static.append_backward(F.sum(h * h))
    names = [main.names(n) for n in main.backwards[0].gradients.values()]
    (weight,) = (v.name for v in main.list_vars() if v.persistable)
    value = h.__wrapped__.primal.name
    again = recompute(main, [value])
    scope, exe = static.Scope(), static.Executor()
    scope.set(weight, np.full(30, 0.7, np.float32))
    data, found = np.random.default_rng(0).random((4, 30), dtype=np.float32), []
    for program in (main, again):
        tl.manual_seed(5)
        found.append(exe.run(program, {"x": data}, [value, *names], scope))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert [op.type for op in again.block.ops].count("cos") == 1
