"""Random models: any layers of `nn` that fit one after the other, and any loss at their end."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import nn

BATCH, CHANNELS, CLASSES = 3, 4, 4

Shape = tuple[int, ...]


class Part(NamedTuple):
    """A layer, and how it is called."""

    layer: Any
    call: Callable[[Any, Any], Any] = lambda layer, x: layer(x)


class Kind(NamedTuple):
    """Layers of a name: for how many spatial dimensions, and how one is made for a shape."""

    spatial: tuple[int, ...]
    make: Callable[[Shape], Part]
    fits: Callable[[Shape], bool] = lambda shape: True
    is_random: bool = False


def _plain(name: str, *args: Any, **kwargs: Any) -> Callable[[Shape], Part]:
    return lambda shape: Part(getattr(nn, name)(*args, **kwargs))


def _channels(name: str, *args: Any, **kwargs: Any) -> Callable[[Shape], Part]:
    return lambda shape: Part(getattr(nn, name)(shape[1], *args, **kwargs))


def _states_first(layer: Any, x: Any) -> Any:
    """A recurrent layer over the positions of (N, C, L)."""
    y, _ = layer(F.permute_dims(x, axes=(2, 0, 1)))
    return F.permute_dims(y, axes=(1, 2, 0))


def _unpooled(name: str, n: int) -> Callable[[Shape], Part]:
    def call(layer: Any, x: Any) -> Any:
        y, places = getattr(nn, f"MaxPool{n}d")(2, return_indices=True)(x)
        return layer(y, places, output_size=tuple(x.shape[2:]))

    return lambda shape: Part(getattr(nn, name)(2), call)


def _tokens(layer: Any, x: Any) -> Any:
    return x + layer(tl.tensor(np.arange(x.shape[0]) % 5))


def _bags(layer: Any, x: Any) -> Any:
    return x + layer(tl.tensor(np.arange(2 * x.shape[0]).reshape(-1, 2) % 5))


def _attending(layer: Any, x: Any) -> Any:
    return F.permute_dims(layer(F.permute_dims(x, axes=(0, 2, 1))), axes=(0, 2, 1))


def _folded(layer: Any, x: Any) -> Any:
    return layer(nn.Unfold(2)(x))


def _wide(size: int) -> Callable[[Shape], bool]:
    return lambda shape: all(dim >= size for dim in shape[2:])


ANY = (0, 1, 2, 3)
ACTIVATIONS = """
CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish ReLU
ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink
"""
KINDS: dict[str, Kind] = {
    **{name: Kind(ANY, _plain(name)) for name in ACTIVATIONS.split()},
    **{name: Kind(ANY, _plain(name, 1)) for name in ("LogSoftmax", "Softmax", "Softmin")},
    "PReLU": Kind(ANY, _channels("PReLU")),
    "Threshold": Kind(ANY, _plain("Threshold", 0.1, 0.2)),
    "GLU": Kind(ANY, _plain("GLU", 1), lambda shape: shape[1] % 2 == 0),
    "RReLU": Kind(ANY, _plain("RReLU"), is_random=True),
    "Dropout": Kind(ANY, _plain("Dropout", 0.3), is_random=True),
    "AlphaDropout": Kind(ANY, _plain("AlphaDropout", 0.3), is_random=True),
    "FeatureAlphaDropout": Kind((1, 2, 3), _plain("FeatureAlphaDropout", 0.3), is_random=True),
    "GroupNorm": Kind(ANY, lambda shape: Part(nn.GroupNorm(1, shape[1]))),
    "LayerNorm": Kind(ANY, lambda shape: Part(nn.LayerNorm(shape[1:]))),
    "RMSNorm": Kind(ANY, lambda shape: Part(nn.RMSNorm(shape[1:]))),
    "LocalResponseNorm": Kind((1, 2, 3), _plain("LocalResponseNorm", 2)),
    "Flatten": Kind((1, 2, 3), _plain("Flatten")),
    "ChannelShuffle": Kind((2,), _plain("ChannelShuffle", 2), lambda shape: shape[1] % 2 == 0),
    "Linear": Kind((0,), _channels("Linear", CHANNELS)),
    "Sequential": Kind((0,), lambda s: Part(nn.Sequential(nn.Linear(s[1], CHANNELS), nn.Tanh()))),
    "Bilinear": Kind(
        (0,),
        lambda s: Part(nn.Bilinear(s[1], s[1], CHANNELS), lambda layer, x: layer(x, F.tanh(x))),
    ),
    "Embedding": Kind((0,), lambda shape: Part(nn.Embedding(5, shape[1]), _tokens)),
    "EmbeddingBag": Kind((0,), lambda shape: Part(nn.EmbeddingBag(5, shape[1]), _bags)),
    "RNNCell": Kind((0,), _channels("RNNCell", CHANNELS)),
    "GRUCell": Kind((0,), _channels("GRUCell", CHANNELS)),
    "LSTMCell": Kind(
        (0,), lambda shape: Part(nn.LSTMCell(shape[1], CHANNELS), lambda layer, x: layer(x)[0])
    ),
    "RNN": Kind((1,), lambda shape: Part(nn.RNN(shape[1], CHANNELS), _states_first)),
    "GRU": Kind((1,), lambda shape: Part(nn.GRU(shape[1], CHANNELS), _states_first)),
    "LSTM": Kind((1,), lambda shape: Part(nn.LSTM(shape[1], 2, bidirectional=True), _states_first)),
    "MultiHeadAttention": Kind(
        (1,),
        lambda shape: Part(nn.MultiHeadAttention(shape[1], 2), _attending),
        lambda shape: shape[1] % 2 == 0,
    ),
    "PixelShuffle": Kind((2,), _plain("PixelShuffle", 2), lambda shape: shape[1] % 4 == 0),
    "PixelUnshuffle": Kind(
        (2,), _plain("PixelUnshuffle", 2), lambda shape: all(dim % 2 == 0 for dim in shape[2:])
    ),
    "Unfold": Kind((2,), _plain("Unfold", 2), _wide(2)),
    "Fold": Kind((2,), lambda shape: Part(nn.Fold(shape[2:], 2), _folded), _wide(2)),
    "Upsample": Kind((1, 2, 3), _plain("Upsample", scale_factor=2), lambda s: max(s[2:]) < 5),
    "FractionalMaxPool2d": Kind((2,), _plain("FractionalMaxPool2d", 2, 2), _wide(4), True),
    "FractionalMaxPool3d": Kind((3,), _plain("FractionalMaxPool3d", 2, 2), _wide(4), True),
}
for _n in (1, 2, 3):
    _d = f"{_n}d"
    KINDS |= {
        f"Dropout{_d}": Kind((_n,), _plain(f"Dropout{_d}", 0.3), is_random=True),
        f"BatchNorm{_d}": Kind((0, 1) if _n == 1 else (_n,), _channels(f"BatchNorm{_d}")),
        f"InstanceNorm{_d}": Kind(
            (_n,), _channels(f"InstanceNorm{_d}", track_running_stats=True), _wide(2)
        ),
        f"Conv{_d}": Kind((_n,), _channels(f"Conv{_d}", CHANNELS, 2, padding=1)),
        f"ConvTranspose{_d}": Kind(
            (_n,), _channels(f"ConvTranspose{_d}", CHANNELS, 2, padding=1), _wide(3)
        ),
        f"MaxUnpool{_d}": Kind((_n,), _unpooled(f"MaxUnpool{_d}", _n), _wide(2)),
        **{
            f"{p}Pool{_d}": Kind((_n,), _plain(f"{p}Pool{_d}", 2), _wide(2)) for p in ("Avg", "Max")
        },
        **{
            f"Adaptive{p}Pool{_d}": Kind((_n,), _plain(f"Adaptive{p}Pool{_d}", 2), _wide(2))
            for p in ("Avg", "Max")
        },
        f"LPPool{_d}": Kind((_n,), _plain(f"LPPool{_d}", 2.0, 2), _wide(2)),
        **{
            f"{p}Pad{_d}": Kind((_n,), _plain(f"{p}Pad{_d}", 1), _wide(2))
            for p in ("Circular", "Reflection", "Replication", "Zero")
        },
        f"ConstantPad{_d}": Kind((_n,), _plain(f"ConstantPad{_d}", 1, 0.5)),
    }


def _targets(rng: np.random.Generator, name: str) -> Any:
    return {
        "classes": rng.integers(0, CLASSES, BATCH),
        "numbers": rng.normal(size=(BATCH, CLASSES)),
        "shares": rng.dirichlet(np.ones(CLASSES), BATCH),
        "signs": np.where(rng.random((BATCH, CLASSES)) < 0.5, -1.0, 1.0),
        "row signs": np.array([1.0, -1.0, 1.0]),
        "counts": rng.integers(0, 5, (BATCH, CLASSES)).astype(float),
        "labels": np.array([[0, 2, -1, -1], [1, -1, -1, -1], [3, 0, 1, -1]]),
    }[name]


LOSSES: dict[str, tuple[str, Callable[[Any, Any, Any], Any]]] = {
    "CrossEntropyLoss": ("classes", lambda loss, y, t: loss(y, t)),
    "NLLLoss": ("classes", lambda loss, y, t: loss(F.log_softmax(y), t)),
    "MultiMarginLoss": ("classes", lambda loss, y, t: loss(y, t)),
    "MSELoss": ("numbers", lambda loss, y, t: loss(y, t)),
    "L1Loss": ("numbers", lambda loss, y, t: loss(y, t)),
    "SmoothL1Loss": ("numbers", lambda loss, y, t: loss(y, t)),
    "HuberLoss": ("numbers", lambda loss, y, t: loss(y, t)),
    "GaussianNLLLoss": ("numbers", lambda loss, y, t: loss(y, t, F.exp(F.tanh(y)))),
    "TripletMarginLoss": ("numbers", lambda loss, y, t: loss(y, t, y * 0.5 + 1)),
    "BCELoss": ("shares", lambda loss, y, t: loss(F.sigmoid(y * 0.1), t)),
    "BCEWithLogitsLoss": ("shares", lambda loss, y, t: loss(y, t)),
    "KLDivLoss": ("shares", lambda loss, y, t: loss(F.log_softmax(y), t)),
    "MultiLabelSoftMarginLoss": ("shares", lambda loss, y, t: loss(y, t)),
    "PoissonNLLLoss": ("counts", lambda loss, y, t: loss(F.tanh(y), t)),
    "HingeEmbeddingLoss": ("signs", lambda loss, y, t: loss(y, t)),
    "SoftMarginLoss": ("signs", lambda loss, y, t: loss(y, t)),
    "MarginRankingLoss": ("signs", lambda loss, y, t: loss(y, y[:, ::-1], t)),
    "CosineEmbeddingLoss": ("row signs", lambda loss, y, t: loss(y, F.tanh(y[:, ::-1]) + 2, t)),
    "MultiLabelMarginLoss": ("labels", lambda loss, y, t: loss(y, t)),
}
# Layers that are no part of a chain, and why.
LEFT_OUT = {
    "Layer": "the base of all",
    "CTCLoss": "its targets are sequences; tests/functional has it",
}


class Network(nn.Layer):
    """Layers one after the other, a linear map, and a loss."""

    def __init__(self, parts: list[Part], width: int, loss: str, target: Any) -> None:
        self.calls = [part.call for part in parts]
        self.layers = [part.layer for part in parts]
        self.head = nn.Linear(width, CLASSES)
        self.loss = getattr(nn, loss)()
        self.of_loss = LOSSES[loss][1]
        self.target = tl.tensor(target)

    def forward(self, x: Any) -> Any:
        """The loss."""
        for call, layer in zip(self.calls, self.layers, strict=True):
            x = call(layer, x)
        y = self.head(F.reshape(x, shape=(x.shape[0], -1)))
        return self.of_loss(self.loss, y, self.target)


class RandomModel:
    """A model that a seed stands for; `make` makes it anew, with the same values."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.seed = seed
        spatial = draw.choice(ANY)
        size = {0: (), 1: (5,), 2: (4, 4), 3: draw.choice([(3, 3, 3), (4, 4, 4)])}[spatial]
        self.shape: Shape = (BATCH, CHANNELS, *size)
        self.names: list[str] = []
        self.loss = draw.choice(list(LOSSES))
        shape = self.shape
        while len(self.names) < draw.randint(1, 5):
            name, found = self._next(draw, shape)
            self.names.append(name)
            shape = found
        self.width = int(np.prod(shape[1:]))
        self.is_random = any(KINDS[name].is_random for name in self.names)

    def _next(self, draw: random.Random, shape: Shape) -> tuple[str, Shape]:
        """A layer that takes the shape, and the shape that it gives, which must not grow much."""
        fitting = [
            name
            for name, kind in KINDS.items()
            if len(shape) - 2 in kind.spatial and kind.fits(shape)
        ]
        while True:
            name = draw.choice(fitting)
            layer, call = KINDS[name].make(shape)
            found = tuple(call(layer, tl.zeros(shape)).shape)
            if np.prod(found) <= 1600 and min(found) > 0:
                return name, found

    def make(self) -> tuple[Network, Any]:
        """The network, of float64 numbers, and its input."""
        rng = np.random.default_rng(self.seed)
        shape, parts = self.shape, []
        for name in self.names:
            parts.append(KINDS[name].make(shape))
            shape = tuple(parts[-1].call(parts[-1].layer, tl.zeros(shape)).shape)
        network = Network(parts, self.width, self.loss, _targets(rng, LOSSES[self.loss][0]))
        for _, parameter in network.named_parameters():
            value = rng.normal(0, 0.5, parameter.shape) + (len(parameter.shape) == 1)
            parameter._reset(tl.Parameter(value).__wrapped__)
        for name, buffer in network.named_buffers():
            buffer._reset(tl.tensor(np.full(buffer.shape, float("var" in name))).__wrapped__)
        return network, rng.normal(0, 1, self.shape)

    def __str__(self) -> str:
        """The program, for failures."""
        layers = " -> ".join([*self.names, "Linear", self.loss])
        return f"seed {self.seed}: {self.shape} -> {layers}"
