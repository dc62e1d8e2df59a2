"""A GPT in small: 4 layers, width 128, 4 heads, 128 tokens, a vocabulary of 256."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

import tensorlike as tl
import tensorlike.functional as F

from .training import steps

BATCH, LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 8, 128, 128, 4, 4, 256
SPLIT = (-1, LENGTH, 3, HEADS, WIDTH // HEADS)


class OurBlock(tl.nn.Layer):
    """Attention and a perceptron, each added to what came in."""

    def __init__(self) -> None:
        self.norm1 = tl.nn.LayerNorm(WIDTH)
        self.project = tl.nn.Linear(WIDTH, 3 * WIDTH)
        self.join = tl.nn.Linear(WIDTH, WIDTH)
        self.norm2 = tl.nn.LayerNorm(WIDTH)
        self.widen = tl.nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = tl.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        """The same shape, (batch, length, width)."""
        parts = F.reshape(self.project(self.norm1(x)), shape=SPLIT)
        parts = F.permute_dims(parts, axes=(2, 0, 3, 1, 4))
        y = F.attention(parts[0], parts[1], parts[2], is_causal=True)
        y = F.reshape(F.permute_dims(y, axes=(0, 2, 1, 3)), shape=(-1, LENGTH, WIDTH))
        x = x + self.join(y)
        return x + self.narrow(F.gelu(self.widen(self.norm2(x))))


class Ours(tl.nn.Layer):
    """With tensorlike."""

    def __init__(self) -> None:
        self.tokens = tl.nn.Embedding(VOCABULARY, WIDTH)
        self.places = tl.nn.Embedding(LENGTH, WIDTH)
        self.blocks = [OurBlock() for _ in range(LAYERS)]
        self.norm = tl.nn.LayerNorm(WIDTH)
        self.head = tl.nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.order = tl.tensor(np.arange(LENGTH))

    def forward(self, tokens: Any) -> Any:
        """Logits of the next tokens, a row for each place of each text."""
        x = self.tokens(tokens) + self.places(self.order)
        for block in self.blocks:
            x = block(x)
        return F.reshape(self.head(self.norm(x)), shape=(-1, VOCABULARY))


class TheirBlock(torch.nn.Module):
    """The same with PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(WIDTH)
        self.project = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.join = torch.nn.Linear(WIDTH, WIDTH)
        self.norm2 = torch.nn.LayerNorm(WIDTH)
        self.widen = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        """The same shape."""
        parts = self.project(self.norm1(x)).reshape(SPLIT).permute(2, 0, 3, 1, 4)
        attention = torch.nn.functional.scaled_dot_product_attention
        y = attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.join(y.permute(0, 2, 1, 3).reshape(-1, LENGTH, WIDTH))
        return x + self.narrow(torch.nn.functional.gelu(self.widen(self.norm2(x))))


class Theirs(torch.nn.Module):
    """With PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.places = torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.ModuleList(TheirBlock() for _ in range(LAYERS))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("order", torch.arange(LENGTH))

    def forward(self, tokens: Any) -> Any:
        """The same."""
        x = self.tokens(tokens) + self.places(self.order)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).reshape(-1, VOCABULARY)


def builds() -> Mapping[str, Callable[[], Any]]:
    """The contenders."""
    texts = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, LENGTH + 1))
    tokens, following = texts[:, :-1].copy(), texts[:, 1:].copy()
    return steps(Ours, Theirs, tokens, following, decay=0.01)
