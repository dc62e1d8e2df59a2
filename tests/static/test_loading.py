"""Weights that are loaded while a program is built: they are what its states start from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def network() -> tl.nn.Sequential:
    return tl.nn.Sequential(tl.nn.Linear(3, 4), tl.nn.BatchNorm1d(4), tl.nn.Linear(4, 2))


def state_to_load() -> dict[str, Any]:
    tl.manual_seed(5)
    return {name: x * 1.5 for name, x in network().state_dict().items()}


def steps_at_once() -> list[float]:
    layer = network()
    layer.load_state_dict(state_to_load(), strict=False)
    optimizer = tl.optim.Adam(layer.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.mean(F.square(layer(tl.tensor(X))))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_program_learns_from_what_was_loaded_into_it(is_kept: bool, is_late: bool) -> None:
    state = state_to_load()
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        layer = network()
        if not is_late:
            layer.load_state_dict(state, strict=False)
        if is_kept:
            static.keep(layer)
        loss = F.mean(F.square(layer(static.data("x", (4, 3)))))
        if is_late:
            layer.load_state_dict(state, strict=False)
        tl.optim.Adam(lr=0.01).minimize(loss)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    losses = [executor.run(main, {"x": X}, [loss], scope)[0].item() for _ in range(4)]
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, steps_at_once(), 1e-5)


def test_a_parameter_that_was_set_to_an_array_is_refused() -> None:
    with static.program_guard(static.Program(), static.Program()):
        layer = tl.nn.Linear(3, 2, bias=False)
        stands_for, ones = layer.weight * 1, tl.tensor(np.ones((3, 2), np.float32))
        layer.weight.set_value(ones)
        loss = F.mean(layer(static.data("x", (4, 3))))
        with pytest.raises(tl.ArgumentError, match=r"no run would learn.*load_state_dict"):
            tl.optim.SGD(lr=0.01).minimize(loss)
        layer.weight.set_value(stands_for)
