"""The peak of memory, beside the peers'; each contender in a process of its own.

python benchmarks/memory.py MODEL LIBRARY    prints the bytes of one
"""

from __future__ import annotations

import ctypes
import gc
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import inference
from compare import Result, Settings
from peers import OURS, TORCH
from programs import PROGRAM, STEPPED

import tensorlike as tl

INFERRED = {case.name: case.builds for case in inference.inference()}
STEPS, TRIES = 4, 3


def resident() -> int:
    """The bytes that the process has in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def peak_since_reset() -> int:
    """The most that it had since the last write to clear_refs."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def tidy() -> None:
    """Gives back what the allocators keep, so that it counts for nobody."""
    gc.collect()
    tl.memory.empty_cache()
    ctypes.CDLL(None).malloc_trim(0)


def measure(model: str, library: str) -> int:
    """The peak of a few steps over what there was before the model: weights, moments, activations,
    and what the allocator keeps.
    """
    builds = STEPPED[model][1]() if model in STEPPED else INFERRED[model]()
    warm_up = builds[library]()
    for _ in range(STEPS):
        warm_up()  # what a library and its threads set up at first is not the model's
    del warm_up
    tidy()
    before = resident()
    step = builds[library]()
    tidy()
    Path("/proc/self/clear_refs").write_text("5")
    for _ in range(STEPS):
        step()
    return peak_since_reset() - before


def memory(settings: Settings) -> list[Result]:
    """Of training steps, at once and as programs, and of what only infers."""
    rows = []
    for model, (name, _, _) in STEPPED.items():
        theirs = _least(model, TORCH)
        at_once = {} if model == "small" else {OURS: (name, 0.9)}
        for library, (title, bar) in {**at_once, PROGRAM: (f"{name}, as a program", 0.8)}.items():
            rows.append(_row(title, _least(model, library), {TORCH: theirs}, bar))
    for model in INFERRED:
        peers = (TORCH, inference.ONNX) if inference.onnxruntime else (TORCH,)
        found = {peer: _least(model, peer) for peer in peers}
        rows.append(_row(model, _least(model, OURS), found, 0.8))
    return rows


def _least(model: str, library: str) -> int:
    """Of a few processes."""
    command = [sys.executable, __file__, model, library]
    tries: Iterable[int] = [
        int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(TRIES)
    ]
    return min(tries)


def _row(name: str, ours: int, theirs: Mapping[str, int], bar: float) -> Result:
    best = min(theirs, key=lambda peer: theirs[peer])
    ratio = ours / theirs[best]
    return Result(f"peak memory, {name}", ours, "B", best, theirs[best], ratio, ratio, bar)


if __name__ == "__main__":
    print(measure(*sys.argv[1:]))
