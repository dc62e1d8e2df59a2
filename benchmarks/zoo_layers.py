"""Layers of well-known networks as tables, and the sweep's cases made of them.

A row of a table is a layer as the network's paper has it, for images of 224 x 224 (detectors: 320)
and texts of 128 tokens; equal ones stand once. Around each, sizes are drawn too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import torch
from cases import Case
from compare import arrays_of
from peers import JAX, OURS, TORCH, Array, Build, Function, both_ways, forward, jax, jnp

import tensorlike as tl
import tensorlike.functional as F

BATCHES = (1, 8)
EXACT = 1e-4  # of the largest element, beside float64


def numbers(*shape: int, seed: int = 0) -> Array:
    """Standard normal float32."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@dataclass(frozen=True)
class Convolution:
    """Channels in and out, the images' size, the window's, stride, groups, dilation."""

    c_in: int
    c_out: int
    size: int | tuple[int, ...]
    window: int | tuple[int, ...] = 3
    stride: int | tuple[int, ...] = 1
    groups: int = 1
    dilation: int = 1
    transposed: bool = False
    padding: int | None = None
    output_padding: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the images."""
        return (self.size,) * 2 if isinstance(self.size, int) else self.size

    @property
    def windows(self) -> tuple[int, ...]:
        """The sizes of a window."""
        return self.of_each(self.window)

    @property
    def pads(self) -> tuple[int, ...]:
        """Zeros on each side: so many that stride 1 keeps the size, unless it is said."""
        if self.padding is not None:
            return self.of_each(self.padding)
        return tuple((k - 1) * self.dilation // 2 for k in self.windows)

    def of_each(self, number: int | tuple[int, ...]) -> tuple[int, ...]:
        """One for each dimension of the images."""
        return (number,) * len(self.sizes) if isinstance(number, int) else number

    def __str__(self) -> str:
        def told(number: int | tuple[int, ...]) -> str:
            return str(number) if isinstance(number, int) else "x".join(map(str, number))

        words = [told(self.window) + "T" * self.transposed, f"{self.c_in}>{self.c_out}"]
        words += [f"of {told(self.sizes)}"]
        words += [f"/{told(self.stride)}"] if self.stride != 1 else []
        words += [f"g{self.groups}"] if self.groups > 1 else []
        words += [f"d{self.dilation}"] if self.dilation > 1 else []
        return " ".join(words)


def _each(rows: Sequence[tuple[int, ...]], **more: Any) -> list[Convolution]:
    return [Convolution(*row, **more) for row in rows]


def _depthwise(rows: Sequence[tuple[int, ...]]) -> list[Convolution]:
    """(channels, size, window, stride)."""
    return [Convolution(c, c, size, k, s, groups=c) for c, size, k, s in rows]


RESNET = _each([
    (3, 64, 224, 7, 2), (64, 64, 56), (64, 128, 56, 3, 2), (64, 128, 56, 1, 2), (128, 128, 28),
    (128, 256, 28, 3, 2), (256, 256, 14), (256, 512, 14, 3, 2), (256, 512, 14, 1, 2), (512, 512, 7),
    (64, 64, 56, 1), (64, 256, 56, 1), (256, 64, 56, 1), (256, 128, 56, 1), (128, 512, 28, 1),
    (512, 128, 28, 1), (256, 1024, 14, 1), (1024, 256, 14, 1), (512, 2048, 7, 1),
    (2048, 512, 7, 1), (1024, 2048, 14, 1, 2),
])  # fmt: skip
POINTWISE = _each([  # MobileNetV2 and V3, EfficientNet-B0
    (32, 16, 112, 1), (16, 96, 112, 1), (96, 24, 56, 1), (24, 144, 56, 1), (144, 24, 56, 1),
    (144, 32, 28, 1), (32, 192, 28, 1), (192, 32, 28, 1), (192, 64, 14, 1), (64, 384, 14, 1),
    (384, 64, 14, 1), (384, 96, 14, 1), (576, 96, 14, 1), (576, 160, 7, 1), (160, 960, 7, 1),
    (960, 160, 7, 1), (960, 320, 7, 1), (320, 1280, 7, 1), (40, 240, 28, 1), (80, 480, 14, 1),
    (480, 112, 14, 1), (112, 672, 14, 1), (672, 192, 7, 1), (192, 1152, 7, 1),
])  # fmt: skip
DEPTHWISE = _depthwise([  # MobileNets, EfficientNet-B0, ConvNeXt-T
    (32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2), (192, 28, 3, 1),
    (192, 28, 3, 2), (384, 14, 3, 1), (576, 14, 3, 2), (960, 7, 3, 1), (72, 56, 5, 2),
    (120, 28, 5, 1), (480, 14, 5, 1), (672, 14, 5, 2), (1152, 7, 5, 1), (96, 56, 7, 1),
    (192, 28, 7, 1), (384, 14, 7, 1), (768, 7, 7, 1),
])  # fmt: skip
FEW_CHANNELS = [*_each([  # first layers: MobileNets, U-Net, detectors, ConvNeXt-T, ViT
    (3, 32, 224, 3, 2), (1, 64, 128), (3, 16, 320, 3, 2), (16, 32, 160, 3, 2), (16, 16, 80),
    (3, 64, 112), (8, 8, 112),
]), Convolution(3, 96, 224, 4, 4, padding=0), Convolution(3, 768, 224, 16, 16, padding=0),
      Convolution(1, 6, 28, 5)]  # fmt: skip
DETECTORS = _each([  # U-Net and YOLO-like
    (64, 64, 128), (64, 128, 64), (128, 128, 64), (256, 256, 32), (512, 512, 16), (1024, 512, 16),
    (32, 64, 80, 3, 2), (32, 32, 80, 1), (64, 64, 40), (64, 128, 40, 3, 2), (128, 128, 20),
    (256, 256, 10), (128, 255, 20, 1), (384, 128, 20, 1),
])  # fmt: skip
OTHERS = [  # grouped (ResNeXt), dilated (DeepLab), in one and three dimensions, transposed
    Convolution(128, 128, 56, groups=32), Convolution(256, 256, 28, groups=32),
    Convolution(512, 512, 14, groups=32), Convolution(256, 256, 28, dilation=2),
    Convolution(512, 256, 28, dilation=6), Convolution(64, 64, 56, dilation=4),
    Convolution(1, 512, (16000,), 10, 5, padding=0),
    Convolution(512, 512, (3199,), 3, 2, padding=0),
    Convolution(512, 512, (199,), 2, 2, padding=0), Convolution(768, 768, (49,), 128, groups=16),
    Convolution(80, 384, (300,), 3), Convolution(384, 384, (300,), 3, 2),
    Convolution(3, 64, (16, 56, 56)), Convolution(64, 64, (8, 28, 28)),
    Convolution(64, 128, (8, 28, 28), 3, 2), Convolution(32, 32, (16, 32, 32), 1),
    Convolution(128, 64, 28, 2, 2, transposed=True, padding=0),
    Convolution(512, 256, 16, 2, 2, transposed=True, padding=0),
    Convolution(64, 32, 28, 4, 2, transposed=True, padding=1),
    Convolution(256, 128, 8, 4, 2, transposed=True, padding=1),
]  # fmt: skip

# Rows, inputs, outputs: BERT, MiniLM, GPT-2, ViT, Wav2Vec-like, classifiers.
PRODUCTS = [
    (128, 768, 768), (128, 768, 3072), (128, 3072, 768), (128, 384, 384), (128, 384, 1536),
    (128, 1536, 384), (128, 768, 2304), (1, 768, 50257), (197, 768, 768), (197, 768, 3072),
    (49, 768, 3072), (3136, 96, 384), (784, 192, 768), (1, 2048, 1000), (1, 1280, 1000),
    (1, 784, 256), (1, 512, 10), (1, 4096, 4096),
]  # fmt: skip
# Heads, tokens that ask, tokens that are asked, numbers each, causal.
ATTENTIONS = [
    (12, 128, 128, 64, False), (12, 128, 128, 32, False), (12, 197, 197, 64, False),
    (12, 512, 512, 64, True), (12, 1, 256, 64, False), (4, 128, 128, 32, True),
    (12, 49, 49, 64, False), (16, 1024, 1024, 64, True), (8, 16, 16, 64, False),
]  # fmt: skip
# Channels, size: what batch norms, activations and pools see.
MAPS = [(64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (1024, 14), (512, 7), (2048, 7),
        (96, 112), (144, 56), (192, 28), (576, 14), (960, 7), (16, 160), (32, 80)]  # fmt: skip
# Channels, size, window, stride, padding.
POOLS = [(64, 112, 3, 2, 1), (64, 128, 2, 2, 0), (128, 64, 2, 2, 0), (256, 32, 2, 2, 0),
         (256, 10, 5, 1, 2), (6, 24, 2, 2, 0), (192, 28, 3, 1, 1), (512, 14, 3, 2, 1)]  # fmt: skip


def drawn(random: Random, rows: Sequence[Convolution], count: int) -> Iterator[Convolution]:
    """Rows of a table, every other one with channels and sizes a little away from it."""
    for i in range(count):
        row = random.choice(rows)
        if i % 2 == 0:
            yield row
            continue
        groups = row.groups
        if groups == row.c_in == row.c_out:
            c_in = c_out = groups = max(row.c_in + random.randint(-9, 9), 8)
        elif groups > 1:
            c_in, c_out = row.c_in, row.c_out
        else:
            c_in, c_out = (
                max(c + random.randint(-c // 5, c // 5), 1) for c in (row.c_in, row.c_out)
            )
        sizes = tuple(
            max(n + random.randint(-n // 6, n // 6), (k - 1) * row.dilation + 1 - 2 * pad)
            for n, k, pad in zip(row.sizes, row.windows, row.pads, strict=True)
        )
        yield replace(row, c_in=c_in, c_out=c_out, size=sizes, groups=groups)


def convolutions(
    random: Random, rows: Sequence[Convolution], count: int, *, is_exact: bool = False
) -> Iterator[Case]:
    """Forward, or both gradients; `is_exact`: checked against float64."""
    for row in drawn(random, rows, count):
        batch, way = random.choice(BATCHES), random.choice(("forward", "forward", "backward"))
        if row.transposed:
            kernel = (row.c_in, row.c_out // row.groups, *row.windows)
        else:
            kernel = (row.c_out, row.c_in // row.groups, *row.windows)
        x = numbers(batch, row.c_in, *row.sizes)
        w = numbers(*kernel, seed=1) / np.float32(np.sqrt(np.prod(kernel[1:])))
        functions = _convolution_functions(row, way)
        yield layer(f"conv {row}, batch {batch}", [x, w], functions, way, is_exact=is_exact)


def _convolution_functions(row: Convolution, way: str) -> dict[str, Function]:
    ndim = len(row.sizes)
    stride = row.of_each(row.stride)
    options = {"stride": stride, "padding": row.pads, "groups": row.groups}
    options |= {"dilation": row.dilation}
    if row.transposed:
        options["output_padding"] = row.output_padding
    name = f"conv_transpose{ndim}d" if row.transposed else f"conv{ndim}d"
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    found: dict[str, Function] = {
        OURS: lambda x, w: ours(x, w, **options),
        TORCH: lambda x, w: theirs(x, w, **options),
    }
    if jax is None or ndim > 2 or (row.transposed and way != "forward"):
        return found  # its CPU library computes these element by element, for seconds
    if not row.transposed:
        found[JAX] = lambda x, w: jax.lax.conv_general_dilated(
            x, w, stride, [(pad, pad) for pad in row.pads],
            rhs_dilation=row.of_each(row.dilation), feature_group_count=row.groups,
        )  # fmt: skip
    elif row.groups == 1:
        found[JAX] = _transposed_by_jax(row)
    return found


def _transposed_by_jax(row: Convolution) -> Function:
    """An ordinary one with zeros between the elements."""
    reach = [(k - 1) * row.dilation - pad for k, pad in zip(row.windows, row.pads, strict=True)]
    return lambda x, w: jax.lax.conv_general_dilated(
        x, jnp.flip(w, range(2, w.ndim)).swapaxes(0, 1), row.of_each(1),
        [(n, n + row.output_padding) for n in reach],
        lhs_dilation=row.of_each(row.stride), rhs_dilation=row.of_each(row.dilation),
    )  # fmt: skip


def layer(
    name: str,
    inputs: list[Array],
    functions: dict[str, Function],
    way: str,
    *,
    is_exact: bool = False,
) -> Case:
    """A case of a layer's functions, forward or by `way`; `is_exact`: all of them are checked
    against PyTorch's in float64."""
    tolerance = EXACT if is_exact else 1e-3

    def in_double(both: Callable[..., Mapping[str, Build]], dy: list[Array]) -> list[Array]:
        wide = ([x.astype(np.float64) for x in inputs], *(y.astype(np.float64) for y in dy))
        return arrays_of(both(*wide, {TORCH: functions[TORCH]})[TORCH]()())

    if way == "forward":
        return Case(
            name=name,
            builds=lambda: forward(inputs, functions),
            exact=(lambda: in_double(forward, [])) if is_exact else None,
            tolerance=tolerance,
        )
    shapes = (tl.ShapeTensor(x.shape, x.dtype.name) for x in inputs)
    dy = numbers(*functions[OURS](*shapes).shape, seed=2)
    both = partial(both_ways, only_backward=way == "backward")
    return Case(
        name=f"{name}, {way}",
        builds=lambda: both(inputs, dy, functions),
        exact=(lambda: in_double(both, [dy])) if is_exact else None,
        tolerance=tolerance,
    )


def products(random: Random, count: int) -> Iterator[Case]:
    """Linear layers."""
    for _ in range(count):
        rows, n, k = random.choice(PRODUCTS)
        rows *= random.choice(BATCHES)
        if random.random() < 0.5:
            rows, n, k = (max(1, round(m * random.uniform(0.6, 1.4))) for m in (rows, n, k))
        x, w, b = numbers(rows, n), numbers(n, k, seed=1) / np.float32(n**0.5), numbers(k, seed=3)
        functions = {
            OURS: F.linear,
            TORCH: lambda x, w, b: torch.addmm(b, x, w),
            JAX: lambda x, w, b: x @ w + b,
        }
        way = random.choice(("forward", "forward", "backward"))
        yield layer(f"linear {rows} x {n} > {k}", [x, w, b], functions, way)


def attentions(random: Random, count: int) -> Iterator[Case]:
    """Scaled dot products, as PyTorch's function has them."""
    for _ in range(count):
        heads, asking, asked, size, causal = random.choice(ATTENTIONS)
        batch = random.choice(BATCHES)
        if random.random() < 0.4:
            asked = max(1, round(asked * random.uniform(0.6, 1.4)))
            asking = asked if causal or asking > 1 else asking
        q = numbers(batch, heads, asking, size)
        k, v = (numbers(batch, heads, asked, size, seed=s) for s in (1, 2))

        def theirs(q: Any, k: Any, v: Any, causal: bool = causal) -> Any:
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        def by_jax(q: Any, k: Any, v: Any, causal: bool = causal) -> Any:
            turned = (jnp.swapaxes(z, 1, 2) for z in (q, k, v))
            y = jax.nn.dot_product_attention(*turned, is_causal=causal)
            return jnp.swapaxes(y, 1, 2)

        functions: dict[str, Function] = {
            OURS: lambda q, k, v, causal=causal: F.attention(q, k, v, is_causal=causal),
            TORCH: theirs,
        }
        if jax is not None:
            functions[JAX] = by_jax
        way = random.choice(("forward", "forward and backward"))
        name = f"attention {batch} x {heads} x {asking}, {asked} of {size}{' causal' * causal}"
        yield layer(name, [q, k, v], functions, way)


def pools(random: Random, count: int) -> Iterator[Case]:
    """Largest and mean elements of windows, and of whole images."""
    for _ in range(count):
        channels, size, window, stride, padding = random.choice(POOLS)
        batch = random.choice(BATCHES)
        if random.random() < 0.5:
            size = max(size + random.randint(-4, 4), window)
            channels += random.randint(-3, 3)
        x = numbers(batch, channels, size, size)
        kind = random.choice(("max", "max", "avg", "global"))
        way = random.choice(("forward", "forward", "forward and backward"))
        library = torch.nn.functional
        if kind == "global":
            functions: dict[str, Function] = {
                OURS: lambda x: F.mean(x, axis=(2, 3)),
                TORCH: lambda x: torch.mean(x, (2, 3)),
                JAX: lambda x: x.mean((2, 3)),
            }
        else:
            options = {"stride": stride, "padding": padding}
            ours, theirs = getattr(F, f"{kind}_pool2d"), getattr(library, f"{kind}_pool2d")
            functions = {
                OURS: lambda x, f=ours, k=window, o=options: f(x, k, **o),
                TORCH: lambda x, f=theirs, k=window, o=options: f(x, k, **o),
            }
        yield layer(f"{kind} pool {window}/{stride}, {x.shape}", [x], functions, way)
