"""Products and elementwise steps of bfloat16 and float16, beside float32's and PyTorch's.

    python benchmarks/halves.py [threads]

Contenders take turns, conversions beside a negation in float32. With one thread, the default, time
is the processor's, which other programs of the machine disturb least. Ratios are of medians, and in
brackets of the best rounds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from compare import time_calls
from peers import OURS, TORCH

import tensorlike as tl
import tensorlike.functional as F

HALVES = ("bfloat16", "float16")
WIDE = "float32"
# Rows, columns that are summed, columns of the result, whether the right operand is transposed.
PRODUCTS = [
    (512, 512, 512, False), (1024, 1024, 1024, False), (2048, 2048, 2048, False),
    (128, 384, 1536, False), (1, 1024, 4096, False), (1, 1024, 4096, True),
    (8, 1024, 4096, False), (8, 1024, 4096, True),
]  # fmt: skip
COUNTS = (100_000, 10_000_000)
ROUNDS, LEAST = 15, 3e-3  # of a round, seconds
MOST = 10.0  # seconds of a row, from which on no further round begins

Call = Callable[[], Any]


def given(x: Any, dtype: str) -> tuple[Any, Any]:
    """An array as a tensor of ours, and of theirs."""
    return F.astype(tl.tensor(x), dtype), torch.tensor(x).to(getattr(torch, dtype))


def checked(name: str, ours: Call, theirs: Call) -> None:
    """Stops unless the results are near each other."""
    found = np.array(F.astype(ours(), "float32"))
    wanted = theirs().float().numpy()
    most = float(np.abs(wanted).max())
    if not np.allclose(found, wanted, rtol=0.02, atol=0.02 * most):
        raise SystemExit(f"{name}: the results differ by {np.abs(found - wanted).max()}")


def products(dtype: str) -> Iterator[tuple[str, list[Call]]]:
    """Ours in 16 bits, ours in float32, theirs in 16 bits."""
    rng = np.random.default_rng(0)
    for m, k, n, is_transposed in PRODUCTS:
        a = rng.standard_normal((m, k), dtype=np.float32)
        b = rng.standard_normal((n, k) if is_transposed else (k, n), dtype=np.float32)
        pairs = [(given(a, kind), given(b, kind)) for kind in (dtype, "float32")]
        if is_transposed:
            pairs = [(x, (F.matrix_transpose(y[0]), y[1].mT)) for x, y in pairs]
        calls: list[Call] = [lambda x=x, y=y: F.matmul(x[0], y[0]) for x, y in pairs]
        x, y = pairs[0]
        calls.append(lambda x=x, y=y: x[1] @ y[1])
        yield f"{m}x{k}x{n}{', b transposed' * is_transposed}", calls


def steps(dtype: str) -> Iterator[tuple[str, list[Call]]]:
    """Elementwise, in the same order."""
    for count in COUNTS:
        for name, calls in steps_of(count, dtype).items():
            yield f"{name}, {count:.0e}", calls


def steps_of(count: int, dtype: str) -> dict[str, list[Call]]:
    """Those of so many elements."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(count, dtype=np.float32) for _ in range(2))
    (x, p), (y, q), (wide, r) = given(a, dtype), given(b, dtype), given(a, "float32")
    other, kind = tl.tensor(b), getattr(torch, dtype)
    return {
        "add": [lambda: F.add(x, y), lambda: F.add(wide, other), lambda: p + q],
        "exp": [lambda: F.exp(x), lambda: F.exp(wide), lambda: torch.exp(p)],
        "from float32": [lambda: F.astype(wide, dtype), lambda: F.negative(wide),
                         lambda: r.to(kind)],
        "to float32": [lambda: F.astype(x, "float32"), lambda: F.negative(wide),
                       lambda: p.float()],
    }  # fmt: skip


def main() -> None:
    """Prints a row for each."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    tl.set_num_threads(threads)
    torch.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    print("| | dtype | us | of float32's time | of PyTorch's |\n|---|---|---:|---:|---:|")
    for dtype in HALVES:
        for make in (products, steps):
            for name, calls in make(dtype):
                checked(name, calls[0], calls[2])
                contenders = dict(zip((OURS, WIDE, TORCH), calls, strict=True))
                times = time_calls(contenders, rounds=ROUNDS, turn=LEAST, clock=clock, seconds=MOST)
                median = times.median(OURS) * 1e6
                row = f"{median:.1f} | {times.told(OURS, WIDE)} | {times.told(OURS, TORCH)}"
                print(f"| {name} | {dtype} | {row} |", flush=True)


if __name__ == "__main__":
    main()
