"""The peak of memory in training steps, beside PyTorch's; each in a process of its own.

python benchmarks/memory.py MODEL LIBRARY    prints the bytes of one
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import resource
import subprocess
import sys
from pathlib import Path

from compare import Result, Settings

import tensorlike as tl

MODELS = {
    "mlp": "MLP 784-1024-1024-10, batch 256, Adam step",
    "cnn": "CNN, 32 and 64 channels, batch 64 of 28 x 28, step",
    "gpt": "GPT, 4 layers of 128, batch 8, 128 tokens, AdamW step",
}
STEPS = 4


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
    builds = importlib.import_module(f"models.{model}").builds()
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
    """A row for each model."""
    found = []
    for model, name in MODELS.items():
        peaks = {}
        for library in ("tensorlike", "PyTorch"):
            command = [sys.executable, __file__, model, library]
            tries = [
                int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(5)
            ]
            peaks[library] = min(tries)
        ours, theirs = peaks["tensorlike"], peaks["PyTorch"]
        found.append(
            Result(
                f"peak memory, {name}",
                ours,
                "B",
                "PyTorch",
                theirs,
                ours / theirs,
                ours / theirs,
                0.9,
            )
        )
    return found


if __name__ == "__main__":
    print(measure(*sys.argv[1:]))
