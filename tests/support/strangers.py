"""Models as somebody writes them who knows other frameworks: sequences, images, flows, policies."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import nn

from .forms_of_models import Model

WORDS, WIDTH, LIMIT = 7, 6, 8


class Translator(nn.Layer):
    """A recurrent encoder, attention over its states, and a decoder that is taught."""

    def __init__(self) -> None:
        self.source, self.target = (nn.Embedding(WORDS, WIDTH, seed=n) for n in (1, 2))
        self.encoder = nn.GRU(WIDTH, WIDTH, batch_first=True, seed=3)
        self.cell = nn.GRUCell(2 * WIDTH, WIDTH, seed=4)
        self.out = nn.Linear(2 * WIDTH, WORDS, seed=5)

    def encoded(self, source: Any, lengths: Any) -> tuple[Any, Any, Any]:
        """States, which of them count, and the last of each that do."""
        memory, _ = self.encoder(self.source(source))
        mask = F.arange(source.shape[1]) < F.expand_dims(lengths, 1)
        places = F.broadcast_to(F.reshape(lengths - 1, (-1, 1, 1)), (source.shape[0], 1, WIDTH))
        return memory, mask, F.take_along_axis(memory, places, axis=1)[:, 0]

    def stepped(self, x: Any, state: Any, memory: Any, mask: Any) -> tuple[Any, Any]:
        """The next state, and logits."""
        scores = F.matmul(memory, F.expand_dims(state, -1))[..., 0]
        weights = F.softmax(F.where(mask, scores, -1e9), axis=-1)
        context = F.matmul(F.expand_dims(weights, 1), memory)[:, 0]
        state = self.cell(F.concat([x, context], axis=-1), state)
        return state, self.out(F.concat([state, context], axis=-1))

    def forward(self, source: Any, lengths: Any, target: Any) -> Any:
        """The loss, logits of all steps, and the last state."""
        memory, mask, state = self.encoded(source, lengths)
        inputs = F.swapaxes(self.target(target[:, :-1]), 0, 1)
        state, logits = F.scan(lambda s, x: self.stepped(x, s, memory, mask), state, inputs)
        wanted = F.reshape(target[:, 1:], (-1,))
        loss = F.cross_entropy(F.reshape(F.swapaxes(logits, 0, 1), (-1, WORDS)), wanted)
        return loss, logits, state


class Greedy(Translator):
    """The likeliest word at each step, until all sentences have ended."""

    def forward(self, source: Any, lengths: Any) -> Any:
        """The words, and how many steps it took."""
        memory, mask, state = self.encoded(source, lengths)
        token = F.zeros((source.shape[0],), dtype="int64")
        done = F.zeros((source.shape[0],), dtype="bool")
        words = F.zeros((source.shape[0], LIMIT), dtype="int64")
        i = tl.tensor(0)
        while i < LIMIT:
            if F.all(done):
                break
            state, logits = self.stepped(self.target(token), state, memory, mask)
            token = F.where(done, 0, F.argmax(logits, axis=-1))
            words = F.where(F.arange(LIMIT) == i, F.expand_dims(token, 1), words)
            done = done | (token == 3)
            i += 1
        return words, i


class Denoiser(nn.Layer):
    """A small U-Net with embedded times, taught to tell noise."""

    def __init__(self) -> None:
        self.time = nn.Linear(8, 4, seed=1)
        self.first = nn.Conv2d(2, 4, 3, padding=1, seed=2)
        self.norm = nn.GroupNorm(2, 4)
        self.down = nn.Conv2d(4, 4, 3, stride=2, padding=1, seed=3)
        self.last = nn.Conv2d(8, 2, 3, padding=1, seed=4)

    def forward(self, x: Any, times: Any, noise: Any) -> Any:
        """The loss, and what it takes for noise."""
        rates = F.exp(-2.3 * F.arange(4, dtype="float32"))
        angles = F.expand_dims(F.astype(times, "float32"), 1) * rates
        embedded = self.time(F.concat([F.cos(angles), F.sin(angles)], axis=-1))
        share = F.reshape(F.astype(times + 1, "float32") / 6, (-1, 1, 1, 1))
        noisy = F.sqrt(1 - share) * x + F.sqrt(share) * noise
        h = F.silu(self.norm(self.first(noisy)) + F.reshape(embedded, (x.shape[0], 4, 1, 1)))
        deep = F.repeat(F.repeat(F.silu(self.down(h)), 2, axis=2), 2, axis=3)
        found = self.last(F.concat([h, deep], axis=1))
        return F.mse_loss(found, noise), found


class AutoEncoder(nn.Layer):
    """Transposed convolutions, whose result is brought to the size of the image."""

    def __init__(self) -> None:
        self.down = nn.Conv2d(1, 4, 3, stride=2, padding=1, seed=1)
        self.up = nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1, seed=2)

    def forward(self, x: Any) -> Any:
        """The loss, and the image."""
        y = F.interpolate(self.up(F.relu(self.down(x))), size=x.shape[2:], mode="bilinear")
        return F.mse_loss(y, x), y


class Critic(nn.Layer):
    """A Wasserstein critic, whose slope is to be 1."""

    def __init__(self) -> None:
        self.first, self.second = nn.Linear(4, 8, seed=1), nn.Linear(8, 1, seed=2)

    def judged(self, x: Any) -> Any:
        """A number for each row."""
        return self.second(F.tanh(self.first(x)))

    def forward(self, real: Any, fake: Any, share: Any) -> Any:
        """The loss, and the lengths of slopes."""
        slope = tl.grad(lambda x: F.sum(self.judged(x)))(share * real + (1 - share) * fake)
        length = F.sqrt(F.sum(slope**2, axis=1) + 1e-12)
        apart = F.mean(self.judged(fake)) - F.mean(self.judged(real))
        return apart + 10 * F.mean((length - 1) ** 2), length


class Policy(nn.Layer):
    """Advantages by a scan from the end, through which no gradient goes."""

    def __init__(self) -> None:
        self.body = nn.Linear(4, 8, seed=1)
        self.choice, self.value = nn.Linear(8, 3, seed=2), nn.Linear(8, 1, seed=3)

    def forward(self, states: Any, actions: Any, rewards: Any) -> Any:
        """The loss, and the advantages."""
        h = F.tanh(self.body(states))
        logs = F.log_softmax(self.choice(h), axis=-1)
        chosen = F.take_along_axis(logs, F.expand_dims(actions, -1), axis=-1)[..., 0]
        value = self.value(h)[..., 0]

        def back(carry: Any, row: Any) -> Any:
            reward, now, later = row
            carry = reward + 0.9 * later - now + 0.8 * carry
            return carry.detach(), carry

        later = F.concat([value[1:], F.zeros_like(value[:1])], axis=0)
        start = F.zeros_like(value[0])
        _, found = F.scan(back, start, (rewards, value, later), reverse=True)
        loss = F.mean(found**2) - F.mean(chosen * found.detach())
        return loss, found


class Adaptive(nn.Layer):
    """A differential equation, in steps that are halved where two of them differ from one."""

    def __init__(self) -> None:
        self.first, self.second = nn.Linear(3, 8, seed=1), nn.Linear(8, 3, seed=2)

    def step(self, x: Any, h: Any) -> Any:
        """By the midpoint."""
        middle = x + h / 2 * self.second(F.tanh(self.first(x)))
        return x + h * self.second(F.tanh(self.first(middle)))

    def forward(self, x: Any, target: Any) -> Any:
        """The loss, the end, and its time."""
        t, h = tl.tensor(0.0), tl.tensor(0.5)
        for _ in range(4):
            if t >= 1.0:
                break
            h = F.minimum(h, 1.0 - t)
            whole, halves = self.step(x, h), self.step(self.step(x, h / 2), h / 2)
            if F.max(F.abs(whole - halves)) < 0.1:
                x, t, h = halves, t + h, h * 1.5
            else:
                h = h * 0.5
        return F.mse_loss(x, target), x, t


def _lengths(rng: np.random.Generator, shape: Any, sizes: Any) -> Any:
    return rng.integers(1, sizes["t"] + 1, shape)


def _shares(rng: np.random.Generator, shape: Any, sizes: Any) -> Any:
    return rng.random(shape).astype(np.float32)


_SENTENCES = {"source": (("n", "t"), WORDS), "lengths": (("n",), _lengths)}
_IMAGES = ("n", 2, "h", "w")
_F32 = "float32"
STRANGERS: dict[str, Model] = {
    "translator": Model(
        Translator, {**_SENTENCES, "target": (("n", "s"), WORDS)},
        ({"n": 3, "t": 5, "s": 4}, {"n": 2, "t": 7, "s": 6}, {"n": 1, "t": 1, "s": 2}),
    ),
    "greedy": Model(
        Greedy, _SENTENCES, ({"n": 3, "t": 5}, {"n": 2, "t": 7}, {"n": 1, "t": 1}),
        has_gradient=False, decides=True,
    ),
    "denoiser": Model(
        Denoiser, {"x": (_IMAGES, _F32), "times": (("n",), 5), "noise": (_IMAGES, _F32)},
        ({"n": 3, "h": 4, "w": 6}, {"n": 2, "h": 8, "w": 4}, {"n": 1, "h": 2, "w": 2}),
        # ONNX has no numbers of places in images of any size, which gradients of repeats take.
        without=("by_onnxruntime", "from_onnx", "onnx_by_tl_run"),
    ),
    "autoencoder": Model(
        AutoEncoder, {"x": (("n", 1, "h", "w"), _F32)},
        ({"n": 3, "h": 7, "w": 9}, {"n": 2, "h": 8, "w": 5}, {"n": 1, "h": 4, "w": 4}),
        without=("by_onnxruntime", "from_onnx", "onnx_by_tl_run"),
    ),
    "critic": Model(
        Critic, {"real": (("n", 4), _F32), "fake": (("n", 4), _F32), "share": (("n", 1), _shares)},
        ({"n": 3}, {"n": 5}, {"n": 1}),
    ),
    "policy": Model(
        Policy,
        {
            "states": (("t", "n", 4), _F32), "actions": (("t", "n"), 3),
            "rewards": (("t", "n"), _F32),
        },
        ({"t": 4, "n": 3}, {"t": 6, "n": 2}, {"t": 1, "n": 1}),
    ),
    "adaptive": Model(
        Adaptive, {"x": (("n", 3), _F32), "target": (("n", 3), _F32)},
        ({"n": 4}, {"n": 6}, {"n": 1}), decides=True,
    ),
}  # fmt: skip
