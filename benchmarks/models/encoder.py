"""An encoder like BERT's: 6 layers of 384, 12 heads, 128 tokens; fused, and written in small ops.

Source: Devlin et al. 2018, https://arxiv.org/abs/1810.04805; the sizes are MiniLM's,
https://arxiv.org/abs/2002.10957.
"""

from __future__ import annotations

from typing import Any

import torch

import tensorlike as tl
import tensorlike.functional as F

WIDTH, HEADS, LAYERS, LENGTH = 384, 12, 6, 128
DEPTH = WIDTH // HEADS
EPS = 1e-12


class OurLayer(tl.nn.Layer):
    """Attention and a perceptron, each added to what came in, and normalised."""

    def __init__(self, in_small_ops: bool) -> None:
        self.project = tl.nn.Linear(WIDTH, 3 * WIDTH)
        self.join = tl.nn.Linear(WIDTH, WIDTH)
        self.norm1 = tl.nn.LayerNorm(WIDTH, eps=EPS)
        self.widen = tl.nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = tl.nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = tl.nn.LayerNorm(WIDTH, eps=EPS)
        self.in_small_ops = in_small_ops

    def attended(self, q: Any, k: Any, v: Any) -> Any:
        """Each place's mean of values, weighted by how queries meet keys."""
        if not self.in_small_ops:
            return F.attention(q, k, v)
        scores = F.matmul(q, F.permute_dims(k, (0, 1, 3, 2))) / DEPTH**0.5
        weights = F.exp(scores - F.max(scores, axis=-1, keepdims=True))
        return F.matmul(weights / F.sum(weights, axis=-1, keepdims=True), v)

    def normed(self, layer: tl.nn.LayerNorm, x: Any) -> Any:
        """With mean 0 and variance 1, scaled and shifted."""
        if not self.in_small_ops:
            return layer(x)
        centred = x - F.mean(x, axis=-1, keepdims=True)
        variance = F.mean(centred * centred, axis=-1, keepdims=True)
        return centred / F.sqrt(variance + EPS) * layer.weight + layer.bias

    def gelu(self, x: Any) -> Any:
        """x times the normal distribution function of x."""
        if not self.in_small_ops:
            return F.gelu(x)
        return x * 0.5 * (1.0 + F.erf(x / 2.0**0.5))

    def forward(self, x: Any) -> Any:
        """The same shape, (batch, length, width)."""
        shape = (x.shape[0], LENGTH, 3, HEADS, DEPTH)
        parts = F.permute_dims(F.reshape(self.project(x), shape), (2, 0, 3, 1, 4))
        y = F.permute_dims(self.attended(parts[0], parts[1], parts[2]), (0, 2, 1, 3))
        x = self.normed(self.norm1, x + self.join(F.reshape(y, (x.shape[0], LENGTH, WIDTH))))
        return self.normed(self.norm2, x + self.narrow(self.gelu(self.widen(x))))


class Ours(tl.nn.Layer):
    """With tensorlike; takes embedded tokens."""

    def __init__(self, in_small_ops: bool = False) -> None:
        self.layers = [OurLayer(in_small_ops) for _ in range(LAYERS)]

    def forward(self, x: Any) -> Any:
        """The last hidden state."""
        for layer in self.layers:
            x = layer(x)
        return x


class TheirLayer(torch.nn.Module):
    """The same with PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.join = torch.nn.Linear(WIDTH, WIDTH)
        self.norm1 = torch.nn.LayerNorm(WIDTH, eps=EPS)
        self.widen = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = torch.nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = torch.nn.LayerNorm(WIDTH, eps=EPS)

    def forward(self, x: Any) -> Any:
        """The same shape."""
        parts = self.project(x).reshape(x.shape[0], LENGTH, 3, HEADS, DEPTH)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)
        x = self.norm1(x + self.join(y.reshape(x.shape[0], LENGTH, WIDTH)))
        return self.norm2(x + self.narrow(torch.nn.functional.gelu(self.widen(x))))


class Theirs(torch.nn.Module):
    """With PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(TheirLayer() for _ in range(LAYERS))

    def forward(self, x: Any) -> Any:
        """The same."""
        for layer in self.layers:
            x = layer(x)
        return x
