"""Random functions of Python: whatever they read, set and branch on, traced calls give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit

UNARY = (F.exp, F.tanh, lambda x: x * 2, lambda x: x - 1, lambda x: x * x * 0.1, F.abs)
BINARY = (F.add, F.multiply, F.maximum, lambda a, b: a - b * 0.5)


class Machine:
    """A random function with state: tensors that it sets, settings that others change."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.plan = [
            (int(rng.integers(0, 8)), int(rng.integers(0, 6)), int(rng.integers(0, 3)))
            for _ in range(int(rng.integers(4, 12)))
        ]
        self.setting = 1.0
        self.flag = True
        self.buffer = tl.nn.Buffer(np.zeros(3, np.float32))
        self.weight = tl.Parameter(rng.standard_normal(3).astype(np.float32))
        self.other = tl.tensor(rng.standard_normal(3).astype(np.float32))

    def step(self, x: Any, y: Any) -> Any:
        """Runs the plan."""
        values = [x, y, x + y]
        results = []
        for kind, which, index in self.plan:
            a = values[index]
            if kind == 0:
                a = BINARY[which % 4](a, values[(index + 1) % 3])
            elif kind == 1 and self.flag:
                a = a * self.setting
            elif kind == 2:
                a = a * self.weight + self.buffer
            elif kind == 3:
                a = -a if F.sum(a) > which - 3 else a + 1
            elif kind == 4:
                self.buffer.set_value(F.tanh(a.detach()) * 0.5 + self.buffer * 0.5)
            elif kind == 5:
                self.other[which % 3] = F.mean(a.detach())
                a = a + self.other
            elif kind == 6:
                with tl.no_grad():
                    a = a + F.sign(values[0] * self.weight)
            elif kind == 7 and len(results) < 3:
                results.append(round(float(F.max(a)), 1) > 0)
            else:
                a = UNARY[which](a)
            values[index] = F.clip(a, -3.0, 3.0)
        return {"values": values, "flags": results}

    def state(self) -> list[Any]:
        """All tensors, as lists."""
        found = [self.buffer, self.other, self.weight.detach()]
        return [np.array(x.detach().numpy()) for x in found]


def _change(machine: Machine, number: int) -> None:
    if number == 3:
        machine.setting = 2.5
    elif number == 5:
        machine.flag = not machine.flag
    elif number == 6:
        machine.other = tl.tensor(np.full(3, 0.25, np.float32))
    elif number == 7:
        machine.weight.set_value(np.full(3, -0.5, np.float32))


@pytest.mark.filterwarnings("ignore::tensorlike.jit.RetraceWarning")
@pytest.mark.parametrize("seed", range(40))
def test_random_functions_give_what_they_give_at_once(seed: int) -> None:
    plain, twin = Machine(seed), Machine(seed)
    traced = jit.trace(twin.step)
    rng = np.random.default_rng(seed + 1000)
    batches = [rng.standard_normal((2, 3)).astype(np.float32) for _ in range(3)]
    for number in range(9):
        data = batches[number % 3]
        found = []
        for machine, function in ((plain, plain.step), (twin, traced)):
            _change(machine, number)
            x = tl.tensor(data[0], requires_grad=number % 2 == 0)
            made = function(x, tl.tensor(data[1]))
            total = sum(F.sum(v) for v in made["values"])
            machine.weight.grad = None
            if isinstance(total, tl.Tensor) and total.requires_grad:
                total.backward()
            gradients = [None if t.grad is None else t.grad.numpy() for t in (x, machine.weight)]
            found.append((made, gradients, machine.state()))
        (made, gradients, state), (made_traced, gradients_traced, state_traced) = found
        assert made["flags"] == made_traced["flags"]
        for a, b in zip(
            [v.detach().numpy() for v in made["values"]] + state,
            [v.detach().numpy() for v in made_traced["values"]] + state_traced,
            strict=True,
        ):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
        for a, b in zip(gradients, gradients_traced, strict=True):
            if a is None or b is None:
                assert a is None or not a.any()
                assert b is None or not b.any()
            else:
                np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-5)
