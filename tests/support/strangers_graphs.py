"""Models as users write them, of graphs, boxes, images, experts and signals of any size: functions
of tensors, the shapes of those with names for sizes that differ, and sizes to run them at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tensorlike as tl
import tensorlike.functional as F

Sizes = dict[str, int]


class Model(NamedTuple):
    """A function and what it takes.

    Attributes:
        make: gives the function, with its weights.
        inputs: by name a shape, and a dtype, or the size that the integers stay below.
        sizes: at which it is run.
    """

    make: Callable[[], Callable[..., Any]]
    inputs: dict[str, tuple[tuple[Any, ...], str]]
    sizes: tuple[Sizes, ...]

    def arrays(self, sizes: Sizes) -> list[Any]:
        """Inputs of these sizes."""
        rng = np.random.default_rng(sum(sizes.values()))
        found = []
        for shape, kind in self.inputs.values():
            dims = [sizes.get(size, size) for size in shape]
            if kind == "float32":
                found.append(rng.standard_normal(dims).astype(np.float32))
            else:
                most = int(kind) if kind.isdigit() else sizes[kind]
                found.append(rng.integers(0, most, dims))
        return found


MODELS: dict[str, Model] = {}


def model(sizes: list[Sizes], **inputs: Any) -> Callable[[Any], Any]:
    """Lists a maker of a function."""

    def listed(make: Any) -> Any:
        MODELS[make.__name__] = Model(make, inputs, tuple(sizes))
        return make

    return listed


def weight(seed: int, *shape: int) -> Any:
    return tl.tensor((np.random.default_rng(seed).standard_normal(shape) / 2).astype(np.float32))


GRAPHS = [{"n": 5, "e": 9}, {"n": 7, "e": 4}, {"n": 1, "e": 2}, {"n": 4, "e": 0}]
IMAGES = [{"b": 1, "h": 9, "w": 12}, {"b": 2, "h": 8, "w": 7}, {"b": 1, "h": 16, "w": 16}]
EVEN = [{"b": 1, "h": 8, "w": 12}, {"b": 2, "h": 4, "w": 8}, {"b": 1, "h": 12, "w": 4}]
ROWS = [{"n": 6}, {"n": 3}, {"n": 1}]


@model(GRAPHS, x=(("n", 4), "float32"), edges=((2, "e"), "n"))
def convolution_of_graphs() -> Any:
    w = weight(1, 4, 4)

    def layer(x: Any, edges: Any) -> Any:
        loops = F.arange(x.shape[0])
        source = F.concat([edges[0], loops], axis=0)
        target = F.concat([edges[1], loops], axis=0)
        degree = F.index_add(F.zeros((x.shape[0],)), target, F.ones((target.shape[0],)), axis=0)
        norm = F.rsqrt(degree)[source] * F.rsqrt(degree)[target]
        return F.index_add(F.zeros_like(x), target, F.matmul(x, w)[source] * norm[:, None], axis=0)

    return lambda x, edges: layer(F.relu(layer(x, edges)), edges)


@model(GRAPHS, x=(("n", 4), "float32"), edges=((2, "e"), "n"))
def attention_of_graphs() -> Any:
    w, a = weight(1, 4, 6), weight(2, 2, 3)

    def function(x: Any, edges: Any) -> Any:
        n, (source, target) = x.shape[0], (edges[0], edges[1])
        h = F.reshape(F.matmul(x, w), (n, 2, 3))
        scores = F.leaky_relu(F.sum(h * a, axis=-1)[source] - F.sum(h, axis=-1)[target], 0.2)
        grown = F.exp(scores - F.segment_max(scores, target, n)[target])
        shares = grown / F.segment_sum(grown, target, n)[target]
        return F.segment_sum(shares[:, :, None] * h[source], target, n)

    return function


@model(
    [{"n": 6, "g": 3}, {"n": 2, "g": 4}, {"n": 9, "g": 1}],
    x=(("n", 3), "float32"), graph=(("n",), "g"), scale=(("g",), "float32"),
)  # fmt: skip
def readout_of_a_batch() -> Any:
    def function(x: Any, graph: Any, scale: Any) -> Any:
        h = x - F.segment_mean(x, graph, scale.shape[0])[graph]
        most = F.segment_max(h, graph, scale.shape[0])
        parts = [
            F.segment_sum(F.tanh(h), graph, scale.shape[0]),
            F.where(F.isfinite(most), most, 0),
        ]
        return F.concat(parts, axis=1) * scale[:, None]

    return function


@model([{"n": 6}, {"n": 3}, {"n": 1}, {"n": 0}], boxes=(("n", 4), "float32"), s=(("n",), "float32"))
def suppression() -> Any:
    def function(boxes: Any, s: Any) -> Any:
        order = F.argsort(s, descending=True)
        b = boxes[order]
        near = F.sum((b[:, None] - b[None]) ** 2, axis=-1) < 4.0
        keep, i = F.ones((boxes.shape[0],), dtype="bool"), tl.tensor(0)
        while i < boxes.shape[0]:
            if keep[i]:
                keep = keep & ~(near[i] & (F.arange(boxes.shape[0]) > i))
            i = i + 1
        return keep, order

    return function


@model(IMAGES, image=(("b", 2, "h", "w"), "float32"))
def pyramid() -> Any:
    down = [tl.nn.Conv2d(2, 3, 3, stride=2, padding=1, seed=1),
            tl.nn.Conv2d(3, 3, 3, stride=2, padding=1, seed=2)]  # fmt: skip

    def function(image: Any) -> Any:
        fine = F.relu(down[0](image))
        coarse = F.relu(down[1](fine))
        joined = fine + F.interpolate(coarse, size=fine.shape[2:], mode="nearest")
        return F.interpolate(joined, size=image.shape[2:], mode="bilinear")

    return function


@model(IMAGES, image=(("b", 2, "h", "w"), "float32"))
def dilated_branches() -> Any:
    stem = tl.nn.Conv2d(2, 3, 3, stride=2, padding=1, seed=1)
    branch = tl.nn.Conv2d(3, 3, 3, padding=2, dilation=2, seed=2)

    def function(image: Any) -> Any:
        x = F.relu(stem(image))
        pooled = F.mean(x, axis=(2, 3), keepdims=True)
        pooled = F.interpolate(pooled, size=x.shape[2:], mode="bilinear")
        return F.interpolate(F.concat([branch(x), pooled], axis=1), size=image.shape[2:])

    return function


@model(EVEN, image=(("b", 2, "h", "w"), "float32"))
def pooled_and_doubled() -> Any:
    def function(image: Any) -> Any:
        half = F.max_pool2d(image, 2)
        up = F.interpolate(F.avg_pool2d(half, 2), scale_factor=2, mode="bilinear") + half
        return F.interpolate(up, scale_factor=2, mode="nearest") + image

    return function


@model(EVEN, image=((2, "h", "w", 4), "float32"))
def windows_of_attention() -> Any:
    project = tl.nn.Linear(4, 12, seed=1)

    def function(x: Any) -> Any:
        b, h, w, c = x.shape
        x = F.reshape(F.roll(x, (-2, -2), axis=(1, 2)), (b, h // 4, 4, w // 4, 4, c))
        x = F.reshape(F.permute_dims(x, (0, 1, 3, 2, 4, 5)), (-1, 16, c))
        parts = F.permute_dims(F.reshape(project(x), (-1, 16, 3, 2, 2)), (2, 0, 3, 1, 4))
        y = F.attention(parts[0], parts[1], parts[2])
        y = F.reshape(F.permute_dims(y, (0, 2, 1, 3)), (b, h // 4, w // 4, 4, 4, c))
        y = F.reshape(F.permute_dims(y, (0, 1, 3, 2, 4, 5)), (b, h, w, c))
        return F.roll(y, (2, 2), axis=(1, 2))

    return function


@model(EVEN, image=(("b", "h", "w", 2), "float32"))
def merged_patches() -> Any:
    w = weight(1, 8, 3)

    def function(x: Any) -> Any:
        parts = [x[:, i::2, k::2] for k in (0, 1) for i in (0, 1)]
        return F.matmul(F.concat(parts, axis=-1), w)

    return function


@model(ROWS, x=(("n", 4), "float32"))
def experts() -> Any:
    gate, w = weight(1, 4, 3), weight(2, 3, 4, 4)

    def function(x: Any) -> Any:
        room = x.shape[0] // 3 + 1
        p = F.softmax(F.matmul(x, gate), axis=-1)
        chosen = F.argmax(p, axis=-1)
        is_it = F.astype(F.one_hot(chosen, 3), "int64")
        place = F.sum((F.cumulative_sum(is_it, axis=0) - 1) * is_it, axis=-1)
        slot = F.where(place < room, chosen * room + place, 3 * room)
        given = F.index_add(F.zeros((3 * room + 1, 4)), slot, x, axis=0)
        made = F.reshape(F.matmul(F.reshape(given[:-1], (3, room, 4)), w), (3 * room, 4))
        return F.concat([made, F.zeros((1, 4))], axis=0)[slot] * F.max(p, axis=-1, keepdims=True)

    return function


@model([{"n": 4}, {"n": 7}, {"n": 2}], a=(("n", 4), "float32"), b=(("n", 4), "float32"))
def contrast() -> Any:
    def function(a: Any, b: Any) -> Any:
        n = a.shape[0]
        z = F.concat([F.normalize(a, axis=1), F.normalize(b, axis=1)], axis=0)
        s = F.where(F.astype(F.eye(2 * n), "bool"), -1e9, F.matmul(z, z.T) * 2)
        other = F.concat([F.arange(n) + n, F.arange(n)], axis=0)
        return F.cross_entropy(s, other), F.diagonal(s, offset=n)

    return function


@model([{"t": 5}, {"t": 1}, {"t": 8}], ys=(("t", 2), "float32"))
def kalman_filter() -> Any:
    move, see = weight(1, 3, 3), weight(2, 2, 3)

    def function(ys: Any) -> Any:
        def step(carry: Any, y: Any) -> Any:
            mean, spread = carry
            mean, spread = F.matmul(move, mean), F.matmul(F.matmul(move, spread), move.T) + F.eye(3)
            seen = F.matmul(F.matmul(see, spread), see.T) + F.eye(2)
            gain = F.solve(seen, F.matmul(see, spread)).T
            rest = y - F.matmul(see, mean)
            own = F.solve_triangular(F.cholesky(seen), rest[:, None], upper=False)
            spread = spread - F.matmul(F.matmul(gain, see), spread)
            return (mean + F.matmul(gain, rest), spread), (mean, F.sum(own * own))

        (_, spread), (means, costs) = F.scan(step, (F.zeros((3,)), F.eye(3)), ys)
        return means, F.sum(costs), spread

    return function


@model(ROWS, x=(("n", 2), "float32"))
def residual_of_a_field() -> Any:
    w1, w2 = weight(1, 2, 6), weight(2, 6)

    def field(z: Any) -> Any:
        return F.sum(F.tanh(F.matmul(z, w1)) * w2)

    def function(x: Any) -> Any:
        second = tl.vmap(tl.hessian(field))(x)
        rest = second[:, 0, 0] + second[:, 1, 1] - tl.vmap(tl.grad(field))(x)[:, 1]
        return F.mean(rest**2)

    return function


@model([{"b": 2, "t": 8}, {"b": 1, "t": 9}, {"b": 3, "t": 16}], x=(("b", "t"), "float32"))
def filtered_signals() -> Any:
    def function(x: Any) -> Any:
        s = F.fft.rfft(x)
        kept = F.exp(F.arange(s.shape[-1], dtype="float32") * -0.2)
        return F.fft.irfft(s * kept, n=x.shape[-1])

    return function


@model([{"n": 8}, {"n": 5}, {"n": 3}], x=(("n", 3), "float32"), y=(("n",), "2"))
def selected_rows() -> Any:
    def function(x: Any, y: Any) -> Any:
        chosen, labels = x[y > 0], y[y > 0]
        losses = F.sum(F.sigmoid(chosen) ** 2, axis=1) * labels
        return F.sum(losses) / F.maximum(F.sum(y), 1)

    return function


@model([{"n": 5}, {"n": 2}, {"n": 4}], x=(("n", 3), "float32"))
def pairs_apart() -> Any:
    def function(x: Any) -> Any:
        n = x.shape[0]
        others = F.matmul(x, x.T)[F.logical_not(F.astype(F.eye(n), "bool"))]
        return F.logsumexp(F.reshape(others, (n, n - 1)), axis=1)

    return function
