"""functional_call: ensembles by vmap, gradients through training steps, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

RNG = np.random.default_rng(5)


class Centred(nn.Layer):
    """Subtracts a running mean, which it moves as it is called."""

    def __init__(self) -> None:
        self.mean = nn.Buffer(np.zeros(3))

    def forward(self, x: Any) -> Any:
        self.mean[...] = self.mean * 0.5 + F.mean(x, axis=0) * 0.5
        return x - self.mean


def network(seed: int = 0) -> nn.Sequential:
    net = nn.Sequential(nn.Linear(2, 3), Centred(), F.tanh, nn.Linear(3, 1))
    rng = np.random.default_rng(seed)
    for parameter in net.parameters():
        parameter._reset(tl.Parameter(rng.normal(size=parameter.shape)))
    return net


def state_of(net: nn.Layer) -> dict[str, Any]:
    return {n: t.detach() for n, t in (*net.named_parameters(), *net.named_buffers())}


X = tl.tensor(RNG.normal(size=(5, 2)))
Y = tl.tensor(RNG.normal(size=(5, 1)))


def test_an_ensemble_by_vmap_is_what_a_loop_gives() -> None:
    nets = [network(seed) for seed in range(3)]
    states = [state_of(net) for net in nets]
    stacked = {name: F.stack([state[name] for state in states]) for name in states[0]}
    base = network(9)
    before = base.state_dict()

    def step(state: dict[str, Any], x: Any) -> Any:
        """A training step as a pure function of the state."""
        weights = {n: state[n] for n, _ in base.named_parameters()}
        rest = {n: state[n] for n, _ in base.named_buffers()}

        def loss(weights: dict[str, Any]) -> Any:
            out, left = nn.functional_call(base, {**weights, **rest}, x, return_buffers=True)
            return F.mean((out - Y) ** 2), left

        slopes, left = tl.grad(loss, has_aux=True)(weights)
        return {**{n: w - 0.1 * slopes[n] for n, w in weights.items()}, **left}

    found = tl.vmap(step, in_axes=(0, None))(stacked, X)
    for i, state in enumerate(states):
        wanted = step(state, X)
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            got = np.asarray(found[name][i].detach())
            np.testing.assert_allclose(got, np.asarray(value.detach()), rtol=1e-12)
    assert all(np.array_equal(base.state_dict()[name], old) for name, old in before.items())


def test_a_gradient_goes_through_two_steps_of_training() -> None:
    net = network()
    weights = {name: p.detach() for name, p in net.named_parameters()}
    buffers = {name: b.detach() for name, b in net.named_buffers()}

    def loss(weights: dict[str, Any], x: Any) -> Any:
        return F.mean((nn.functional_call(net, {**weights, **buffers}, x) - Y) ** 2)

    def after_two_steps(weights: dict[str, Any]) -> Any:
        for _ in range(2):
            slopes = tl.grad(loss)(weights, X)
            weights = {name: w - 0.1 * slopes[name] for name, w in weights.items()}
        return loss(weights, X + 1.0)

    found = tl.grad(after_two_steps)(weights)
    for name, weight in weights.items():
        values = np.array(weight)
        for index in np.ndindex(values.shape):
            ends = []
            for sign in (1e-5, -1e-5):
                moved = values.copy()
                moved[index] += sign
                ends.append(after_two_steps({**weights, name: tl.tensor(moved)}).item())
            slope = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(np.asarray(found[name])[index], slope, rtol=1e-5, atol=1e-8)


def test_the_layer_holds_its_own_again_whatever_happens() -> None:
    net = network()
    before = net.state_dict()
    state = {name: value + 1 for name, value in state_of(net).items()}
    nn.functional_call(net, state, X)
    with pytest.raises(tl.ShapeError):
        nn.functional_call(net, state, tl.ones((5, 7)))
    with pytest.raises(KeyError, match=r"functional_call: names must be those of .*; got .'mean'"):
        nn.functional_call(net, {"mean": tl.ones(3)}, X)
    with pytest.raises(
        tl.ShapeError, match=r"functional_call: parts.0.bias must have shape \(3,\)"
    ):
        nn.functional_call(net, {"parts.0.bias": tl.ones((2, 3))}, X)
    assert all(np.array_equal(net.state_dict()[name], old) for name, old in before.items())
    partial = nn.functional_call(net, {"parts.3.bias": tl.tensor(np.array([7.0]))}, X)
    assert partial.shape == (5, 1)
