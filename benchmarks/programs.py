"""Training steps as static programs, which an executor runs; the same models as networks.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from cases import Case
from compare import Contender, Result, Settings, time_in_turns
from models import cnn, gpt, lstm, mlp, resnet
from peers import COMPILED, JAX, OURS, TORCH, Build

import tensorlike as tl
from tensorlike import static

EAGER = "tensorlike, at once"
PROGRAM = "program"
OPS = 1000
# What trains: its title, its contenders, and the most that its step may take of the best peer's.
STEPPED: dict[str, tuple[str, Callable[[], Mapping[str, Build]], float]] = {
    "small": ("MLP 784-256-10, batch 64, Adam step", mlp.small, 0.5),
    "mlp": ("MLP 784-1024-1024-10, batch 256, Adam step", mlp.builds, 0.8),
    "cnn": ("CNN, 32 and 64 channels, batch 64 of 28 x 28, step", cnn.builds, 0.8),
    "lstm": ("LSTM, 2 layers of 256, batch 32, 64 steps in time, step", lstm.builds, 0.5),
    "gpt": ("GPT, 4 layers of 128, batch 8, 128 tokens, AdamW step", gpt.builds, 0.8),
    "resnet": ("ResNet-18, batch 8 of 224 x 224, Adam step", resnet.builds, 0.8),
}


def programs() -> Iterator[Case]:
    """Each beside the peers, and beside our own steps at once."""
    for title, builds, bar in STEPPED.values():
        yield Case(
            name=f"{title}, as a program",
            bar=bar,
            builds=lambda builds=builds: _contenders(builds()),
            given=lambda builds=builds: {EAGER: builds()[OURS]},
            tolerance=1e-3,
        )


def _contenders(found: Mapping[str, Build]) -> dict[str, Build]:
    made = {OURS: found[PROGRAM], TORCH: found[TORCH], COMPILED: found[COMPILED]}
    return {**made, JAX: found[JAX]} if JAX in found else made


def overhead(settings: Settings) -> list[Result]:
    """A thousand additions of eight elements: all that is not arithmetic, with the op itself."""
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (8,))
        y = x
        for _ in range(OPS):
            y = y + x
    given = tl.tensor(np.ones(8, np.float32))
    executor = static.Executor()
    names = {
        "run": executor.run, "main": main, "feed": {"x": given}, "ys": [y], "x": given,
        "at_once": _at_once,
    }  # fmt: skip
    timings = time_in_turns(
        {
            OURS: Contender("run(main, feed, ys, return_numpy=False)[0]", names),
            EAGER: Contender("at_once(x)", names),
        },
        settings,
    )
    (row,) = timings.results(f"{OPS} additions of 8 elements, per op", {EAGER: None}, per=OPS)
    return [dataclasses.replace(row, bar=0.15e-6, bar_is_absolute=True)]


def _at_once(x: Any) -> Any:
    y = x
    for _ in range(OPS):
        y = y + x
    return y
