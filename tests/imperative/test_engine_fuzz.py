"""Random programs give the same bits in every mode, whatever dies, fails, forks or runs beside."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F

DTYPES = ("float32", "float64", "float16", "int32", "int8", "bool")
TARGETS = (tl.float32, tl.float64, tl.float16, tl.int32, tl.int8)
SHAPES = ((6, 40), (40,), (6, 1), (), (3, 2, 40), (2, 1, 1100))
UNARY: tuple[Callable[..., Any], ...] = (F.exp, F.tanh, F.abs, F.negative, F.sqrt, F.sigmoid)
BINARY: tuple[Callable[..., Any], ...] = (F.add, F.subtract, F.multiply, F.maximum, F.less)
REDUCTIONS: tuple[Callable[..., Any], ...] = (
    *(F.sum, F.mean, F.max, F.sumsq, F.any, F.all, F.argmax, F.argmin),
    *(F.logsumexp, F.var, F.std),
)

Steps = list[tuple[int, int, int, int]]
steps = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
    max_size=40,
)


def bits(x: tl.Tensor) -> tuple[str, tuple[int, ...], bytes]:
    """What is compared: all bits, but those that say which NaN it is."""
    found = np.array(x)
    if found.dtype.kind == "f":
        found[np.isnan(found)] = np.nan
    return str(found.dtype), found.shape, found.tobytes()


def read_without_memory(x: tl.Tensor) -> None:
    """A flush that may fail; nothing may be lost by that."""
    tl.memory.set_limit(_C.memory_stats()["allocated"] + 64)
    try:
        np.asarray(x)
    except tl.OutOfMemoryError:
        pass
    finally:
        tl.memory.set_limit(None)


class Program:
    """Steps over a pool of tensors; what they read, and which errors they met."""

    def __init__(self, plan: Steps, seed: int = 0, *, fails: bool = False) -> None:
        self.plan = plan
        self.seed = seed
        self.fails = fails

    def run(self) -> list[Any]:
        rng = np.random.default_rng(self.seed)
        pool: list[tl.Tensor] = []
        for shape in SHAPES:
            dtype = DTYPES[int(rng.integers(len(DTYPES)))]
            pool.append(tl.tensor(rng.uniform(-2, 3, shape).astype(dtype)))
        seen: list[Any] = []
        for kind, a, b, c in self.plan:
            try:
                self.step(pool, seen, kind, (a, b, c))
            except tl.TensorlikeError as error:
                seen.append(str(error))
        return [*seen, *(bits(x) for x in pool)]

    def step(
        self, pool: list[tl.Tensor], seen: list[Any], kind: int, pick: tuple[int, int, int]
    ) -> None:
        a, b, c = pick
        x, y = pool[a % len(pool)], pool[b % len(pool)]
        if kind <= 4:
            pool.append(UNARY[c % len(UNARY)](x))
        elif kind <= 8:
            pool.append(BINARY[c % len(BINARY)](x, y))
        elif kind <= 10:
            axis = None if x.ndim == 0 or b % 3 == 0 else b % x.ndim
            pool.append(REDUCTIONS[c % len(REDUCTIONS)](x, axis=axis, keepdims=a % 2 == 0))
        elif kind == 11:
            pool.append(x.astype(TARGETS[c % len(TARGETS)]))
        elif kind == 12:
            pool.append(F.permute_dims(x, axes=(1, 0)) if x.ndim == 2 else F.where(x > 0, x, y))
        elif kind == 13 and x.ndim > 0:
            # In place: what was computed from the old elements must keep them.
            x += 1
        elif kind == 14:
            if self.fails:
                read_without_memory(x)
            seen.append(bits(x))
        elif len(pool) > 2:
            del pool[a % len(pool)]


MODES = [("lazy", 1), ("async", 1), ("async", 3)]  # and how many threads run ops


def check(plan: Steps, seed: int) -> None:
    wanted = Program(plan, seed).run()
    for mode, workers in MODES:
        with tl.engine.mode(mode, threshold=1, workers=workers):
            assert Program(plan, seed, fails=mode == "lazy").run() == wanted
    with tl.engine.mode("lazy", threshold=1, max_nodes=3, max_bytes=5000):
        assert Program(plan, seed).run() == wanted


@settings(max_examples=60, deadline=None)
@given(steps, st.integers(0, 5))
def test_random_programs_have_the_same_bits_in_every_mode(plan: Steps, seed: int) -> None:
    check(plan, seed)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(steps, st.integers(0, 100))
def test_many_random_programs_have_the_same_bits_in_every_mode(plan: Steps, seed: int) -> None:
    check(plan, seed)


def random_plan(seed: int, length: int = 40) -> Steps:
    rng = np.random.default_rng(seed)
    return [
        (int(kind), int(a), int(b), int(c))
        for kind, a, b, c in zip(
            rng.integers(0, 16, length), *rng.integers(0, 100, (3, length)), strict=True
        )
    ]


@pytest.mark.parametrize(("mode", "workers"), MODES)
def test_threads_with_programs_of_their_own_do_not_disturb_each_other(
    mode: str, workers: int
) -> None:
    programs = [Program(random_plan(seed), seed) for seed in range(8)]
    wanted = [program.run() for program in programs]
    got: dict[int, list[Any]] = {}

    def work(i: int) -> None:
        for _ in range(3):
            got[i] = programs[i].run()

    with tl.engine.mode(mode, threshold=1, workers=workers):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(programs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [got[i] for i in range(len(programs))] == wanted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("mode", "workers"), MODES)
def test_a_child_of_fork_goes_on_with_a_random_program(mode: str, workers: int) -> None:
    for seed in range(6):
        plan = random_plan(seed)
        wanted = Program(plan, seed).run()
        with tl.engine.mode(mode, threshold=1, workers=workers):
            x = tl.tensor(np.linspace(0, 1, 5000, dtype=np.float32))
            waiting = F.sum(F.exp(x) * 2)
            child = os.fork()
            if child == 0:
                is_right = Program(plan, seed).run() == wanted and waiting.item() > 0
                os._exit(0 if is_right else 1)
            assert Program(plan, seed).run() == wanted
            assert os.waitpid(child, 0)[1] == 0
            assert waiting.item() > 0


@pytest.mark.parametrize("order", range(6))
def test_what_is_held_may_die_in_any_order(order: int) -> None:
    x = tl.tensor(np.linspace(-1, 1, 3000, dtype=np.float32).reshape(60, 50))

    def chain() -> list[tl.Tensor]:
        a = F.exp(x)
        b = a * 2
        c = F.sum(b, axis=1, keepdims=True)
        d = b / c
        return [a, b, c, d, F.logsumexp(d, axis=1)]

    wanted = [bits(y) for y in chain()]
    for first in range(5):
        with tl.engine.mode("lazy", threshold=1):
            held = dict(enumerate(chain()))
            for i in np.random.default_rng([order, first]).permutation(5)[:4]:
                del held[int(i)]
                if i % 2 == first % 2:
                    left = next(iter(held))
                    assert bits(held[left]) == wanted[left]
            for i, y in held.items():
                assert bits(y) == wanted[i]
