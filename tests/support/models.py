"""The models that tests run tensor-likes on: small ones of five kinds, with inputs and classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tensorlike as tl
import tensorlike.functional as F

BATCH = 4
CLASSES = 5


class MLP(tl.nn.Layer):
    """Two layers and an activation between them."""

    def __init__(self) -> None:
        self.first, self.second = tl.nn.Linear(6, 8, seed=1), tl.nn.Linear(8, CLASSES, seed=2)

    def forward(self, x: Any) -> Any:
        """Logits of rows."""
        return self.second(F.relu(self.first(x)))


class CNN(tl.nn.Layer):
    """Convolutions, pooling and a linear map."""

    def __init__(self) -> None:
        self.first = tl.nn.Conv2d(1, 4, 3, padding=1, seed=1)
        self.second = tl.nn.Conv2d(4, 6, 3, padding=1, seed=2)
        self.pool = tl.nn.MaxPool2d(2)
        self.last = tl.nn.Linear(24, CLASSES, seed=3)

    def forward(self, x: Any) -> Any:
        """Logits of images."""
        x = self.pool(F.relu(self.first(x)))
        x = self.pool(F.relu(self.second(x)))
        return self.last(F.reshape(x, shape=(-1, 24)))


class Residual(tl.nn.Layer):
    """Convolutions with norms of batches, a block of which is added to what came in."""

    def __init__(self) -> None:
        self.first = tl.nn.Conv2d(1, 4, 3, padding=1, bias=False, seed=1)
        self.norm1 = tl.nn.BatchNorm2d(4)
        self.second = tl.nn.Conv2d(4, 4, 3, padding=1, bias=False, seed=2)
        self.norm2 = tl.nn.BatchNorm2d(4)
        self.last = tl.nn.Linear(4, CLASSES, seed=3)

    def forward(self, x: Any) -> Any:
        """Logits of images."""
        x = F.relu(self.norm1(self.first(x)))
        x = F.relu(x + self.norm2(self.second(x)))
        return self.last(F.mean(x, axis=(2, 3)))


class LSTM(tl.nn.Layer):
    """Two recurrent layers, and a linear map of the last state."""

    def __init__(self) -> None:
        self.recurrent = tl.nn.LSTM(3, 6, num_layers=2, seed=1)
        self.last = tl.nn.Linear(6, CLASSES, seed=2)

    def forward(self, x: Any) -> Any:
        """Logits of sequences, whose steps come first."""
        y, _ = self.recurrent(x)
        return self.last(y[-1])


class Block(tl.nn.Layer):
    """Attention and a perceptron, each added to what came in."""

    def __init__(self, width: int, heads: int, seed: int) -> None:
        self.heads = heads
        self.norm1, self.norm2 = tl.nn.LayerNorm(width), tl.nn.LayerNorm(width)
        self.project = tl.nn.Linear(width, 3 * width, seed=seed)
        self.join = tl.nn.Linear(width, width, seed=seed + 1)
        self.widen = tl.nn.Linear(width, 2 * width, seed=seed + 2)
        self.narrow = tl.nn.Linear(2 * width, width, seed=seed + 3)

    def forward(self, x: Any) -> Any:
        """The same shape: texts, places, width."""
        texts, places, width = x.shape
        parts = F.reshape(self.project(self.norm1(x)), shape=(texts, places, 3, self.heads, -1))
        parts = F.permute_dims(parts, axes=(2, 0, 3, 1, 4))
        y = F.attention(parts[0], parts[1], parts[2], is_causal=True)
        y = F.reshape(F.permute_dims(y, axes=(0, 2, 1, 3)), shape=(texts, places, width))
        x = x + self.join(y)
        return x + self.narrow(F.gelu(self.widen(self.norm2(x))))


class GPT(tl.nn.Layer):
    """A GPT in small."""

    def __init__(self, vocabulary: int = CLASSES, length: int = 6, width: int = 8) -> None:
        self.tokens = tl.nn.Embedding(vocabulary, width, seed=1)
        self.places = tl.nn.Embedding(length, width, seed=2)
        self.blocks = [Block(width, 2, seed) for seed in (10, 20)]
        self.norm = tl.nn.LayerNorm(width)
        self.head = tl.nn.Linear(width, vocabulary, bias=False, seed=3)
        self.order = tl.tensor(np.arange(length))

    def forward(self, tokens: Any) -> Any:
        """Logits of the next tokens, a row for each place of each text."""
        x = self.tokens(tokens) + self.places(self.order)
        for block in self.blocks:
            x = block(x)
        return F.reshape(self.head(self.norm(x)), shape=(-1, CLASSES))


class Model(NamedTuple):
    """A network, a batch for it, and what it should say."""

    network: tl.nn.Layer
    inputs: Any
    classes: Any

    def loss(self, wrap: Callable[[Any], Any] = tl.tensor) -> Any:
        """Its cross entropy, the inputs as `wrap` makes tensors of them."""
        return F.cross_entropy(self.network(wrap(self.inputs)), tl.tensor(self.classes))

    def gradients(self, wrap: Callable[[Any], Any] = tl.tensor) -> tuple[Any, list[Any]]:
        """The loss, and its gradients by all parameters, as arrays."""
        for parameter in self.network.parameters():
            parameter.grad = None
        loss = self.loss(wrap)
        loss.backward()
        found = [np.array(p.grad.detach()) for p in self.network.parameters()]
        return np.array(loss.detach()), found

    def step(self, wrap: Callable[[Any], Any] = tl.tensor) -> tuple[Any, list[Any]]:
        """The loss, then parameters and buffers after a whole step of Adam, as tensors."""
        optimizer = tl.optim.Adam(self.network.parameters(), lr=0.01, eps=1e-3)
        optimizer.zero_grad()
        loss = self.loss(wrap)
        loss.backward()
        for parameter in self.network.parameters():
            parameter.grad = F.clip(parameter.grad, -0.5, 0.5)
        optimizer.step()
        state = [value for _, value in self.network.named_buffers()]
        return loss.detach(), [x.detach() for x in (*self.network.parameters(), *state)]

    def stepped(self, wrap: Callable[[Any], Any] = tl.tensor) -> tuple[Any, list[Any]]:
        """The same, as arrays."""
        loss, found = self.step(wrap)
        return np.array(loss), [np.array(x) for x in found]


def models() -> dict[str, Model]:
    """Each kind, freshly made."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    def classes(count: int = BATCH) -> Any:
        return rng.integers(0, CLASSES, count)

    texts = rng.integers(0, CLASSES, (BATCH, 6))
    return {
        "mlp": Model(MLP(), normal(BATCH, 6), classes()),
        "cnn": Model(CNN(), normal(BATCH, 1, 8, 8), classes()),
        "residual": Model(Residual(), normal(BATCH, 1, 4, 4), classes()),
        "lstm": Model(LSTM(), normal(7, BATCH, 3), classes()),
        "gpt": Model(GPT(), texts, classes(6 * BATCH)),
    }
