"""Whole training steps, on which tensor-likes are tried: what no single op shows.

Forward and backward passes, gradients that are clipped, updates, running statistics: all of it is
ops applied through `apply`, so a tensor-like that goes in has to come out everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functional as F
from .. import nn, optim
from ..imperative import Tensor

Wrap = Callable[[Any], Tensor]


class _Images(nn.Layer):
    """A convolution and a norm of batches, twice, and a linear map of what is pooled."""

    def __init__(self) -> None:
        self.first = nn.Conv2d(2, 4, 3, padding=1, seed=1)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, padding=1, seed=2)
        self.again = nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
        self.last = nn.Linear(4, 3, seed=3)

    def forward(self, x: Any) -> Tensor:
        """Logits of images."""
        x = F.relu(self.norm(self.first(x)))
        x = x + F.tanh(self.again(self.second(x)))
        logits: Tensor = self.last(F.mean(x, axis=(2, 3)))
        return logits


def _sgd(network: nn.Layer) -> optim.Optimizer:
    return optim.SGD(network.parameters(), lr=0.1, momentum=0.9)


def _adam(network: nn.Layer) -> optim.Optimizer:
    return optim.Adam(network.parameters(), lr=0.01, eps=1e-3, decay=0.1)


def _clip(network: nn.Layer) -> None:
    """Scales the gradients so that all of them together have the norm 1 at most."""
    gradients = [parameter.grad for parameter in network.parameters()]
    norm = F.sqrt(sum(F.sum(gradient * gradient) for gradient in gradients))
    factor = F.minimum(1.0 / norm, 1.0)
    for parameter, gradient in zip(network.parameters(), gradients, strict=True):
        parameter.grad = gradient * factor


def _train(make: Callable[[nn.Layer], optim.Optimizer], wrap: Wrap) -> list[Tensor]:
    rng = np.random.default_rng(7)
    images = rng.standard_normal((4, 2, 5, 5), dtype=np.float32)
    classes = Tensor(rng.integers(0, 3, 4))
    network = _Images()
    optimizer = make(network)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(wrap(images)), classes)
        loss.backward()
        _clip(network)
        optimizer.step()
        losses.append(loss)
    buffers = [buffer for _, buffer in network.named_buffers()]
    return [tensor.detach() for tensor in (*losses, *network.parameters(), *buffers)]


def training_programs() -> dict[str, Callable[[Wrap], list[Tensor]]]:
    """Programs that train a fresh network on what `wrap` makes of arrays.

    Returns:
        By name: a function of `wrap`, which returns losses, parameters and running statistics.
    """
    return {
        "two steps of SGD": lambda wrap: _train(_sgd, wrap),
        "two steps of Adam": lambda wrap: _train(_adam, wrap),
    }
