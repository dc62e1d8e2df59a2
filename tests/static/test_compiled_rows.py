"""X5, X9, X10, J9 and Y6 of the acceptance list: files, passes, compiled programs, and as ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tests.static.test_training import NAMES, STEPS, program_of


def run_all(main: Any, startup: Any, feed: Any, fetch: Any) -> tuple[list[Any], dict[str, Any]]:
    """What some steps give, and what the states are then."""
    scope, exe = static.Scope(), static.Executor()
    exe.run(startup, scope=scope)
    found = [exe.run(main, feed=feed, fetch_list=fetch, scope=scope)[0] for _ in range(STEPS)]
    return found, {name: scope.find_var(name).numpy() for name in scope.names()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [None, "batch"], ids=["known", "unknown"])
def test_X10_a_compiled_training_program_does_what_the_program_does(name: str, batch: Any) -> None:
    main, startup, loss, feed = program_of(name, "adam", batch)
    losses, states = run_all(main, startup, feed, [loss])
    compiled = static.CompiledProgram(main)
    found, after = run_all(compiled, startup, feed, [loss])
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    assert states.keys() == after.keys()
    for key, value in states.items():
        np.testing.assert_allclose(after[key], value, rtol=1e-3, atol=1e-5, err_msg=key)
    assert len(compiled.optimised([loss])[0].steps()) < len(main.steps())


@pytest.mark.parametrize("name", NAMES)
def test_X5_a_training_program_is_saved_and_goes_on(name: str, tmp_path: Path) -> None:
    main, startup, loss, feed = program_of(name, "adam", "batch")
    losses, states = run_all(main, startup, feed, [loss])
    static.save(startup, tmp_path / "startup.tlp", scope=static.Scope())
    static.save(main, tmp_path / "main.tlp", [loss], scope=static.Scope())
    again = static.load(tmp_path / "main.tlp", static.Scope())
    first = static.load(tmp_path / "startup.tlp", static.Scope())
    found, after = run_all(again, first, feed, list(again.results.values()))
    np.testing.assert_array_equal(found, losses)
    for key, value in states.items():
        np.testing.assert_array_equal(after[key], value, err_msg=key)


def test_X5_values_of_states_are_saved_with_a_program(tmp_path: Path) -> None:
    main, startup, loss, feed = program_of("mlp", "adam", "batch")
    scope, exe = static.Scope(), static.Executor()
    exe.run(startup, scope=scope)
    exe.run(main, feed, [loss], scope)
    static.save(main, tmp_path / "main.tlp", [loss], scope)
    wanted = [exe.run(main, feed, [loss], scope)[0] for _ in range(2)]
    other = static.Scope()
    again = static.load(tmp_path / "main.tlp", other)
    found = [exe.run(again, feed, list(again.results), other)[0] for _ in range(2)]
    np.testing.assert_array_equal(found, wanted)
    damaged = (tmp_path / "main.tlp").read_bytes()[:-5]
    (tmp_path / "main.tlp").write_bytes(damaged)
    with pytest.raises(tl.TensorlikeError):
        static.load(tmp_path / "main.tlp")


def test_X5_a_program_prints_and_is_cloned_for_tests() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (None, 4))
        y = tl.nn.Dropout(0.5)(static.fc(x, 3))
        tl.optim.SGD(lr=0.1).minimize(F.mean(y))
    test = main.clone(for_test=True)
    assert "x: float32(batch, 4)" in str(main) and "parameter_0 <- " in str(main)
    assert "dropout" not in str(test).lower() and "<-" not in str(test)


def test_X9_the_passes_of_a_program_are_listed_switched_off_and_compared() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (None, 4))
        w, b = tl.Parameter(np.ones((4, 2), np.float32)), tl.Parameter([1.0, 2.0])
        y = F.matmul(x, w) + b
        F.exp(x)  # nobody reads it
        folded = tl.tensor([1.0, 2.0]) * 2 + y
    compiled = static.CompiledProgram(main)
    assert {"dead_code", "fold", "identities", "cse", "bodies"} <= set(compiled.passes)
    program, _ = compiled.optimised([folded])
    kinds = [type(step.op).__name__ for step in program.applied()]
    assert "Linear" in kinds and "MatMul" not in kinds  # fc = mul + elementwise_add
    assert "exp" not in str(program)
    assert "-" in compiled.diff("dead_code")
    without = compiled.without("bodies").optimised([folded])[0]
    assert "MatMul" in [type(step.op).__name__ for step in without.applied()]


@pytest.mark.parametrize("level", [1, 2])
def test_J9_what_cancels_is_simplified(level: int) -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (3,))
        inverse = F.log(F.exp(x))
        naive = F.log(F.sum(F.exp(x * 0.5), axis=0))  # of its own: what others read stays
    compiled = static.CompiledProgram(main, opt_level=level)
    program, _ = compiled.optimised([inverse, naive])
    kinds = [getattr(step.op, "mode", type(step.op).__name__) for step in program.applied()]
    assert "log" not in kinds or level == 1
    assert any(kind in ("LogSumExp", "logsumexp") for kind in kinds), kinds
    feed = {"x": np.array([0.5, -1.0, 2.0], np.float32)}
    exe = static.Executor()
    plain = exe.run(main, feed, [inverse, naive], static.Scope())
    for found, wanted in zip(exe.run(compiled, feed, [inverse, naive]), plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_Y6_a_program_in_the_middle_of_an_eager_model_trains() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x, w = static.data("x", (None, 3)), static.data("w", (3, 2))
        y = F.tanh(F.matmul(x, w))
    middle = static.program_op(main, y)
    weight = tl.Parameter(np.full((3, 2), 0.5, np.float32))
    last = tl.nn.Linear(2, 1, seed=0)
    optimizer = tl.optim.SGD([weight, *last.parameters()], lr=0.1)
    rows = tl.tensor(np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32))
    losses = []
    for _ in range(5):
        made = middle(rows * 2, weight)
        loss = F.mean((last(made) - 1.0) ** 2)
        wanted = F.mean((last(F.tanh(F.matmul(rows * 2, weight))) - 1.0) ** 2)
        np.testing.assert_allclose(float(loss), float(wanted), rtol=1e-6)
        optimizer.minimize(loss)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)
