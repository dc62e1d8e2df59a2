"""Whole training steps as programs: values and states are those of the same steps run at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tests.support.models import models

NAMES = ("mlp", "cnn", "residual", "lstm", "gpt")
OPTIMIZERS = {
    "sgd": lambda given: tl.optim.SGD(given, lr=0.1),
    "momentum": lambda given: tl.optim.SGD(given, lr=0.1, momentum=0.9),
    "adam": lambda given: tl.optim.Adam(given, lr=0.01, eps=1e-3),
    "adamw": lambda given: tl.optim.Adam(given, lr=0.01, eps=1e-3, decay=0.1),
}
STEPS = 3


def eager(name: str, optimizer: str) -> tuple[list[Any], dict[str, Any]]:
    model = models()[name]
    step = OPTIMIZERS[optimizer](model.network.parameters())
    losses = []
    for _ in range(STEPS):
        loss = model.loss()
        step.minimize(loss)
        losses.append(np.array(loss.detach()))
    named = [*model.network.named_parameters(), *model.network.named_buffers()]
    return losses, {key: np.array(x.detach()) for key, x in named}


def program_of(name: str, optimizer: str, batch: Any) -> tuple[Any, Any, Any, Any]:
    """The model's training program, its startup program, the loss, and what it is fed."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        model = models()[name]
        static.keep(model.network)
        axis = 1 if name == "lstm" else 0
        shape = list(model.inputs.shape)
        shape[axis] = batch or shape[axis]
        x = static.data("x", tuple(shape), model.inputs.dtype.name)
        rows = (batch or 4, -1) if name == "gpt" else (batch or 4,)
        classes = model.classes.reshape([4 if size == "batch" else size for size in rows])
        target = static.data("target", (batch or 4, *classes.shape[1:]), "int64")
        loss = F.cross_entropy(model.network(x), F.reshape(target, -1))
        OPTIMIZERS[optimizer](None).minimize(loss)
    return main, startup, loss, {"x": model.inputs, "target": classes}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("batch", [None, "batch"], ids=["known", "unknown"])
@pytest.mark.parametrize("name", NAMES)
def test_a_training_program_does_what_eager_steps_do(name: str, batch: Any, optimizer: str) -> None:
    losses, states = eager(name, optimizer)
    main, startup, loss, feed = program_of(name, optimizer, batch)
    scope = static.Scope()
    exe = static.Executor()
    exe.run(startup, scope=scope)
    found = [exe.run(main, feed=feed, fetch_list=[loss], scope=scope)[0] for _ in range(STEPS)]
    np.testing.assert_allclose(found, losses, rtol=1e-6)
    for key, value in states.items():
        np.testing.assert_allclose(
            scope.find_var(key).numpy(), value, rtol=1e-5, atol=1e-7, err_msg=key
        )


@pytest.mark.parametrize("mode", ["lazy", "async"])
@pytest.mark.parametrize("name", NAMES)
def test_a_training_program_is_the_same_in_every_mode_of_the_engine(name: str, mode: str) -> None:
    main, startup, loss, feed = program_of(name, "adam", "batch")
    found = []
    for engine in ("sync", mode):
        scope, exe = static.Scope(), static.Executor()
        with tl.engine.mode(engine, threshold=1):
            exe.run(startup, scope=scope)
            losses = [
                exe.run(main, feed=feed, fetch_list=[loss], scope=scope)[0] for _ in range(STEPS)
            ]
            states = {key: scope.find_var(key).numpy() for key in scope.names()}
        found.append((losses, states))
    for (losses, states), (wanted, others) in [found]:
        np.testing.assert_allclose(losses, wanted, rtol=1e-6)
        for key, value in states.items():
            np.testing.assert_allclose(value, others[key], rtol=1e-5, atol=1e-7, err_msg=key)


def test_a_batch_of_another_size_costs_a_binding_alone() -> None:
    main, startup, loss, feed = program_of("mlp", "sgd", "batch")
    scope, exe = static.Scope(), static.Executor()
    exe.run(startup, scope=scope)
    for size in (4, 3, 1, 4, 2):
        rows = {name: x[:size] for name, x in feed.items()}
        model = models()["mlp"]
        for key, parameter in model.network.named_parameters():
            parameter.set_value(scope.find_var(key))
        wanted = F.cross_entropy(model.network(tl.tensor(rows["x"])), tl.tensor(rows["target"]))
        (found,) = exe.run(main, rows, [loss], scope)
        np.testing.assert_allclose(found, np.array(wanted.detach()), rtol=1e-6)
