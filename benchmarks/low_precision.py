"""Linear layers of an encoder in 8-bit integers, beside our own in float32.

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
HOWS: tuple[Any, ...] = ("dynamic", "static")
ROUNDS = 60


def contenders(rows: int, k: int, n: int) -> list[Callable[[], Any]]:
    """The layer in float32, then quantised in each way."""
    x = tl.tensor(np.random.default_rng(0).standard_normal((rows, k), dtype=np.float32))
    layer, listing = tl.nn.Linear(k, n, seed=0), tl.Listing()
    y = layer(listing.input("x", (rows, k)))
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
    for shape in SHAPES:
        first, *rest = measure(contenders(*shape))
        parts = [
            f"{how} {statistics.median(found) / statistics.median(first):.2f} "
            f"(best {min(found) / min(first):.2f})"
            for how, found in zip(HOWS, rest, strict=True)
        ]
        median = statistics.median(first) * 1e6
        print(f"{shape}: float32 {median:.0f} us; of that {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
