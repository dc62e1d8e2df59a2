"""What a busy neighbour costs: the same ops while another process works on every core."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

import torch
from compare import Result, Settings, time_calls
from elementwise import arrays
from peers import OURS, TORCH, Call, forward

import tensorlike.functional as F

MOST = 4.0  # how many times slower a median may become


def contenders() -> dict[str, Mapping[str, Call]]:
    """The ops, for both libraries."""
    large = arrays(2, 10_000_000)
    square = arrays(2, 1024, 1024)
    (rows,) = arrays(1, 10_000, 1024)
    (small,) = arrays(1, 100_000)
    ops = {
        "add, 1e+07": (large, F.add, torch.add),
        "exp, 1e+05": ([small], F.exp, torch.exp),
        "sum, 1e+07": (large[:1], F.sum, torch.sum),
        "softmax, 10000 x 1024": (
            [rows],
            lambda x: F.softmax(x, axis=-1),
            lambda x: torch.softmax(x, -1),
        ),
        "matmul, 1024": (square, F.matmul, torch.matmul),
    }
    return {
        name: {who: build() for who, build in forward(xs, {OURS: ours, TORCH: theirs}).items()}
        for name, (xs, ours, theirs) in ops.items()
    }


def medians(ops: Mapping[str, Mapping[str, Call]], settings: Settings) -> dict[str, float]:
    """Seconds of a call, by op and library."""
    found = {}
    for name, calls in ops.items():
        for who, call in calls.items():
            taken = time_calls(
                {who: call},
                rounds=settings.rounds,
                turn=settings.turn,
                seconds=settings.seconds / 2,
            )
            found[f"{name}, {who}"] = taken.median(who)
    return found


@contextlib.contextmanager
def neighbours() -> Iterator[None]:
    """A busy process on each core that we may use."""
    code = "import os, sys\nos.sched_setaffinity(0, [int(sys.argv[1])])\nwhile True: pass"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(core)])
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        time.sleep(0.3)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def busy(settings: Settings) -> list[Result]:
    """How many times slower each op becomes."""
    ops = contenders()
    quiet = medians(ops, settings)
    with neighbours():
        slowed = medians(ops, settings)
    factors = {name: slowed[name] / quiet[name] for name in quiet}
    return [
        Result(
            f"{name}: how much slower beside a busy process on each core",
            factors[f"{name}, {OURS}"],
            "x",
            TORCH,
            factors[f"{name}, {TORCH}"],
            factors[f"{name}, {OURS}"] / factors[f"{name}, {TORCH}"],
            bar=MOST,
            bar_is_absolute=True,
        )
        for name in ops
    ]
