"""A training step of a small network: the tape, matmul and the optimiser together."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from compare import Contender, Result, Settings, time_in_turns

import tensorlike as tl
import tensorlike.functional as F

BATCH, PIXELS, HIDDEN, CLASSES = 64, 784, 256, 10


def mlp(settings: Settings) -> list[Result]:
    """784-256-10, batch 64: forward, backward, SGD."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((BATCH, PIXELS), dtype=np.float32)
    labels = generator.integers(0, CLASSES, BATCH)
    layers = [tl.nn.Linear(PIXELS, HIDDEN, seed=0), tl.nn.Linear(HIDDEN, CLASSES, seed=1)]
    timings = time_in_turns(
        {
            "tensorlike": Contender("step()", {"step": our_step(layers, x, labels)}),
            "PyTorch": Contender("step()", {"step": torch_step(layers, x, labels)}),
        },
        settings,
        tolerance=1e-4,
    )
    return timings.results("MLP 784-256-10, batch 64, training step", {"PyTorch": 0.5})


def our_step(layers: list[tl.nn.Linear], pixels: Any, targets: Any) -> Any:
    """A function that makes a step and returns the loss before it."""
    network = tl.nn.Sequential(layers[0], F.relu, layers[1])
    optimizer = tl.optim.SGD(network.parameters(), lr=0.01)
    x, labels = tl.tensor(pixels), tl.tensor(targets)

    def step() -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(network(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def torch_step(layers: list[tl.nn.Linear], pixels: Any, targets: Any) -> Any:
    """The same with PyTorch, from the same weights."""
    network = torch.nn.Sequential(
        torch.nn.Linear(PIXELS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES)
    )
    with torch.no_grad():
        for theirs, ours in zip((network[0], network[2]), layers, strict=True):
            theirs.weight.copy_(torch.from_numpy(ours.weight.detach().numpy().T.copy()))
            theirs.bias.zero_()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    x, labels = torch.tensor(pixels), torch.tensor(targets)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step
