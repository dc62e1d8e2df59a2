"""E1 to E5: what seed 004 says of the dynamic mode, by the ids of the acceptance list."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F


def test_E1_the_backward_graph_is_recorded_while_the_forward_runs() -> None:
    x = tl.to_variable(np.array([1.0, -2.0], np.float32))
    with tl.Tape() as tape:
        y = F.relu(x)
        assert y.value().tolist() == [1.0, 0.0] and len(tape) == 1
        z = F.sum(y * y)
        assert z.value() == 1.0 and len(tape) == 3


def test_E2_evaluation_records_nothing_and_frees_at_once() -> None:
    network = tl.nn.Sequential(*(tl.nn.Linear(256, 256, activation="tanh") for _ in range(8)))
    x = tl.tensor(np.ones((512, 256), np.float32))

    def peak() -> tuple[int, int]:
        gc.collect()
        before = tl.memory.stats()["allocated"]
        tl.memory.reset_peak()
        with tl.Tape() as tape:
            network(x)
        return len(tape), tl.memory.stats()["peak"] - before

    nodes, recorded = peak()
    network.eval(record=False)
    none, freed = peak()
    assert nodes >= 8 and none == 0
    assert freed < recorded / 2


def test_E3_backward_walks_from_its_variable_and_gradients_add_up() -> None:
    x = tl.to_variable([3.0])
    shared = x * x
    shared_again = shared * 2
    shared.backward(retain_graph=True)
    assert x.gradient().tolist() == [6.0]
    shared_again.backward()
    assert x.gradient().tolist() == [6.0 + 12.0]
    both = x * 2 + x * 3
    x.grad = None
    both.backward()
    assert x.gradient().tolist() == [5.0]


def test_E4_a_launch_returns_before_it_is_done_and_numpy_waits() -> None:
    with tl.engine.mode("async"):
        x = tl.tensor(np.full((700, 700), 1 / 700, np.float32))
        y = x
        for _ in range(10):
            y = F.matmul(y, x)
        np.testing.assert_allclose(y.numpy(), 1 / 700, rtol=1e-4)


@pytest.mark.parametrize("way", ["plain", "hook", "function"])
def test_E5_what_nobody_needs_is_freed_with_cycles(way: str) -> None:
    seen: list[Any] = []

    def build() -> None:
        x = tl.to_variable([1.0, 2.0])
        y = x * 2
        if way == "hook":
            y.register_hook(lambda g, kept=y: g)
        if way == "function":

            class Double(tl.Function):
                def forward(self, x: Any) -> Any:
                    self.kept = self
                    return x * 2

                def backward(self, g: Any) -> Any:
                    return g * 2

            y = Double()(y)
        z = F.sum(y * y)
        z.backward(retain_graph=True)
        seen.extend(map(weakref.ref, (x, y, z)))

    def left() -> int:
        for _ in range(3):  # what a cycle held may be part of another
            gc.collect()
        return int(tl.memory.stats()["allocated"])

    build()  # what is made once stays
    before = left()
    for _ in range(5):
        build()
    assert left() <= before
    assert {ref() for ref in seen} == {None}
