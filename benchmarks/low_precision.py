"""Linear layers of an encoder, and convolutions, in 8-bit integers, beside our own in float32.

    python benchmarks/low_precision.py

Both are compiled programs, which take turns; ratios of medians and of the best rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from compare import time_calls

import tensorlike as tl
from tensorlike import static

SHAPES = [(rows, *size) for rows in (128, 2048) for size in ((384, 384), (384, 1536), (1536, 384))]
# Images, channels, height and width, channels of the result, kernel, stride, groups.
WINDOWS = [
    (1, 64, 56, 64, 3, 1, 1), (1, 128, 28, 128, 3, 1, 1), (1, 256, 14, 256, 3, 1, 1),
    (1, 512, 7, 512, 3, 1, 1), (8, 64, 56, 64, 3, 1, 1), (1, 64, 56, 128, 3, 2, 1),
    (1, 3, 224, 64, 7, 2, 1), (1, 64, 56, 64, 1, 1, 1), (1, 256, 14, 1024, 1, 1, 1),
    (1, 64, 56, 64, 3, 1, 64),
]  # fmt: skip
HOWS: tuple[Any, ...] = ("dynamic", "static")
ROUNDS, SECONDS = 60, 0.001
WIDE = "float32"


def layer_of(shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """A layer, and the shape of what it reads."""
    if len(shape) == 3:
        rows, k, n = shape
        return tl.nn.Linear(k, n, seed=0), (rows, k)
    images, channels, size, out, kernel, stride, groups = shape
    how = {"stride": stride, "padding": kernel // 2, "groups": groups, "seed": 0}
    return tl.nn.Conv2d(channels, out, kernel, **how), (images, channels, size, size)


def contenders(shape: tuple[int, ...]) -> list[Callable[[], Any]]:
    """The layer in float32, then quantised in each way."""
    layer, read = layer_of(shape)
    x = tl.tensor(np.random.default_rng(0).standard_normal(read, dtype=np.float32))
    listing = tl.Listing()
    y = layer(listing.input("x", read))
    made = [static.quantize(listing, [y], how, samples=[[x]]) for how in HOWS]
    programs = [(listing, [y]), *((one.program, list(one.results)) for one in made)]

    def call(program: Any, results: list[Any]) -> Callable[[], Any]:
        compiled = static.CompiledProgram(program)
        return lambda: compiled.run(results, x)

    return [call(*program) for program in programs]


def main() -> None:
    """Prints a line for each shape."""
    for shape in [*SHAPES, *WINDOWS]:
        calls = dict(zip((WIDE, *HOWS), contenders(shape), strict=True))
        times = time_calls(calls, rounds=ROUNDS, turn=SECONDS)
        parts = [
            f"{how} {times.ratio(how, WIDE):.2f} (best {times.best_ratio(how, WIDE):.2f})"
            for how in HOWS
        ]
        median = times.median(WIDE) * 1e6
        print(f"{shape}: float32 {median:.0f} us; of that {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
