"""Pipelines and data parallelism: parts that run one after the other do what the whole does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.static.transpilers import Stage, data_parallel, pipeline_cut
from tests.support.training_programs import Training, random_training, states_of, training

CUTS = {"mlp": "linear", "cnn": "convolution", "residual": "relu", "lstm": "linear", "gpt": "add"}


def outputs_of(program: Any, type: str) -> list[str]:
    return [op.outputs["Out"][0] for op in program.block.ops if op.type == type]


def run_stages(
    found: Training, stages: list[Stage], scopes: list[Any], sent: dict[str, Any] | None = None
) -> Any:
    """One run of all parts, each in its stage's scope, with what it was sent alone; the loss."""
    exe, loss = static.Executor(), None
    sent = {} if sent is None else sent
    numbers = range(len(stages))
    order = [
        *((i, stages[i].forward) for i in numbers),
        *((i, stages[i].backward) for i in reversed(numbers)),
        *((i, stages[i].update) for i in numbers),
    ]
    for i, part in order:
        inputs = [name for name, role, _ in part.program.variables() if role == "input"]
        feed = {name: sent[name] if name in part.receives else found.feed[name] for name in inputs}
        fetched = [*part.sends]
        is_last = part is stages[-1].forward
        values = exe.run(part.program, feed, fetched + [found.loss] * is_last, scopes[i])
        if is_last:
            loss = values.pop()
        sent.update(zip(fetched, values, strict=True))
    return loss


def check(found: Training, cuts: Any, rounds: int = 3) -> list[Stage]:
    """Holds the stages against the whole program, bit by bit."""
    before = str(found.main), str(found.startup)
    stages = pipeline_cut(found.main, found.startup, cuts)
    assert (str(found.main), str(found.startup)) == before
    exe, plain, scopes = static.Executor(), static.Scope(), [static.Scope() for _ in stages]
    exe.run(found.startup, scope=plain)
    for stage, scope in zip(stages, scopes, strict=True):
        exe.run(stage.startup, scope=scope)
    for _ in range(rounds):
        (wanted,) = exe.run(found.main, found.feed, [found.loss], plain)
        assert run_stages(found, stages, scopes) == wanted
    wanted_states = states_of(plain)
    seen: set[str] = set()
    for scope in scopes:
        for name, value in states_of(scope).items():
            assert np.array_equal(value, wanted_states[name]), name
            seen.add(name)
    used = {n for step in found.main.applied() for n in step.inputs}
    assert seen == {name for name in wanted_states if found.main.number_of(name) in used}
    return stages


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("batch", [None, "batch"], ids=["known", "unknown"])
@pytest.mark.parametrize("name", CUTS)
def test_X8_stages_are_the_whole(name: str, batch: Any, optimizer: str) -> None:
    found = training(name, optimizer, batch=batch)
    names = outputs_of(found.main.prune(found.loss), CUTS[name])
    stages = check(found, names[1:2] if name == "gpt" else names[:1])
    assert all(part.program.block.ops for stage in stages for part in stage[1:])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_program_is_cut_into_so_many_stages(count: int) -> None:
    found = training("gpt", "adam", batch="batch")
    stages = check(found, count)
    assert len(stages) == count
    products = [
        sum(op.type in ("linear", "mat_mul", "attention") for op in stage.forward.program.block.ops)
        for stage in stages
    ]
    assert min(products) >= 1 and sum(products) == 11


@pytest.mark.parametrize("seed", range(30))
def test_stages_of_random_programs_are_the_whole(seed: int) -> None:
    found = random_training(seed, draws=False)
    try:
        stages = pipeline_cut(found.main, found.startup, 2)
    except tl.ArgumentError as error:
        assert "must be from 1 to 1" in str(error)
        return
    assert len(stages) == 2
    check(found, 2)


def test_each_stage_has_its_own_states_and_batches() -> None:
    found = training("mlp", "adam", batch="batch")
    (cut,) = outputs_of(found.main.prune(found.loss), "relu")
    first, second = check(found, [cut])
    assert first.forward.receives == () and first.forward.sends == second.forward.receives
    assert set(first.backward.receives) & set(second.backward.sends)
    names = {name for name, role, _ in first.startup.variables() if role == "state"}
    assert "first.weight" in names and "second.weight" not in names and "learning_rate_0" in names
    inputs = [n for n, role, _ in second.forward.program.variables() if role == "input"]
    assert "target" in inputs and "x" not in inputs


def test_a_parameter_that_two_stages_read_belongs_to_the_first() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter(np.eye(2, dtype="f"))
        h = F.tanh(F.matmul(static.data("x", (None, 2)), w))
        loss = F.mean(F.matmul(h, w) ** 2)
        tl.optim.SGD(lr=0.1, momentum=0.9).minimize(loss)
    found = Training(main, startup, loss, {"x": np.ones((3, 2), "f")})
    first, second = check(found, [h])
    assert "parameter_0" in second.forward.receives and "parameter_0" in first.forward.sends
    assert not second.update.program.assigned()


def dropping(masked: bool) -> tuple[Training, Any]:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter(np.ones((64,), "f"))
        h = F.sin(w * static.data("x", (64,)))
        y = h * F.dropout(F.ones_like(h), p=0.5) if masked else F.dropout(h, p=0.5)
        loss = F.sum(y * y)
        tl.optim.SGD(lr=0.1).minimize(loss)
    return Training(main, startup, loss, {"x": np.ones(64, "f")}), h


def test_a_gradient_that_would_draw_other_numbers_is_refused() -> None:
    found, h = dropping(masked=False)
    with pytest.raises(tl.ArgumentError, match="must not draw again what the forward pass drew"):
        pipeline_cut(found.main, found.startup, [h])


def test_a_mask_that_was_drawn_is_sent() -> None:
    found, h = dropping(masked=True)
    stages = pipeline_cut(found.main, found.startup, [h])
    scopes = [static.Scope() for _ in stages]
    exe, plain = static.Executor(), static.Scope()
    for stage, scope in zip(stages, scopes, strict=True):
        exe.run(stage.startup, scope=scope)
    exe.run(found.startup, scope=plain)
    for _ in range(3):
        state = tl.imperative.random.default_stream.state()
        with tl.imperative.random.default_stream.replay(state):
            (wanted,) = exe.run(found.main, found.feed, [found.loss], plain)
        assert run_stages(found, stages, scopes) == wanted
    assert np.array_equal(states_of(plain)["parameter_0"], states_of(scopes[0])["parameter_0"])


def test_what_does_not_fit_is_refused() -> None:
    found = training("cnn")
    convolutions = outputs_of(found.main.prune(found.loss), "convolution")
    for wrong in (convolutions[::-1], ["x"], ["first.weight"], [convolutions[0]] * 2):
        with pytest.raises(tl.ArgumentError, match="must be results of the forward pass"):
            pipeline_cut(found.main, found.startup, wrong)
    with pytest.raises(tl.ArgumentError, match="must be from 1 to"):
        pipeline_cut(found.main, found.startup, 50)
    with pytest.raises(tl.ArgumentError, match="with gradients"):
        pipeline_cut(found.startup, found.startup, 2)


def test_gradients_clipped_by_their_common_norm_are_refused() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        a, b = tl.Parameter([1.0]), tl.Parameter([2.0])
        h = F.sin(static.data("x", (None, 1)) * a)
        loss = F.mean(h * b)
        pairs = static.append_backward(loss)
        norm = F.sqrt(sum(F.sum(g * g) for _, g in pairs))
        for p, g in pairs:
            p.set_value(p.detach() - g / norm)
    with pytest.raises(tl.ArgumentError, match="an update must not need several stages"):
        pipeline_cut(main, startup, [h])


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("name", ["mlp", "cnn", "lstm", "gpt"])
def test_X8_parts_of_a_batch_are_the_whole(name: str, optimizer: str) -> None:
    found = training(name, optimizer, batch="batch", dtype="float64")
    axis = 1 if name == "lstm" else 0
    before = str(found.main), str(found.startup)
    split = data_parallel(found.main, found.startup, 2)
    assert (str(found.main), str(found.startup)) == before
    exe, plain, scope = static.Executor(), static.Scope(), static.Scope()
    exe.run(found.startup, scope=plain)
    exe.run(split.startup, scope=scope)
    for _ in range(2):
        (wanted,) = exe.run(found.main, found.feed, [found.loss], plain)
        sent, losses = {}, []
        for i in range(2):
            feed = {
                key: np.split(value, 2, axis if key == "x" else 0)[i]
                for key, value in found.feed.items()
            }
            *values, loss = exe.run(split.part, feed, [*split.gradients, found.loss], scope)
            sent |= {f"{key}.{i}": x for key, x in zip(split.gradients, values, strict=True)}
            losses.append(loss)
        exe.run(split.combine, sent, scope=scope)
        np.testing.assert_allclose(np.mean(losses), wanted, rtol=1e-12)
    for key, value in states_of(plain).items():
        found_value = states_of(scope)[key]
        np.testing.assert_allclose(found_value, value, rtol=1e-10, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_random_programs_are_the_whole(seed: int) -> None:
    found = random_training(seed, "float64", draws=False)
    split = data_parallel(found.main, found.startup, 4)
    exe, plain, scope = static.Executor(), static.Scope(), static.Scope()
    exe.run(found.startup, scope=plain)
    exe.run(split.startup, scope=scope)
    exe.run(found.main, found.feed, scope=plain)
    sent: dict[str, Any] = {}
    for i, x in enumerate(np.split(found.feed["x"], 4)):
        values = exe.run(split.part, {"x": x}, split.gradients, scope)
        sent |= {f"{key}.{i}": v for key, v in zip(split.gradients, values, strict=True)}
    exe.run(split.combine, sent, scope=scope)
    for key, value in states_of(plain).items():
        np.testing.assert_allclose(states_of(scope)[key], value, rtol=1e-9, atol=1e-12)


def test_parts_change_their_own_statistics_and_the_update_all_else() -> None:
    found = training("residual", "adam")
    split = data_parallel(found.main, found.startup, 2)
    moved = {split.part.names(n) for n in split.part.assigned()}
    assert moved == {f"norm{i}.running_{kind}" for i in (1, 2) for kind in ("mean", "var")}
    updated = {split.combine.names(n) for n in split.combine.assigned()}
    assert updated | moved == {found.main.names(n) for n in found.main.assigned()}
    inputs = [n for n, role, _ in split.combine.variables() if role == "input"]
    assert len(inputs) == 2 * len(split.gradients)
    with pytest.raises(tl.ArgumentError, match="parts must be positive; got 0"):
        data_parallel(found.main, found.startup, 0)
