"""ResNet-18 for images of 3 x 224 x 224 and 1000 classes.

Source: He et al. 2015, https://arxiv.org/abs/1512.03385.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

import tensorlike as tl
import tensorlike.functional as F

from .training import steps

BATCH, SIZE, CLASSES = 8, 224, 1000
CHANNELS = (64, 128, 256, 512)
FIRST = 64


class OurBlock(tl.nn.Layer):
    """Two convolutions, added to what came in."""

    def __init__(self, inside: int, channels: int, stride: int) -> None:
        self.conv1 = tl.nn.Conv2d(inside, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = tl.nn.BatchNorm2d(channels)
        self.conv2 = tl.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = tl.nn.BatchNorm2d(channels)
        self.is_narrowed = stride != 1
        if self.is_narrowed:
            self.short = tl.nn.Conv2d(inside, channels, 1, stride=stride, bias=False)
            self.bn3 = tl.nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        """More channels of a smaller image, where it strides."""
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.bn3(self.short(x)) if self.is_narrowed else x))


class Ours(tl.nn.Layer):
    """With tensorlike."""

    def __init__(self) -> None:
        self.conv1 = tl.nn.Conv2d(3, FIRST, 7, stride=2, padding=3, bias=False)
        self.bn1 = tl.nn.BatchNorm2d(FIRST)
        self.pool = tl.nn.MaxPool2d(3, stride=2, padding=1)
        inside = (FIRST, *CHANNELS)
        self.blocks = [
            OurBlock(inside[i] if first else channels, channels, 2 if first and i else 1)
            for i, channels in enumerate(CHANNELS)
            for first in (True, False)
        ]
        self.fc = tl.nn.Linear(CHANNELS[-1], CLASSES)

    def forward(self, x: Any) -> Any:
        """Logits of a batch of images."""
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        for block in self.blocks:
            x = block(x)
        return self.fc(F.mean(x, axis=(2, 3)))


class TheirBlock(torch.nn.Module):
    """The same with PyTorch."""

    def __init__(self, inside: int, channels: int, stride: int) -> None:
        super().__init__()
        conv = torch.nn.Conv2d
        self.conv1 = conv(inside, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(channels)
        self.conv2 = conv(channels, channels, 3, padding=1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(channels)
        self.is_narrowed = stride != 1
        if self.is_narrowed:
            self.short = conv(inside, channels, 1, stride=stride, bias=False)
            self.bn3 = torch.nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        """The same."""
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (self.bn3(self.short(x)) if self.is_narrowed else x))


class Theirs(torch.nn.Module):
    """With PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, FIRST, 7, stride=2, padding=3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(FIRST)
        self.pool = torch.nn.MaxPool2d(3, stride=2, padding=1)
        inside = (FIRST, *CHANNELS)
        self.blocks = torch.nn.ModuleList(
            TheirBlock(inside[i] if first else channels, channels, 2 if first and i else 1)
            for i, channels in enumerate(CHANNELS)
            for first in (True, False)
        )
        self.fc = torch.nn.Linear(CHANNELS[-1], CLASSES)

    def forward(self, x: Any) -> Any:
        """The same."""
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


def builds() -> Mapping[str, Callable[[], Any]]:
    """The contenders of a training step."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((BATCH, 3, SIZE, SIZE), dtype=np.float32)
    return steps(Ours, Theirs, x, generator.integers(0, CLASSES, BATCH))
