"""Multilayer perceptrons, of 784-1024-1024-10 unless it is said otherwise; also with JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from peers import JAX, jax

import tensorlike as tl
import tensorlike.functional as F

from .training import steps

Sizes = tuple[int, ...]
BATCH, SIZES = 256, (784, 1024, 1024, 10)
SMALL_BATCH, SMALL_SIZES = 64, (784, 256, 10)


class Ours(tl.nn.Layer):
    """With tensorlike."""

    def __init__(self, sizes: Sizes = SIZES) -> None:
        self.layers = [tl.nn.Linear(m, n) for m, n in itertools.pairwise(sizes)]

    def forward(self, x: Any) -> Any:
        """Logits of a batch of rows."""
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class Theirs(torch.nn.Module):
    """With PyTorch."""

    def __init__(self, sizes: Sizes = SIZES) -> None:
        super().__init__()
        pairs = itertools.pairwise(sizes)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(m, n) for m, n in pairs)

    def forward(self, x: Any) -> Any:
        """The same."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def data(
    sizes: Sizes = SIZES, batch: int = BATCH
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A batch."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((batch, sizes[0]), dtype=np.float32)
    return x, generator.integers(0, sizes[-1], batch)


def builds(sizes: Sizes = SIZES, batch: int = BATCH) -> Mapping[str, Callable[[], Any]]:
    """The contenders; JAX where it is there."""
    found = dict(steps(lambda: Ours(sizes), lambda: Theirs(sizes), *data(sizes, batch)))
    if jax is not None:
        found[JAX] = lambda: _jax_step(sizes, batch)
    return found


def small() -> Mapping[str, Callable[[], Any]]:
    """Of 784-256-10."""
    return builds(SMALL_SIZES, SMALL_BATCH)


def _jax_step(sizes: Sizes, batch: int) -> Callable[[], Any]:
    """The same step as one compiled function of weights and moments, whose memory it reuses."""
    jnp = jax.numpy
    torch.manual_seed(0)
    pairs = [
        (layer.weight.detach().numpy().T, layer.bias.detach().numpy())
        for layer in Theirs(sizes).layers
    ]
    weights = jax.tree.map(jnp.asarray, pairs)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    x, labels = (jnp.asarray(part) for part in data(sizes, batch))

    def loss_of(weights: Any) -> Any:
        y = x
        for weight, bias in weights[:-1]:
            y = jax.nn.relu(y @ weight + bias)
        logp = jax.nn.log_softmax(y @ weights[-1][0] + weights[-1][1])
        return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], 1))

    def update(weights: Any, m: Any, v: Any, t: Any) -> Any:
        loss, slopes = jax.value_and_grad(loss_of)(weights)
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, slopes)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, slopes)

        def moved(p: Any, m: Any, v: Any) -> Any:
            scale = jnp.sqrt(v / (1 - 0.999**t)) + 1e-8
            return p - 1e-4 * (m / (1 - 0.9**t)) / scale

        return loss, jax.tree.map(moved, weights, m, v), m, v, t

    compiled = jax.jit(update, donate_argnums=(0, 1, 2, 3))
    state = [weights, zeros, jax.tree.map(jnp.copy, zeros), jnp.float32(0)]

    def step() -> Any:
        loss, *state[:] = jax.block_until_ready(compiled(*state))
        return loss

    return step
