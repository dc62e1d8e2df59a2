"""How much faster more threads make it, beside PyTorch: 1, 2, 4, 8, ... threads on as many cores.

    python benchmarks/threads.py [MOST]

Each number of threads has a process of its own, held to as many cores, in which both libraries take
turns on the same inputs, checked before. The table tells, for each op, our time with one thread and
how many times faster it is with more, the same of PyTorch in brackets, and our time relative to
PyTorch's with the most threads. MOST: the largest number; all cores without it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Found = dict[str, dict[str, float]]


def counts(most: int) -> list[int]:
    """Powers of two up to `most`."""
    return [2**i for i in range(most.bit_length()) if 2**i <= most]


def measured(threads: int) -> Found:
    """Seconds of a call, by op and library, in a process of its own."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "TENSORLIKE_NUM_THREADS": str(threads),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--in-process", str(threads)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    found: Found = json.loads(done.stdout)
    return found


def cases() -> dict[str, tuple[list[Any], Callable[..., Any], Callable[..., Any]]]:
    """Inputs, our function and PyTorch's; large work of each kind, and some that is small."""
    import torch
    from elementwise import arrays

    import tensorlike.functional as F

    (long,) = arrays(1, 30_000_000)
    (rows,) = arrays(1, 20_000, 1024)
    large = arrays(2, 2048, 2048)
    batches = arrays(2, 256, 128, 128)
    image, weights = *arrays(1, 16, 64, 56, 56), *arrays(1, 128, 64, 3, 3)
    channels, taps = *arrays(1, 16, 128, 56, 56), *arrays(1, 128, 1, 3, 3)
    heads = arrays(3, 8, 8, 512, 64)
    attend = torch.nn.functional.scaled_dot_product_attention
    conv = torch.nn.functional.conv2d
    return {
        "add, 3e7": ([long, long], F.add, torch.add),
        "gelu, 3e7": ([long], F.gelu, torch.nn.functional.gelu),
        "add, 1e6": ([long[:1_000_000]] * 2, F.add, torch.add),
        "exp, 1e5": ([long[:100_000]], F.exp, torch.exp),
        "sum, 3e7": ([long], F.sum, torch.sum),
        "sum over rows, 20000 x 1024": (
            [rows],
            lambda x: F.sum(x, axis=0),
            lambda x: torch.sum(x, 0),
        ),
        "softmax, 20000 x 1024": (
            [rows],
            lambda x: F.softmax(x, axis=-1),
            lambda x: torch.softmax(x, -1),
        ),
        "product, 2048": (large, F.matmul, torch.matmul),
        "product, 256": ([x[:256, :256] for x in large], F.matmul, torch.matmul),
        "products, 256 of 128": (batches, F.matmul, torch.matmul),
        "convolution 3x3, 64 to 128, 16 x 56 x 56": (
            [image, weights],
            lambda x, w: F.conv2d(x, w, padding=1),
            lambda x, w: conv(x, w, padding=1),
        ),
        "depthwise 3x3, 128, 16 x 56 x 56": (
            [channels, taps],
            lambda x, w: F.conv2d(x, w, padding=1, groups=128),
            lambda x, w: conv(x, w, padding=1, groups=128),
        ),
        "max pooling 2, 16 x 128 x 56 x 56": (
            [channels],
            lambda x: F.max_pool2d(x, 2),
            lambda x: torch.nn.functional.max_pool2d(x, 2),
        ),
        "attention, 8 x 8 x 512 x 64": (heads, F.attention, attend),
        "sort, 1e6": ([long[:1_000_000]], F.sort, lambda x: torch.sort(x).values),
        "transpose, 4096": (
            [long[: 4096 * 4096].reshape(4096, 4096)],
            lambda x: F.reshape(x.T, (-1,)),
            lambda x: x.T.reshape(-1),
        ),
    }


def in_process(threads: int) -> Found:
    """Both libraries in turns."""
    import torch
    from compare import Settings, arrays_of, time_calls
    from peers import OURS, TORCH, forward

    import tensorlike as tl

    torch.set_num_threads(threads)
    tl.set_num_threads(threads)
    settings = Settings(is_quick=True)
    found: Found = {}
    for name, (xs, ours, theirs) in cases().items():
        built = {who: build() for who, build in forward(xs, {OURS: ours, TORCH: theirs}).items()}
        mine, other = (arrays_of(call())[0] for call in built.values())
        most = float(abs(other).max())
        if float(abs(mine - other).max()) > 1e-4 * most:
            raise SystemExit(f"{name}: the results differ")
        taken = time_calls(
            built, rounds=settings.rounds, turn=settings.turn, seconds=settings.seconds
        )
        found[name] = {who: taken.median(who) for who in built}
    return found


def table(found: dict[int, Found]) -> str:
    """A row for each op."""
    import report

    first, *more = found
    head = ["op", "ms, one thread", *(f"{n} threads" for n in more), "of PyTorch's, one", "most"]
    lines = [report.head(head)]
    for name, alone in found[first].items():
        ours, theirs = alone.values()
        cells = [name, f"{1e3 * ours:.3g}"]
        for n in more:
            a, b = found[n][name].values()
            cells.append(f"{ours / a:.1f} ({theirs / b:.1f})")
        a, b = found[[first, *more][-1]][name].values()
        lines.append(report.line([*cells, f"{ours / theirs:.2f}", f"{a / b:.2f}"]))
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in-process"]:
        print(json.dumps(in_process(int(sys.argv[2]))))
    else:
        most = int(sys.argv[1]) if sys.argv[1:] else len(os.sched_getaffinity(0))
        print(table({n: measured(n) for n in counts(most)}))
