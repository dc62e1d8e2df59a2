"""Random programs for passes: what people write, with dead and shared code, sizes and states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

COLUMNS = 4


@dataclass
class RandomProgram:
    """A program, what starts its states, what it gives, and what it can be fed."""

    main: Any
    startup: Any
    results: list[Any]
    feeds: dict[str, Any]


def _softmax(x: Any) -> Any:
    e = F.exp(x - F.max(x, axis=-1, keepdims=True))
    return e / F.sum(e, axis=-1, keepdims=True)


def _norm(x: Any) -> Any:
    d = x - F.mean(x, axis=-1, keepdims=True)
    return d / F.sqrt(F.mean(d * d, axis=-1, keepdims=True) + 1e-3)


UNARY: tuple[Callable[[Any], Any], ...] = (
    lambda x: x * 1, lambda x: x + 0, lambda x: x - 0.0, lambda x: 0.5 * x,
    lambda x: F.negative(F.negative(x)),
    lambda x: x / 2, lambda x: 1 - x, F.tanh, F.sigmoid, F.erf, F.abs, F.relu, F.square,
    lambda x: F.relu(F.relu(x)), lambda x: F.exp(F.minimum(x, 1)), lambda x: F.log(F.abs(x) + 1),
    lambda x: F.sqrt(x * x + 1), lambda x: F.rsqrt(F.square(x) + 1), lambda x: x / (1 + F.exp(-x)),
    lambda x: 1 / (1 + F.exp(-x)), lambda x: 0.5 * x * (1 + F.erf(x / 2**0.5)),
    lambda x: x * F.sigmoid(x), lambda x: F.log(1 + F.exp(x)), lambda x: F.where(x > 0, x, 0.1 * x),
    lambda x: F.maximum(x, 0), lambda x: F.minimum(F.maximum(x, -1), 1),
    lambda x: F.permute_dims(F.permute_dims(x, (1, 0)), (1, 0)),
    lambda x: F.permute_dims(F.tanh(F.permute_dims(x, (1, 0))), (1, 0)),
    lambda x: F.reshape(F.reshape(x, (-1,)), x.shape), _softmax, _norm,
    lambda x: F.log(_softmax(x)), lambda x: x - F.log(F.sum(F.exp(x), axis=-1, keepdims=True)),
    lambda x: F.log(F.sum(F.exp(x), axis=-1, keepdims=True)) + x * 0.1,
    lambda x: x * F.rsqrt(F.mean(x * x, axis=-1, keepdims=True) + 1e-3),
    lambda x: F.cumulative_sum(x, axis=1) / COLUMNS, lambda x: F.log(F.exp(x)),
    lambda x: F.matmul(x, tl.as_raw_tensor(np.eye(COLUMNS)[::-1].copy())) + 0.5,
    lambda x: F.cond(F.sum(x) > 0, lambda: F.tanh(x) * 1, lambda: F.log(F.exp(x * 0.5))),
    lambda x: F.scan(lambda c, row: (F.tanh(c + row), _softmax(F.stack([c, row]))[0]),
                     F.zeros(COLUMNS, dtype="float64"), x)[1],
    lambda x: F.while_loop(lambda c: c[1] < 3, lambda c: (1 / (1 + F.exp(-c[0])) + x, c[1] + 1),
                           (x, 0), max_steps=5)[0],
)  # fmt: skip
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: y + x,
    lambda x, y: x / (1 + F.abs(y)), F.maximum, F.minimum, lambda x, y: x - (-y),
    lambda x, y: F.where(x > y, x, y * 0.5), lambda x, y: F.exp(-F.abs(x)) * F.exp(-F.abs(y)),
    lambda x, y: _norm(x) * y + 0.25,
    lambda x, y: (x - F.mean(x)) * F.sum(y, axis=-1, keepdims=True),
)  # fmt: skip


def random_program(seed: int) -> RandomProgram:
    """The program of this number, of up to some forty steps."""
    rng = np.random.default_rng(seed)
    main, startup = static.Program(), static.Program()
    rows: Any = None if rng.random() < 0.5 else 3
    with static.program_guard(main, startup):
        values = [
            static.data(f"x{i}", (rows, COLUMNS), "float64") for i in range(rng.integers(1, 4))
        ]
        kept: list[Any] = []
        for i in range(rng.integers(0, 3)):
            state = tl.tensor(rng.standard_normal(COLUMNS))
            static.keep(state, f"state{i}")
            kept.append(state)
        for _ in range(rng.integers(2, 12)):
            values.append(_step(rng, values, kept))
        for state in kept:
            if rng.random() < 0.7:  # what it becomes: a mean of some value
                state *= 0.5
                state += F.mean(values[rng.integers(len(values))], axis=0) * 0.25
        count = int(rng.integers(1, 4))
        results = [values[rng.integers(len(values))] for _ in range(count)]
        if rng.random() < 0.5:
            results.append(F.mean(results[0], axis=0))
    feeds = {}
    size = 3 if rows else int(rng.integers(1, 6))
    for name, role, _ in main.variables():
        if role == "input":
            feeds[name] = rng.standard_normal((size, COLUMNS))
    return RandomProgram(main, startup, results, feeds)


def _step(rng: np.random.Generator, values: list[Any], kept: list[Any]) -> Any:
    x = values[rng.integers(len(values))]
    kind = rng.random()
    if kept and kind < 0.15:
        state = kept[rng.integers(len(kept))]
        return x * state + state if rng.random() < 0.5 else x + state
    if kind < 0.6:
        return UNARY[rng.integers(len(UNARY))](x)
    return BINARY[rng.integers(len(BINARY))](x, values[rng.integers(len(values))])
