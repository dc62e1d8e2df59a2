"""The engine's modes against each other: whole training steps, lines that fuse, small ops.

    python benchmarks/modes.py [--rounds 10] [--threads 1] [name ...]

Modes take turns within each round, and the best of all rounds counts. On a machine that others use
too, `--threads 1` and the processor's time, which is printed beside the clock's, say most.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike import functional as F

Step = Callable[[], Any]
MODES: dict[str, dict[str, Any]] = {
    "sync": {"name": "sync"},
    "async": {"name": "async"},
    "lazy": {"name": "lazy", "threshold": 1 << 14},
    "lazy 256k": {"name": "lazy", "threshold": 1 << 18},
}
PAUSE = 0.004  # seconds between contenders


def normal(*shape: int) -> tl.Tensor:
    return tl.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def six_lines() -> Step:
    x, y = normal(10_000_000), normal(10_000_000)

    def step() -> float:
        a = x * y
        b = F.exp(a)
        c = b - y
        d = c * 0.5
        e = F.tanh(d)
        return float((e + x)[0].item())

    return step


def sum_of_product() -> Step:
    x, y = normal(10_000_000), normal(10_000_000)
    return lambda: (x * y + x).sum().item()


def softmax_lines() -> Step:
    x = normal(10_000, 1000)

    def step() -> float:
        e = F.exp(x - F.max(x, axis=1, keepdims=True))
        return float((e / F.sum(e, axis=1, keepdims=True))[0, 0].item())

    return step


def chain(length: int, size: int) -> Step:
    x = normal(size)

    def step() -> float:
        y = x
        for _ in range(length):
            y = y * 1.5
        return float(y[0].item())

    return step


def adam() -> Step:
    p = tl.tensor(np.ones(10_000_000, np.float32), requires_grad=True)
    optimizer = tl.optim.Adam([p], lr=1e-3)

    def step() -> float:
        loss = (p * p).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.item())

    return step


def operators(x: tl.Tensor, y: tl.Tensor) -> tl.Tensor:
    """Five lines of operators alone."""
    a = x * y + 1.0
    b = a * a - x
    c = b / (1.0 + a * a)
    d = c * y + a
    return d * 0.5


def lines(is_trained: bool) -> Step:
    x, y = normal(1_000_000), normal(1_000_000)
    x.requires_grad = is_trained

    def step() -> float:
        z = operators(x, y)
        if not is_trained:
            return float(z[0].item())
        x.grad = None
        z.sum().backward()
        return float(x.grad[0].item())

    return step


def update() -> Step:
    p, v, gradient = normal(1_000_000), normal(1_000_000), normal(1_000_000)

    def step() -> float:
        nonlocal p, v
        v *= 0.9
        v += 0.1 * gradient
        p -= 0.01 * v
        return float(p[0].item())

    return step


def tiny() -> Step:
    x, y = normal(8), normal(8)

    def step() -> None:
        for _ in range(300):
            x * y

    return step


BUILDS: dict[str, Callable[[], Step]] = {
    "six lines, 1e7": six_lines,
    "sum of a product, 1e7": sum_of_product,
    "softmax in lines, 1e7": softmax_lines,
    "five lines, 1e6": lambda: lines(False),
    "five lines and back, 1e6": lambda: lines(True),
    "three updates, 1e6": update,
    "20 lines, 2e4": lambda: chain(20, 20_000),
    "10 lines, 2e5": lambda: chain(10, 200_000),
    "Adam, 1e7": adam,
    "300 tiny ops": tiny,
}
MODELS = ("mlp", "cnn", "lstm", "gpt")


def build(name: str) -> Step:
    if name in BUILDS:
        return BUILDS[name]()
    step: Step = importlib.import_module(f"models.{name}").builds()["tensorlike"]()
    return step


def time_once(step: Step) -> tuple[float, float]:
    cpu, clock = time.process_time(), time.perf_counter()
    step()
    tl.engine.sync()
    return time.process_time() - cpu, time.perf_counter() - clock


def rows(names: list[str], rounds: int) -> Iterator[str]:
    for name in names:
        step = build(name)
        best: dict[str, tuple[float, float]] = {}
        for turn in range(rounds):
            order = list(MODES)
            for mode in order[turn % 4 :] + order[: turn % 4]:
                with tl.engine.mode(**MODES[mode]):
                    step()
                    time.sleep(PAUSE)
                    took = time_once(step)
                before = best.get(mode, took)
                best[mode] = (min(before[0], took[0]), min(before[1], took[1]))
        cells = (f"{cpu * 1e3:9.2f} ({clock * 1e3:9.2f})" for cpu, clock in best.values())
        yield f"{name:24}" + "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*MODELS, *BUILDS])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    tl.set_num_threads(arguments.threads)
    print(f"{'ms of the processor (clock)':24}" + "  ".join(f"{mode:>21}" for mode in MODES))
    for row in rows(arguments.names, arguments.rounds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
