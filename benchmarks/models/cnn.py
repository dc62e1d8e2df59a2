"""A small convolutional network for 1 x 28 x 28 images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

import tensorlike as tl
import tensorlike.functional as F

from .training import steps

BATCH, SIZE, CLASSES = 64, 28, 10
CHANNELS = (32, 64)
FEATURES = CHANNELS[1] * (SIZE // 4) ** 2


class Ours(tl.nn.Layer):
    """With tensorlike."""

    def __init__(self) -> None:
        self.first = tl.nn.Conv2d(1, CHANNELS[0], 3, padding=1)
        self.second = tl.nn.Conv2d(CHANNELS[0], CHANNELS[1], 3, padding=1)
        self.pool = tl.nn.MaxPool2d(2)
        self.last = tl.nn.Linear(FEATURES, CLASSES)

    def forward(self, x: Any) -> Any:
        """Logits of a batch of images."""
        x = self.pool(F.relu(self.first(x)))
        x = self.pool(F.relu(self.second(x)))
        return self.last(F.reshape(x, shape=(-1, FEATURES)))


class Theirs(torch.nn.Module):
    """With PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(1, CHANNELS[0], 3, padding=1)
        self.second = torch.nn.Conv2d(CHANNELS[0], CHANNELS[1], 3, padding=1)
        self.pool = torch.nn.MaxPool2d(2)
        self.last = torch.nn.Linear(FEATURES, CLASSES)

    def forward(self, x: Any) -> Any:
        """The same."""
        x = self.pool(torch.relu(self.first(x)))
        x = self.pool(torch.relu(self.second(x)))
        return self.last(torch.reshape(x, (-1, FEATURES)))


def builds() -> Mapping[str, Callable[[], Any]]:
    """The contenders."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((BATCH, 1, SIZE, SIZE), dtype=np.float32)
    return steps(Ours, Theirs, x, generator.integers(0, CLASSES, BATCH))
