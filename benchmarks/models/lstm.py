"""A classifier of sequences: two layers of LSTM, and a linear map of the last hidden state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

import tensorlike as tl

from .training import steps

LENGTH, BATCH, COLUMNS, HIDDEN, CLASSES = 64, 32, 64, 256, 10


class Ours(tl.nn.Layer):
    """With tensorlike."""

    def __init__(self) -> None:
        self.recurrent = tl.nn.LSTM(COLUMNS, HIDDEN, num_layers=2)
        self.last = tl.nn.Linear(HIDDEN, CLASSES)

    def forward(self, x: Any) -> Any:
        """Logits of a batch of sequences."""
        y, _ = self.recurrent(x)
        return self.last(y[-1])


class Theirs(torch.nn.Module):
    """With PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrent = torch.nn.LSTM(COLUMNS, HIDDEN, num_layers=2)
        self.last = torch.nn.Linear(HIDDEN, CLASSES)

    def forward(self, x: Any) -> Any:
        """The same."""
        y, _ = self.recurrent(x)
        return self.last(y[-1])


def builds() -> Mapping[str, Callable[[], Any]]:
    """The contenders."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((LENGTH, BATCH, COLUMNS), dtype=np.float32)
    return steps(Ours, Theirs, x, generator.integers(0, CLASSES, BATCH), batch_axis=1)
