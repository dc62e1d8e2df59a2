"""Linear layers of an encoder, and convolutions, in 8-bit integers, beside our own in float32.

    python benchmarks/low_precision.py

Both are compiled programs, which take turns; ratios of medians and of the best rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

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
ROUNDS = 60


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


def measure(calls: list[Callable[[], Any]]) -> list[list[float]]:
    """Seconds of each, round by round."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(ROUNDS):
        for call, found in zip(calls, times, strict=True):
            begin = time.perf_counter()
            call()
            found.append(time.perf_counter() - begin)
    return times


def main() -> None:
    """Prints a line for each shape."""
    for shape in [*SHAPES, *WINDOWS]:
        first, *rest = measure(contenders(shape))
        parts = [
            f"{how} {statistics.median(found) / statistics.median(first):.2f} "
            f"(best {min(found) / min(first):.2f})"
            for how, found in zip(HOWS, rest, strict=True)
        ]
        median = statistics.median(first) * 1e6
        print(f"{shape}: float32 {median:.0f} us; of that {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
