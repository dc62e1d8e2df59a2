"""Training loops as somebody writes them who never saw the transpilers: one text for both modes.

Each is made and called inside `program_guard`, once, or at once, in each step. A call computes the
losses and moves the parameters.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import nn, static

WORDS = 11
Shapes: TypeAlias = dict[str, tuple[tuple[int, ...], str]]  # without the batch, and dtypes


class Loop:
    """What is made once, and called in each step.

    Attributes:
        draws: whether it draws random numbers.
    """

    draws = False
    shapes: ClassVar[Shapes]

    def state(self) -> dict[str, Any]:
        """The tensors that are learnt, or move, by names that both modes have."""
        return {
            f"{key}.{name}": value
            for key, layer in vars(self).items()
            if isinstance(layer, nn.Layer)
            for name, value in [*layer.named_parameters(), *layer.named_buffers()]
        }


class Adversaries(Loop):
    """Two players that share the table of classes; each has an optimiser of its own."""

    shapes: ClassVar[Shapes] = {
        "noise": ((4,), "float32"),
        "real": ((6,), "float32"),
        "kind": ((), "int64"),
    }

    def __init__(self) -> None:
        self.table = nn.Embedding(3, 4, seed=1)
        self.player = nn.Sequential(nn.Linear(8, 10, seed=2), F.relu, nn.Linear(10, 6, seed=3))
        self.judge = nn.Sequential(nn.Linear(10, 9, seed=4), F.tanh, nn.Linear(9, 1, seed=5))
        shared = list(self.table.parameters())
        self.first = tl.optim.Adam([*self.judge.parameters(), *shared], lr=0.01, eps=1e-3)
        self.second = tl.optim.SGD([*self.player.parameters(), *shared], lr=0.1, momentum=0.5)

    def __call__(self, noise: Any, real: Any, kind: Any) -> list[Any]:
        row = self.table(kind)
        made = self.player(F.concat([noise, row], axis=-1))
        verdicts = [self.judge(F.concat([x, row], axis=-1)) for x in (real, made.detach(), made)]
        judged = F.mean(F.softplus(-verdicts[0])) + F.mean(F.softplus(verdicts[1]))
        fooled = F.mean(F.softplus(-verdicts[2]))
        self.first.minimize(judged, retain_graph=True)
        self.second.minimize(fooled)
        return [judged, fooled]


class Variational(Loop):
    """A variational autoencoder, whose noise is drawn in each run."""

    draws = True
    shapes: ClassVar[Shapes] = {"x": ((12,), "float32")}

    def __init__(self) -> None:
        self.encoder, self.decoder = nn.Linear(12, 8, seed=1), nn.Linear(4, 12, seed=2)
        parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        self.optimizer = tl.optim.Adam(parameters, lr=0.02, eps=1e-3)

    def __call__(self, x: Any) -> list[Any]:
        both = self.encoder(x)
        mean, spread = both[:, :4], both[:, 4:]
        code = mean + F.exp(spread / 2) * F.dropout(F.ones_like(mean), p=0.3)
        again = F.mean((self.decoder(F.tanh(code)) - x) ** 2)
        far = -0.5 * F.mean(1 + spread - mean**2 - F.exp(spread))
        loss = again + 0.1 * far
        self.optimizer.minimize(loss)
        return [loss, again, far]


class Scanned(Loop):
    """A recurrent cell written by hand, under `scan`."""

    shapes: ClassVar[Shapes] = {"x": ((5, 3), "float32"), "y": ((), "int64")}

    def __init__(self) -> None:
        self.gates, self.out = nn.Linear(3 + 6, 24, seed=1), nn.Linear(6, 4, seed=2)
        parameters = [*self.gates.parameters(), *self.out.parameters()]
        self.optimizer = tl.optim.Adam(parameters, lr=0.02, eps=1e-3)

    def __call__(self, x: Any, y: Any) -> list[Any]:
        def step(carry: Any, row: Any) -> Any:
            h, c = carry
            i, f, g, o = F.split(self.gates(F.concat([row, h], axis=-1)), [6] * 4, axis=-1)
            c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
            h = F.sigmoid(o) * F.tanh(c)
            return (h, c), h

        rows = F.permute_dims(x, (1, 0, 2))
        zeros = F.matmul(rows[0], F.zeros((3, 6)))
        (last, _), states = F.scan(step, (zeros, zeros), rows)
        loss = F.cross_entropy(self.out(last), y) + 0.01 * F.mean(states**2)
        self.optimizer.minimize(loss)
        return [loss]


class Skipping(Loop):
    """A small U-Net, with norms of groups and a skip."""

    shapes: ClassVar[Shapes] = {"image": ((2, 8, 8), "float32"), "mask": ((1, 8, 8), "float32")}

    def __init__(self) -> None:
        self.down = nn.Conv2d(2, 4, 3, padding=1, seed=1)
        self.deep = nn.Conv2d(4, 6, 3, padding=1, seed=2)
        self.up = nn.ConvTranspose2d(6, 4, 2, stride=2, seed=3)
        self.last = nn.Conv2d(8, 1, 1, seed=4)
        self.norm = nn.GroupNorm(2, 6)
        layers = (self.down, self.deep, self.up, self.last, self.norm)
        parameters = [p for layer in layers for p in layer.parameters()]
        self.optimizer = tl.optim.SGD(parameters, lr=0.1, momentum=0.9)

    def __call__(self, image: Any, mask: Any) -> list[Any]:
        first = F.relu(self.down(image))
        inner = F.relu(self.norm(self.deep(F.max_pool2d(first, 2))))
        logits = self.last(F.concat([first, self.up(inner)], axis=1))
        chances = F.sigmoid(logits)
        dice = 1 - 2 * F.sum(chances * mask) / (F.sum(chances) + F.sum(mask))
        loss = F.mean(F.softplus(logits) - logits * mask) + 0.2 * F.mean((chances - mask) ** 2)
        self.optimizer.minimize(loss)
        return [loss, dice]


class Tied(Loop):
    """A transformer whose logits are products with its table of words; weights decay."""

    shapes: ClassVar[Shapes] = {"words": ((6,), "int64"), "next": ((6,), "int64")}

    def __init__(self) -> None:
        self.table = nn.Embedding(WORDS, 8, seed=1)
        self.qkv, self.out = nn.Linear(8, 24, seed=2), nn.Linear(8, 8, seed=3)
        self.norm = nn.LayerNorm(8)
        layers = (self.table, self.qkv, self.out, self.norm)
        parameters = [p for layer in layers for p in layer.parameters()]
        self.optimizer = tl.optim.Adam(parameters, lr=0.01, eps=1e-3, decay=0.01)

    def __call__(self, words: Any, next: Any) -> list[Any]:
        x = self.table(words)
        q, k, v = F.split(self.qkv(self.norm(x)), [8] * 3, axis=-1)
        scores = F.matmul(q, F.permute_dims(k, (0, 2, 1))) / 8**0.5
        scores = F.where(F.tril(F.ones((6, 6))) > 0, scores, -1e9)
        x = x + self.out(F.matmul(F.softmax(scores, axis=-1), v))
        logits = F.matmul(x, self.table.weight.T)
        loss = F.cross_entropy(F.reshape(logits, (-1, WORDS)), F.reshape(next, -1))
        self.optimizer.minimize(loss)
        return [loss]


class Normed(Loop):
    """Convolutions, norms of batches and dropout."""

    draws = True
    shapes: ClassVar[Shapes] = {"image": ((1, 6, 6), "float32"), "y": ((), "int64")}

    def __init__(self) -> None:
        self.first = nn.Conv2d(1, 4, 3, padding=1, seed=1)
        self.norm = nn.BatchNorm2d(4)
        self.last = nn.Linear(4 * 9, 5, seed=2)
        layers = (self.first, self.norm, self.last)
        parameters = [p for layer in layers for p in layer.parameters()]
        self.optimizer = tl.optim.Adam(parameters, lr=0.02, eps=1e-3)

    def __call__(self, image: Any, y: Any) -> list[Any]:
        x = F.max_pool2d(F.relu(self.norm(self.first(image))), 2)
        x = F.dropout(F.reshape(x, (-1, 36)), p=0.25)
        loss = F.cross_entropy(self.last(x), y)
        self.optimizer.minimize(loss)
        return [loss]


class Branching(Loop):
    """A branch that the batch decides, and a loop that ends when something is small."""

    shapes: ClassVar[Shapes] = {"x": ((5,), "float32"), "y": ((5,), "float32")}

    def __init__(self) -> None:
        self.first, self.again = nn.Linear(5, 5, seed=1), nn.Linear(5, 5, seed=2)
        parameters = [*self.first.parameters(), *self.again.parameters()]
        self.optimizer = tl.optim.SGD(parameters, lr=0.1, momentum=0.9)

    def __call__(self, x: Any, y: Any) -> list[Any]:
        h = F.cond(
            F.mean(x) > 0, lambda v: F.tanh(self.first(v)), lambda v: F.sigmoid(self.first(v)), x
        )
        _, h = F.while_loop(
            lambda carry: F.logical_and(carry[0] < 3, F.mean(carry[1] ** 2) > 1e-3),
            lambda carry: (carry[0] + 1, carry[1] + 0.5 * F.tanh(self.again(carry[1]))),
            (F.zeros((), dtype=tl.int64), h),
            max_steps=3,
        )
        loss = F.mean((h - y) ** 2)
        self.optimizer.minimize(loss)
        return [loss]


class Tasks(Loop):
    """Two losses over a shared trunk, each with an optimiser, of which both move the trunk."""

    shapes: ClassVar[Shapes] = {"x": ((6,), "float32"), "y": ((), "int64"), "z": ((2,), "float32")}

    def __init__(self) -> None:
        self.trunk = nn.Linear(6, 7, seed=1)
        self.classes, self.places = nn.Linear(7, 4, seed=2), nn.Linear(7, 2, seed=3)
        trunk = list(self.trunk.parameters())
        self.first = tl.optim.SGD([*trunk, *self.classes.parameters()], lr=0.1)
        self.second = tl.optim.Adam([*trunk, *self.places.parameters()], lr=0.02, eps=1e-3)

    def __call__(self, x: Any, y: Any, z: Any) -> list[Any]:
        h = F.tanh(self.trunk(x))
        first = F.cross_entropy(self.classes(h), y)
        second = F.mean((self.places(h) - z) ** 2)
        self.first.minimize(first, retain_graph=True)
        self.second.minimize(second)
        return [first, second]


class Scheduled(Loop):
    """A rate that follows from a count, gradients clipped by their norm, and an average of weights.

    Attributes:
        late: whether the count moves behind the step, or before all else.
    """

    shapes: ClassVar[Shapes] = {"x": ((4,), "float32"), "y": ((3,), "float32")}
    late = False

    def __init__(self) -> None:
        self.net = nn.Sequential(nn.Linear(4, 6, seed=1), F.gelu, nn.Linear(6, 3, seed=2))
        self.count = nn.Buffer(F.zeros(()))
        self.means = [nn.Buffer(F.zeros(p.shape)) for p in self.net.parameters()]

    def state(self) -> dict[str, Any]:
        return {
            **super().state(), "count": self.count,
            **{f"mean.{i}": mean for i, mean in enumerate(self.means)},
        }  # fmt: skip

    def __call__(self, x: Any, y: Any) -> list[Any]:
        if not self.late:
            self.count.set_value(self.count + 1)
        rate = 0.3 * F.minimum(self.count / 4, 1) * 0.9**self.count
        loss = F.mean((self.net(x) - y) ** 2)
        parameters = list(self.net.parameters())
        gradients = self.gradients(loss, parameters)
        norm = F.sqrt(sum(F.sum(g * g) for g in gradients))
        scale = F.minimum(0.1 / (norm + 1e-6), 1)
        for p, g, mean in zip(parameters, gradients, self.means, strict=True):
            p.set_value(p.detach() - rate * scale * g)
            mean.set_value(0.9 * mean + 0.1 * p.detach())
        if self.late:
            self.count.set_value(self.count + 1)
        return [loss]

    def gradients(self, loss: Any, parameters: list[Any]) -> list[Any]:
        """Those of a loss, by the call that each mode has."""
        if tl.imperative.keeping.keeper_now() is None:
            return list(tl.autograd.grad(loss, parameters))
        found = {id(p): g for p, g in static.append_backward(loss)}
        return [found[id(p)] for p in parameters]


class ScheduledLate(Scheduled):
    """The same, with the count moved last."""

    late = True


class Annealed(Loop):
    """A weight of a penalty that follows from a count, and a parameter that is read twice."""

    shapes: ClassVar[Shapes] = {"x": ((4,), "float32")}

    def __init__(self) -> None:
        self.inner, self.outer = nn.Linear(4, 4, seed=1), nn.Linear(4, 4, seed=2)
        self.count = nn.Buffer(F.zeros(()))
        parameters = [*self.inner.parameters(), *self.outer.parameters()]
        self.optimizer = tl.optim.SGD(parameters, lr=0.1)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "count": self.count}

    def __call__(self, x: Any) -> list[Any]:
        self.count.set_value(self.count + 1)
        h = F.tanh(self.inner(F.tanh(self.inner(x))))
        y = F.matmul(self.outer(h), F.permute_dims(self.inner.weight, (1, 0)))
        loss = F.mean((y - x) ** 2) + F.minimum(self.count / 5, 1) * 0.1 * F.mean(F.abs(h))
        self.optimizer.minimize(loss)
        return [loss]


class Penalised(Loop):
    """A critic whose slope by its input is to be 1: a gradient within the loss."""

    shapes: ClassVar[Shapes] = {"x": ((4,), "float32")}

    def __init__(self) -> None:
        self.critic = nn.Sequential(nn.Linear(4, 6, seed=1), F.tanh, nn.Linear(6, 1, seed=2))
        self.optimizer = tl.optim.Adam(list(self.critic.parameters()), lr=0.02, eps=1e-3)

    def __call__(self, x: Any) -> list[Any]:
        t = tl.Tensor(x)
        t.requires_grad = True
        score = F.sum(self.critic(t))
        (slope,) = tl.autograd.grad(score, t, create_graph=True)
        steep = F.sqrt(F.sum(slope**2, axis=-1))
        loss = F.mean(self.critic(t)) + F.mean((steep - 1) ** 2)
        self.optimizer.minimize(loss)
        return [loss]


LOOPS: dict[str, type[Loop]] = {
    kind.__name__: kind
    for kind in (
        Adversaries, Variational, Scanned, Skipping, Tied, Normed, Branching, Tasks, Scheduled,
        ScheduledLate, Annealed, Penalised,
    )
}  # fmt: skip


class Built(NamedTuple):
    """The program of a loop.

    Attributes:
        names: of its states, by those that the loop has.
    """

    main: Any
    startup: Any
    losses: list[Any]
    names: dict[str, str]


def built(name: str, batch: Any = "batch") -> Built:
    """The program of a loop, for batches of a size."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        loop = LOOPS[name]()
        fed = {k: static.data(k, (batch, *s), d) for k, (s, d) in loop.shapes.items()}
        losses = loop(**fed)
    state = {id(tensor): key for key, tensor in loop.state().items()}
    names = {state[id(t)]: main.names(n) for n, t in main.tensors.items() if id(t) in state}
    return Built(main, startup, losses, names)


def batches(name: str, count: int, rows: int = 4) -> list[dict[str, Any]]:
    """What the loop is fed in so many steps."""
    rng = np.random.default_rng(3)

    def drawn(shape: tuple[int, ...], dtype: str) -> Any:
        whole = (rows, *shape)
        return rng.integers(0, 3, whole) if dtype == "int64" else rng.standard_normal(whole, "f")

    shapes = LOOPS[name].shapes
    return [{k: drawn(*about) for k, about in shapes.items()} for _ in range(count)]
