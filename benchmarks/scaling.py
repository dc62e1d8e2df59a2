"""Very long runs, each in a process of its own: linear time, bounded memory, no recursion.

python benchmarks/scaling.py LIBRARY WHAT COUNT      (what the processes run)
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STACK = 256 * 1024


def deep(settings: Any) -> list[Any]:
    """Forward and backward through a chain, with a stack of 256 KB."""
    from compare import Result

    long = 100_000 if settings.is_quick else 1_000_000
    short = long // 10
    ours, ours_short = child("tensorlike", "deep", long), child("tensorlike", "deep", short)
    theirs = child("torch", "deep", long)
    per_op = 1 / long
    ratio = ours["seconds"] / ours_short["seconds"]
    return [
        Result(
            f"chain of {long:.0e} ops, stack of 256 KB: time against {short:.0e}",
            ours["seconds"],
            "s",
            f"at {short:.0e}",
            ours_short["seconds"],
            ratio,
            bar=15,
        ),
        Result(
            f"chain of {long:.0e} ops, forward and backward, per op",
            ours["seconds"] * per_op,
            "s",
            "PyTorch",
            theirs["seconds"] * per_op,
            ours["seconds"] / theirs["seconds"],
        ),
        Result(
            f"chain of {long:.0e} ops, peak memory beyond the import",
            ours["bytes"],
            "B",
            "PyTorch",
            theirs["bytes"],
            ours["bytes"] / theirs["bytes"],
        ),
    ]


def leak(settings: Any) -> list[Any]:
    """Memory after a million ops, beyond what it was before."""
    from compare import Result

    count = 100_000 if settings.is_quick else 1_000_000
    growth = child("tensorlike", "leak", count)["bytes"]
    return [Result(f"{count:.0e} ops in a loop: growth of memory", growth, "B", bar=1e6)]


def child(library: str, what: str, count: int) -> dict[str, float]:
    """What a fresh process found. PyTorch keeps the stack that it is used to."""

    def shrink_stack() -> None:
        if library == "tensorlike":
            resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))

    done = subprocess.run(
        [sys.executable, str(Path(__file__)), library, what, str(count)],
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=shrink_stack,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def run_deep(library: Any, count: int) -> dict[str, float]:
    """``x * 1 + ... + 1``: the gradient must be 1."""
    x = library.tensor([2.0] * 8, requires_grad=True)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = memory()
    start = time.perf_counter()
    y = x
    for _ in range(count):
        y = y + 1.0
    y.sum().backward()
    del y
    seconds = time.perf_counter() - start
    if x.grad.tolist() != [1.0] * 8:
        raise SystemExit("the gradient is wrong")
    return {"seconds": seconds, "bytes": peak_memory() - before}


def run_leak(library: Any, count: int) -> dict[str, float]:
    """Three ops a turn, recorded and not."""
    a, b = library.tensor([1.0] * 8), library.tensor([2.0] * 8, requires_grad=True)

    def turn() -> None:
        (a + a) * b
        a.sum()

    for _ in range(10_000):
        turn()
    before = memory()
    for _ in range(count // 3):
        turn()
    return {"bytes": memory() - before}


def memory() -> int:
    """Bytes of this process in memory."""
    return status("VmRSS")


def peak_memory() -> int:
    """The most that it was since the peak started anew."""
    return status("VmHWM")


def status(name: str) -> int:
    """Bytes, of what the system says about this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"the system does not tell {name}")


if __name__ == "__main__":
    name, what, count = sys.argv[1:]
    library = __import__(name)
    run = {"deep": run_deep, "leak": run_leak}[what]
    print(json.dumps(run(library, int(count))))
