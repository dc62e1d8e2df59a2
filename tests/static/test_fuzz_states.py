"""Random programs with states, built within a guard, against the same lines run at once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

UNARY = (F.tanh, F.sin, F.abs, lambda x: x * 0.5, lambda x: x + 1, F.square)
BINARY = (lambda x, y: x + y, lambda x, y: x * y, lambda x, y: F.maximum(x, y), lambda x, y: x - y)
COUNT = 200
SLOW = 20_000


class Lines:
    """A program as a list of choices, so that it can be written down twice."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.states = [rng.uniform(-1, 1) for _ in range(rng.randint(1, 3))]
        self.lines = [
            (
                rng.choice(("unary", "binary", "set", "add", "draw", "fill", "row")),
                rng.random(),
                rng.random(),
                rng.random(),
            )
            for _ in range(rng.randint(3, 14))
        ]
        self.size = rng.choice((0, 1, 2, 5))
        self.runs = rng.randint(1, 3)
        self.has_step = rng.random() < 0.4

    def make(self) -> list[Any]:
        """The states as tensors, of two elements each; some by ops."""
        return [
            tl.Parameter(F.full((2,), value) * 2 if i % 2 else np.full(2, value, np.float32))
            for i, value in enumerate(self.states)
        ]

    def write(self, x: Any, states: list[Any], optimizer: Any) -> list[Any]:
        """Runs the lines; what came out."""
        values = [x, *states]
        for kind, a, b, c in self.lines:
            pick = lambda r: values[int(r * len(values))]  # noqa: E731
            state = states[int(a * len(states))]
            if kind == "unary":
                values.append(UNARY[int(a * len(UNARY))](pick(b)))
            elif kind == "binary":
                values.append(BINARY[int(a * len(BINARY))](pick(b), pick(c)))
            elif kind == "row":
                values.append(F.sum(pick(b), axis=0, keepdims=True) * 0.1)
            elif kind == "draw":
                values.append(F.random.uniform((2,)) - 0.5)
            elif kind == "fill":
                values.append(F.full((2,), b))
            else:
                with tl.no_grad():
                    new = F.tanh(F.sum(pick(b)) + state * 0.5)
                    state.set_value(new if kind == "set" else state + new)
                values[1 + int(a * len(states))] = state
        if self.has_step:
            optimizer.minimize(F.mean(F.tanh(states[0] * 2 + values[-1])))
        return [F.sum(F.tanh(y)) for y in values[-3:]]


def check(seed: int) -> None:
    lines = Lines(seed)
    x = np.random.default_rng(seed).normal(size=(lines.size, 2)).astype(np.float32)
    tl.manual_seed(seed)
    states = lines.make()
    optimizer = tl.optim.Adam(states, lr=0.1)
    tl.manual_seed(seed + 1)
    wanted = []
    for _ in range(lines.runs):
        wanted.append([float(y) for y in lines.write(tl.tensor(x), states, optimizer)])
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        made = lines.make()
        results = lines.write(
            tl.Tensor(static.data("x", (lines.size, 2))), made, tl.optim.Adam(made, lr=0.1)
        )
    exe = static.Executor()
    exe.run(startup, scope=scope)
    tl.manual_seed(seed + 1)
    for row in wanted:
        found = [float(y) for y in exe.run(main, {"x": x}, results, scope)]
        np.testing.assert_allclose(found, row, rtol=2e-5, atol=1e-5, err_msg=f"seed {seed}\n{main}")
    for i, state in enumerate(states):
        now = scope.find_var(f"parameter_{i}")
        assert now is not None
        np.testing.assert_allclose(now.numpy(), state.value(), 2e-5, 1e-5, err_msg=f"seed {seed}")


@pytest.mark.parametrize("part", range(4))
def test_a_program_with_states_is_its_lines_run_again(part: int) -> None:
    for seed in range(part, COUNT, 4):
        check(seed)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_programs_with_states_are_their_lines_run_again() -> None:
    for seed in range(COUNT, COUNT + SLOW):
        check(seed)
