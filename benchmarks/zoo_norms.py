"""Norms and softmax: of layers of well-known networks, and of shapes that nobody tunes for.

The latter are batch norms of narrow planes, norms of short and of long rows, and what goes along
the first or a middle axis; they are checked against float64 before they are timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import torch
from cases import Case
from peers import JAX, OURS, TORCH, Function, jax
from reductions import jax_layer_norm
from zoo_layers import BATCHES, MAPS, layer, numbers

import tensorlike as tl
import tensorlike.functional as F

ROWS = [
    (128, 768),
    (128, 384),
    (197, 768),
    (3136, 96),
    (784, 192),
    (49, 768),
    (512, 1024),
    (1, 4096),
]
# Channels and size of what batch norms see late in a network; and rows of a head or a projector.
NARROW = [
    (512, 7, 7), (2048, 7, 7), (960, 7, 7), (1024, 14, 14), (256, 14, 14), (320, 4, 4),
    (1280, 1, 1), (512, 1, 1), (128, 3, 5), (256, 28, 28), (64, 10), (512, 49), (128, 300),
    (512, 2, 7, 7), (64, 4, 4, 4),
]  # fmt: skip
FEATURES = [(64, 128), (256, 2048), (512, 512), (128, 4096), (4096, 64), (2000, 10), (32, 256)]
# Whole inputs and the axis.
MIDDLE = [
    ((8, 21, 64, 64), 1), ((1, 150, 128, 128), 1), ((1000, 256), 0), ((64, 4096), 0),
    ((8, 2, 256, 256), 1), ((16, 100, 50), 1), ((4, 1000, 49), 1), ((4096, 16), 0), ((50, 8, 6), 0),
    ((8, 81, 8732), 1), ((32, 10, 10), 1), ((3, 512, 512), 0), ((2, 12, 128, 128), 2),
    ((100000, 3), 0), ((10, 1152, 16), 1),
]  # fmt: skip
IMAGES = [(64, 56, 56), (256, 14, 14), (512, 7, 7), (32, 112, 112), (128, 1000), (64, 8, 14, 14),
        (3, 224, 224), (1024, 4, 4)]  # fmt: skip
_library = torch.nn.functional


def narrow_batch_norms(random: Random, count: int) -> Iterator[Case]:
    """In training, of narrow planes and of rows; forward, and forward and back."""
    for _ in range(count):
        way = random.choice(("forward", "forward and backward", "forward and backward"))
        if random.random() < 0.3:
            rows, channels = random.choice(FEATURES)
            shape: tuple[int, ...] = (rows, channels + random.randint(-5, 5))
        else:
            channels, *sizes = random.choice(NARROW)
            batch = random.choice((*BATCHES, 32)) if sum(sizes) > len(sizes) else 32
            shape = (batch, channels + random.choice((0, random.randint(-7, 7))), *sizes)
        channels = shape[1]
        w, b = 1 + numbers(channels, seed=1) / 10, numbers(channels, seed=2)
        axes = (0, *range(2, len(shape)))
        each = (-1, *[1] * (len(shape) - 2))

        def ours(x: Any, w: Any, b: Any, axes: Any = axes, each: Any = each) -> Any:
            return F.batch_norm(x, F.reshape(w, each), F.reshape(b, each), axes=axes)[0]

        def theirs(x: Any, w: Any, b: Any) -> Any:
            return _library.batch_norm(x, None, None, w, b, training=True)

        functions: dict[str, Function] = {OURS: ours, TORCH: theirs}
        name = f"batch norm, {shape}"
        yield layer(name, [numbers(*shape), w, b], functions, way, is_exact=True)


def along_axes(random: Random, count: int) -> Iterator[Case]:
    """Softmax and log-softmax along the first or a middle axis; instance and group norms."""
    for _ in range(count):
        way = random.choice(("forward", "forward and backward"))
        kind = random.choice(("softmax", "softmax", "log-softmax", "log-softmax", "instance norm",
                              "group norm"))  # fmt: skip
        yield _of_images(random, kind, way) if "norm" in kind else _along(random, kind, way)


def _along(random: Random, kind: str, way: str) -> Case:
    shape, axis = random.choice(MIDDLE)
    if random.random() < 0.5:
        shape = tuple(max(2, n + random.randint(-n // 8, n // 8)) for n in shape)
    name = kind.replace("-", "_")
    ours, theirs = getattr(F, name), getattr(torch, name)
    functions: dict[str, Function] = {
        OURS: lambda x: ours(x, axis=axis),
        TORCH: lambda x: theirs(x, axis),
    }
    if jax is not None:
        by_jax = getattr(jax.nn, name)
        functions[JAX] = lambda x: by_jax(x, axis)
    return layer(f"{kind} along {axis}, {shape}", [numbers(*shape)], functions, way, is_exact=True)


def _of_images(random: Random, kind: str, way: str) -> Case:
    channels, *sizes = random.choice(IMAGES)
    shape = (random.choice(BATCHES), channels, *sizes)
    if random.random() < 0.5:
        sizes = [max(2, n + random.randint(-3, 3)) for n in sizes]
        shape = (*shape[:2], *sizes)
    w, b = 1 + numbers(channels, seed=1) / 10, numbers(channels, seed=2)
    groups = random.choice([g for g in (1, 3, 4, 32) if channels % g == 0])
    functions: dict[str, Function] = {
        OURS: lambda x, w, b: F.group_norm(x, groups, w, b),
        TORCH: lambda x, w, b: _library.group_norm(x, groups, w, b),
    }
    if kind == "instance norm":
        functions = {
            OURS: F.instance_norm,
            TORCH: lambda x, w, b: _library.instance_norm(x, weight=w, bias=b),
        }
    words = kind if kind == "instance norm" else f"{kind} of {groups}"
    return layer(f"{words}, {shape}", [numbers(*shape), w, b], functions, way, is_exact=True)


def rows(random: Random, count: int) -> Iterator[Case]:
    """Layer and RMS norms, softmax and log-softmax of rows of 8 to 65536 elements, some millions
    in all or a few thousand, forward and back."""
    for _ in range(count):
        kind = random.choice(("layer norm", "layer norm", "RMS norm", "softmax", "log-softmax"))
        way = random.choice(("forward", "forward and backward", "forward and backward"))
        n = int(8 * 2 ** random.uniform(0, 13))
        many = max(1, int(2 ** random.uniform(12, 22)) // n)
        w, b = 1 + numbers(n, seed=1) / 10, numbers(n, seed=2)
        inputs = [numbers(many, n), w, b][: {"layer norm": 3, "RMS norm": 2}.get(kind, 1)]
        yield layer(
            f"{kind}, {many} rows of {n}", inputs, norm_functions(kind, n), way, is_exact=True
        )


def norms(random: Random, count: int) -> Iterator[Case]:
    """Layer, RMS and group norms, softmax: rows of 8 to 65536."""
    for _ in range(count):
        rows, n = random.choice(ROWS)
        rows *= random.choice(BATCHES)
        if random.random() < 0.5:
            n = int(8 * 2 ** random.uniform(0, 13))
            rows = max(1, int(2 ** random.uniform(16, 22)) // n)
        kind = random.choice(("layer norm", "RMS norm", "softmax", "log-softmax", "group norm"))
        way = random.choice(("forward", "forward and backward"))
        x, w, b = numbers(rows, n), 1 + numbers(n, seed=1) / 10, numbers(n, seed=2)
        inputs = {"layer norm": [x, w, b], "RMS norm": [x, w]}.get(kind, [x])
        name = f"{kind}, {rows} rows of {n}"
        if kind == "group norm":
            channels, size = random.choice(MAPS)
            groups = random.choice((8, 16))
            inputs = [numbers(random.choice(BATCHES), channels, size, size),
                      1 + numbers(channels, seed=1) / 10, numbers(channels, seed=2)]  # fmt: skip
            name = f"{kind} of {groups}, {inputs[0].shape}"
            yield layer(name, inputs, _group_norms(groups), way)
            continue
        yield layer(name, inputs, norm_functions(kind, n), way)


def _group_norms(groups: int) -> dict[str, Function]:
    theirs = torch.nn.functional.group_norm
    return {
        OURS: lambda x, w, b: F.group_norm(x, groups, w, b),
        TORCH: lambda x, w, b: theirs(x, groups, w, b),
    }


def norm_functions(kind: str, n: int) -> dict[str, Function]:
    """A norm of rows of n elements, or their softmax or its logarithm."""
    library = torch.nn.functional
    match kind:
        case "layer norm":
            return {OURS: lambda x, w, b: F.layer_norm(x, w, b),
                    TORCH: lambda x, w, b: library.layer_norm(x, (n,), w, b),
                    JAX: jax_layer_norm}  # fmt: skip
        case "RMS norm":
            return {OURS: lambda x, w: F.rms_norm(x, w),
                    TORCH: lambda x, w: library.rms_norm(x, (n,), w, 1e-5),
                    JAX: lambda x, w: x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w,
                    }  # fmt: skip
        case "softmax":
            return {OURS: lambda x: F.softmax(x, axis=-1), TORCH: lambda x: torch.softmax(x, -1),
                    JAX: lambda x: jax.nn.softmax(x, -1)}  # fmt: skip
    return {OURS: lambda x: F.log_softmax(x, axis=-1), TORCH: lambda x: torch.log_softmax(x, -1),
            JAX: lambda x: jax.nn.log_softmax(x, -1)}  # fmt: skip


def batch_norms(random: Random, count: int) -> Iterator[Case]:
    """In training, with its activation or without, forward and back; and inferring."""
    for _ in range(count):
        channels, size = random.choice(MAPS)
        batch = random.choice(BATCHES)
        if random.random() < 0.5:
            channels, size = channels + random.randint(-7, 7), max(size + random.randint(-5, 5), 2)
        x = numbers(batch, channels, size, size)
        w, b = 1 + numbers(channels, seed=1) / 10, numbers(channels, seed=2)
        active = random.random() < 0.5
        name = f"batch norm{' + relu' * active}, {x.shape}"
        if random.random() < 0.3:
            yield layer(
                f"{name}, inferring", [x], _batch_norms_inferring(channels, active), "forward"
            )
            continue
        way = random.choice(("forward", "forward and backward", "forward and backward"))
        yield layer(name, [x, w, b], _batch_norms_training(active), way)


def _batch_norms_training(active: bool) -> dict[str, Function]:
    def ours(x: Any, w: Any, b: Any) -> Any:
        y = F.batch_norm(x, *(F.reshape(z, (-1, 1, 1)) for z in (w, b)), axes=(0, 2, 3))[0]
        return F.relu(y) if active else y

    def theirs(x: Any, w: Any, b: Any) -> Any:
        y = torch.nn.functional.batch_norm(x, None, None, w, b, training=True)
        return torch.relu(y) if active else y

    return {OURS: ours, TORCH: theirs}


def _batch_norms_inferring(channels: int, active: bool) -> dict[str, Function]:
    our_layer, their_layer = tl.nn.BatchNorm2d(channels), torch.nn.BatchNorm2d(channels)
    our_layer.eval()
    their_layer.eval()

    def ours(x: Any) -> Any:
        with tl.no_grad():
            return F.relu(our_layer(x)) if active else our_layer(x)

    def theirs(x: Any) -> Any:
        with torch.no_grad():
            return torch.relu(their_layer(x)) if active else their_layer(x)

    return {OURS: ours, TORCH: theirs}
