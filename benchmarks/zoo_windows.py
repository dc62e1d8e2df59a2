"""Convolutions and pools that the usual image networks lack: dilated, transposed, grouped, in one
and three dimensions, windows that are large or long; and the zoo's cases of them.

All are checked against float64 before they are timed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import torch
from cases import Case
from peers import OURS, TORCH, Function
from zoo_layers import BATCHES, Convolution, layer, numbers

import tensorlike.functional as F


def _each(rows: Sequence[tuple[Any, ...]], **more: Any) -> list[Convolution]:
    return [Convolution(*row, **more) for row in rows]


# Channels in and out, size, window, stride, groups, dilation.
DILATED = _each([  # DeepLab, dilated ResNets, context modules; WaveNet and TCN
    (256, 256, 28, 3, 1, 1, 2), (512, 512, 28, 3, 1, 1, 4), (2048, 256, 28, 3, 1, 1, 6),
    (320, 256, 33, 3, 1, 1, 12), (320, 256, 33, 3, 1, 1, 18), (64, 64, 56, 3, 1, 1, 4),
    (21, 21, 64, 3, 1, 1, 8), (32, 32, 128, 3, 1, 1, 2), (64, 64, 28, 5, 1, 1, 2),
    (128, 128, 28, 3, 2, 1, 2), (16, 32, 64, 3, 1, 1, 3), (144, 144, 28, 3, 1, 144, 2),
    (960, 960, 14, 3, 1, 960, 2), (384, 384, 33, 5, 1, 384, 2), (128, 128, 28, 3, 1, 4, 2),
    (32, 64, (2000,), 2, 1, 1, 4), (64, 128, (4000,), 2, 1, 1, 64), (64, 64, (8000,), 3, 1, 1, 16),
    (128, 128, (1000,), 3, 1, 1, 1), (128, 128, (1000,), 3, 1, 1, 128),
    (512, 512, (500,), 3, 1, 512, 8), (25, 25, (400,), 7, 1, 1, 4),
    (32, 32, (16, 28, 28), 3, 1, 1, 2), (16, 16, (32, 32, 32), 3, 1, 1, 2),
])  # fmt: skip
TRANSPOSED = [*_each([  # U-Net, FCN
    (1024, 512, 14, 2, 2), (512, 256, 28, 2, 2), (128, 64, 56, 2, 2), (64, 32, 112, 2, 2),
    (320, 320, (6, 6, 6), 2, 2), (64, 32, (16, 16, 16), 2, 2), (128, 64, (250,), 2, 2),
], transposed=True, padding=0), *_each([  # DCGAN, Pix2Pix, heads of detectors and of poses
    (512, 256, 4, 4, 2), (256, 128, 8, 4, 2), (128, 64, 16, 4, 2), (64, 3, 32, 4, 2),
    (1024, 256, 16, 4, 2), (256, 256, 32, 4, 2), (21, 21, 32, 4, 2), (64, 32, (8, 8, 8), 4, 2),
    (64, 32, 64, 4, 2, 4),
], transposed=True, padding=1), *_each([  # autoencoders, monocular depth, super-resolution
    (64, 32, 28, 3, 2), (256, 128, 14, 3, 2), (128, 64, (7, 7, 7), 3, 2), (32, 16, 80, 3, 2),
], transposed=True, padding=1, output_padding=1), *_each([  # stride 1, as decoders have it
    (64, 64, 28, 3), (32, 1, 56, 5), (128, 64, 14, 3, 1, 1, 2), (56, 1, 32, 9),
], transposed=True), Convolution(100, 512, 1, 4, 1, transposed=True, padding=0),
    Convolution(512, 256, (80,), 16, 8, transposed=True, padding=4),
    Convolution(256, 128, (640,), 16, 8, transposed=True, padding=4),
    Convolution(128, 64, (2560,), 4, 2, transposed=True, padding=1),
    Convolution(64, 1, (4000,), 10, 5, transposed=True, padding=0),
    Convolution(512, 512, 14, 4, 2, 512, transposed=True, padding=1),
    Convolution(21, 21, 14, 16, 8, transposed=True, padding=4),
]  # fmt: skip
SEQUENCES = [*_each([  # wav2vec 2.0 and HuBERT, Conv-TasNet, M5, EnCodec
    (1, 512, (16000,), 10, 5), (512, 512, (3199,), 3, 2), (512, 512, (199,), 2, 2),
    (1, 64, (16000,), 16, 8), (1, 128, (8000,), 80, 4), (128, 128, (499,), 3), (1, 32, (8000,), 7),
    (64, 128, (4000,), 8, 4), (256, 512, (500,), 16, 8),
], padding=0), *_each([  # Whisper, TextCNN, Conformer, WaveGlow, squeezed ones, EEG
    (80, 384, (1500,), 3), (384, 384, (1500,), 3, 2), (300, 100, (60,), 5), (50, 32, (200,), 3),
    (256, 256, (300,), 31, 1, 256), (512, 512, (100,), 15, 1, 512), (80, 512, (400,), 5),
    (512, 512, (400,), 5), (256, 256, (1000,), 1), (768, 768, (49,), 128, 1, 16),
    (8, 16, (4096,), 9), (16, 16, (4096,), 65), (4, 8, (20000,), 3), (64, 64, (100,), 7, 1, 64),
    (512, 2048, (128,), 1),
])]  # fmt: skip
VOLUMES = [*_each([  # C3D, R3D, R(2+1)D, SlowFast
    (3, 64, (16, 56, 56)), (64, 64, (8, 28, 28)), (64, 128, (8, 28, 28), 3, 2),
    (128, 128, (4, 14, 14)), (256, 256, (4, 14, 14)), (512, 512, (2, 7, 7)),
    (64, 144, (8, 28, 28), (1, 3, 3)), (144, 64, (8, 28, 28), (3, 1, 1)),
    (3, 45, (8, 112, 112), (1, 7, 7), (1, 2, 2)), (45, 64, (8, 56, 56), (3, 1, 1)),
    (256, 64, (4, 28, 28), (3, 1, 1)), (64, 64, (4, 28, 28), (1, 3, 3)),
    (8, 8, (32, 28, 28), (5, 1, 1)), (64, 256, (4, 28, 28), 1), (256, 512, (8, 14, 14), 1, 2),
    (1, 16, (32, 32, 32)), (16, 32, (32, 32, 32)), (32, 32, (16, 16, 16)),
    (32, 64, (16, 16, 16), 3, 2), (320, 320, (4, 4, 4)), (32, 4, (32, 32, 32), 1),
    (16, 16, (24, 24, 24), 5), (54, 54, (8, 28, 28), 3, 1, 54), (108, 108, (8, 14, 14), 3, 2, 108),
    (64, 64, (8, 14, 14), 3, 1, 8),
])]  # fmt: skip
GROUPED = _each([  # ResNeXt, RegNet, ShuffleNet, AlexNet, CondenseNet
    (128, 128, 56, 3, 1, 32), (256, 256, 28, 3, 1, 32), (512, 512, 14, 3, 1, 32),
    (1024, 1024, 7, 3, 1, 32), (256, 256, 56, 3, 2, 32), (48, 48, 56, 3, 1, 2),
    (120, 120, 28, 3, 1, 5), (336, 336, 14, 3, 1, 14), (888, 888, 7, 3, 1, 37),
    (232, 232, 28, 3, 2, 8), (96, 256, 27, 5, 1, 2), (384, 256, 13, 3, 1, 2),
    (240, 240, 28, 1, 1, 3), (480, 480, 14, 1, 1, 3), (200, 200, 28, 1, 1, 2),
    (384, 96, 14, 1, 1, 4), (64, 64, 56, 3, 1, 4), (64, 128, 28, 3, 1, 16), (32, 32, 112, 3, 1, 8),
    (16, 64, 56, 3, 1, 16), (64, 16, 56, 3, 1, 16), (256, 256, 14, 5, 1, 8),
    (128, 128, (1000,), 5, 1, 4), (512, 512, (250,), 41, 4, 16), (256, 512, (1000,), 41, 4, 32),
])  # fmt: skip
# Whole inputs, then window, stride, padding, dilation.
POOLS = [
    ((64, 112, 112), 3, 1, 1, 1), ((192, 28, 28), 3, 1, 1, 1), ((256, 14, 14), 5, 1, 2, 1),
    ((512, 7, 7), 7, 1, 0, 1), ((16, 112, 112), 7, 2, 3, 1), ((64, 40, 40), 13, 1, 6, 1),
    ((8, 224, 224), 16, 16, 0, 1), ((32, 64, 64), 9, 1, 4, 1), ((3, 256, 256), 32, 8, 0, 1),
    ((64, 56, 56), 2, 2, 0, 1), ((64, 55, 55), 3, 2, 0, 1), ((96, 13, 13), 3, 3, 1, 1),
    ((64, 28, 28), 3, 1, 1, 2), ((128, 1000), 3, 2, 1, 1), ((64, 16000), 4, 4, 0, 1),
    ((512, 199), 2, 2, 0, 1), ((1, 100000), 25, 25, 0, 1), ((32, 2000), 100, 10, 0, 1),
    ((80, 300), 5, 1, 2, 1), ((64, 16, 28, 28), 2, 2, 0, 1), ((64, 8, 56, 56), (1, 3, 3), (1, 2, 2),
    (0, 1, 1), 1), ((32, 16, 16, 16), 3, 2, 1, 1), ((16, 24, 24, 24), 3, 1, 1, 1),
    ((256, 4, 7, 7), (2, 7, 7), 1, 0, 1), ((512, 2, 4, 4), 2, 2, 0, 1),
]  # fmt: skip
# Whole inputs, and what they are made of.
ADAPTIVE = [
    ((512, 7, 7), 1), ((2048, 7, 7), 1), ((256, 13, 13), 6), ((512, 60, 60), 2), ((512, 60, 60), 3),
    ((512, 60, 60), 6), ((64, 56, 56), 7), ((64, 50, 37), 7), ((128, 1000), 10), ((128, 333), 50),
    ((64, 8, 28, 28), 1), ((32, 16, 30, 30), 4), ((3, 224, 224), 100),
]  # fmt: skip


def pools(random: Random, count: int) -> Iterator[Case]:
    """Means and maxima of windows in one to three dimensions; forward, and forward and back."""
    for _ in range(count):
        way = random.choice(("forward", "forward and backward"))
        yield _pool(random, random.choice(("max", "avg")), way)


def parts(random: Random, count: int) -> Iterator[Case]:
    """Where maxima stand, and means and maxima of parts of nearly the same size."""
    for _ in range(count):
        if random.random() < 0.4:
            yield _pool(random, "max with indices", "forward")
        else:
            yield _adaptive(random, random.choice(("forward", "forward and backward")))


def _around(random: Random, shape: tuple[int, ...], least: int) -> tuple[int, ...]:
    """A batch of images of this size, or a little away from it."""
    channels, *sizes = shape
    if random.random() < 0.5:
        channels = max(1, channels + random.randint(-3, 3))
        sizes = [max(least, n + random.randint(-n // 8, n // 8)) for n in sizes]
    return (random.choice(BATCHES), channels, *sizes)


def _pool(random: Random, kind: str, way: str) -> Case:
    rows = [row for row in POOLS if kind != "avg" or row[-1] == 1]
    inner, window, stride, padding, dilation = random.choice(rows)
    least = inner[1] if isinstance(window, tuple) else (window - 1) * dilation + 1
    shape = inner if isinstance(window, tuple) else _around(random, inner, least)
    shape = shape if len(shape) > len(inner) else (random.choice(BATCHES), *shape)
    options: dict[str, Any] = {"stride": stride, "padding": padding}
    options |= {} if kind == "avg" else {"dilation": dilation}
    name, _, indices = kind.partition(" ")
    name = f"{name}_pool{len(inner) - 1}d" + "_with_indices" * bool(indices)
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    functions: dict[str, Function] = {
        OURS: lambda x: ours(x, window, **options),
        TORCH: lambda x: theirs(x, window, **options),
    }
    words = f"{kind} pool {window}/{stride} p{padding}" + f" d{dilation}" * (dilation > 1)
    return layer(f"{words}, {shape}", [numbers(*shape)], functions, way, is_exact=True)


def _adaptive(random: Random, way: str) -> Case:
    inner, size = random.choice(ADAPTIVE)
    shape = _around(random, inner, size)
    kind = random.choice(("avg", "avg", "max"))
    name = f"adaptive_{kind}_pool{len(inner) - 1}d"
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    functions: dict[str, Function] = {
        OURS: lambda x: ours(x, size),
        TORCH: lambda x: theirs(x, size),
    }
    return layer(
        f"{kind} pool to {size}, {shape}", [numbers(*shape)], functions, way, is_exact=True
    )
