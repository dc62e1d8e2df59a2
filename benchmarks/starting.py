"""What a program takes before it runs at its pace: building, compiling, and sizes not seen before.

python benchmarks/starting.py MODEL LIBRARY    prints the seconds of one, in a process of its own
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import inference
import numpy as np
import peers
from compare import Result, Settings
from peers import COMPILED, JAX, OURS, TORCH, Build
from programs import EAGER, PROGRAM, STEPPED

ANY_BATCH = "program of any batch"
AGAIN = f"{COMPILED}, from its own cache on disk"
INFERRED = {case.name: case for case in inference.inference()}
STEADY, TRIES, TOUCHED = 7, 3, 2**27
# Batches of which a program has seen the first: a smaller one, and one that needs more memory.
BATCHES = {"small": (64, 48, 96), "mlp": (256, 192, 384), "cnn": (64, 48, 96), "lstm": (32, 24, 48),
           "gpt": (8, 6, 12), "resnet": (8, 6, 12)}  # fmt: skip


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _pace(step: Callable[[], Any]) -> float:
    """The seconds of a call that is not the first."""
    return statistics.median(_seconds(step) for _ in range(STEADY))


def _prepared(build: Build) -> tuple[float, float]:
    """The seconds of making the step, and of its first call beyond those that follow."""
    start = time.perf_counter()
    step = build()
    made = time.perf_counter() - start
    first = _seconds(step)
    return made, first - _pace(step)


def preparing(model: str, library: str) -> float:
    """The seconds of making a step, and of its first call beyond those that follow; of JAX, who
    makes no more than weights before, of the call alone.
    """
    np.ones(TOUCHED)  # a virtual machine's host makes pages at their first touch: not ours to time
    other = _builds("cnn" if model == "small" else "small")
    warm_up = other[library if library in other else OURS]()
    for _ in range(STEADY):
        warm_up()  # imports and threads are not the model's
    made, first = _prepared(_builds(model)[library])
    return first if library == JAX else made + first


def _builds(model: str) -> dict[str, Build]:
    if model in STEPPED:
        return dict(STEPPED[model][1]())
    case = INFERRED[model]
    return {**case.builds(), **case.given()}


def building(settings: Settings) -> Iterator[Result]:
    """What is spent beyond calls that run at once, which make and copy weights and touch memory as
    well: beside the fastest of those that compile, and PyTorch's own cache, which a second process
    finds on disk.
    """
    models = {key: f"{title}, as a program" for key, (title, _, _) in STEPPED.items()}
    for model, title in {**models, **{name: name for name in INFERRED}}.items():
        ours, at_once = (PROGRAM, OURS) if model in STEPPED else (OURS, EAGER)
        spent = _beyond(model, ours, at_once)
        name = f"building and compiling, {title}"
        yield from _beside(name, spent, _compiling(model, settings))


def _beyond(model: str, library: str, at_once: str) -> float:
    return _least(model, library) - _least(model, at_once)


def _least(model: str, library: str) -> float:
    return min(_apart(model, library) for _ in range(TRIES))


def _compiling(model: str, settings: Settings) -> Mapping[str, float]:
    found = {}
    if JAX in _builds(model):
        found[JAX] = _least(model, JAX)
    if settings.compiles:
        at_once = _least(model, TORCH)
        with tempfile.TemporaryDirectory() as cache:
            found[COMPILED] = _apart(model, COMPILED, cache) - at_once
            found[AGAIN] = _apart(model, COMPILED, cache) - at_once
    return found


def _beside(name: str, ours: float, theirs: Mapping[str, float]) -> Iterator[Result]:
    fastest = min((peer for peer in theirs if peer != AGAIN), key=theirs.__getitem__, default="")
    for peer, seconds in theirs.items():
        ratio = ours / seconds
        bar = 0.02 if peer == fastest else None
        yield Result(name, ours, "s", peer, seconds, ratio, ratio, bar)


def new_sizes() -> Iterator[Result]:
    """The first run of a compiled program with another batch, of the time that such a batch takes
    from then on.
    """
    for model, (_, smaller, larger) in BATCHES.items():
        for batch in (smaller, larger):
            tries = [_first_of(model, batch) for _ in range(TRIES)]
            first, pace = min(tries, key=lambda times: times[0] / times[1])
            name = f"first run of batch {batch}, {STEPPED[model][0]}"
            yield Result(name, first, "s", "later runs", pace, first / pace, first / pace, 1.5)


def _first_of(model: str, batch: int) -> tuple[float, float]:
    command = [sys.executable, __file__, model, ANY_BATCH, str(batch)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    first, pace = (float(word) for word in done.stdout.split())
    return first, pace


def first_and_pace(model: str, batch: int) -> tuple[float, float]:
    """The seconds of the first run of a batch after another one, and of those that follow."""
    steps: Any = STEPPED[model][1]()[ANY_BATCH]()
    _pace(steps(BATCHES[model][0]))
    step = steps(batch)
    return _seconds(step), _pace(step)


def _apart(model: str, library: str, cache: str | None = None) -> float:
    """In a process of its own."""
    environment = dict(os.environ)
    if cache is not None:
        environment |= {"TORCHINDUCTOR_CACHE_DIR": cache, "TRITON_CACHE_DIR": cache}
    command = [sys.executable, __file__, model, library]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def starting(settings: Settings) -> list[Result]:
    """Both."""
    return [*building(settings), *new_sizes()]


if __name__ == "__main__":
    peers.tl.set_num_threads(2)
    if sys.argv[2] == ANY_BATCH:
        print(*first_and_pace(sys.argv[1], int(sys.argv[3])))
    else:
        print(preparing(*sys.argv[1:]))
