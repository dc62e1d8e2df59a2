"""Threads, fork and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from support.apart import run_in_threads, run_python

import tensorlike as tl
from tensorlike import RawTensor, Tensor, TensorBase, apply, ops
from tensorlike import functional as F

THREADS = 8


def test_threads_apply_ops_at_once() -> None:
    def work(i: int) -> None:
        rng = np.random.default_rng(i)
        for n in (3, 200, 40_000):
            for _ in range(10):
                array = rng.standard_normal(n).astype(np.float32)
                x = Tensor(array)
                y = F.exp(x) * 2 + x
                np.testing.assert_allclose(
                    y.numpy(), np.exp(array) * 2 + array, rtol=1e-5, atol=1e-6
                )
                x += 1
                x[0] = 5
                assert x[0].item() == 5.0
                assert x.sum().item() == pytest.approx(float(x.numpy().sum()), rel=1e-3, abs=1e-2)

    run_in_threads(work)


def test_threads_apply_ops_while_others_register_rules() -> None:
    def work(i: int) -> None:
        array = np.full((20, 20), float(i), np.float32)
        for k in range(100):
            x = Tensor(array)
            assert (x @ x + 1).sum().item() == pytest.approx(400 * (20.0 * i * i + 1))
            x += 1
            x[0] = 2
            if k % 5:
                continue

            class Mine(TensorBase):
                pass

            def apply_first(op: ops.OpBase, *xs: Mine) -> Any:
                return xs[0]

            with apply.registered(apply_first):
                first = Mine()
                assert (first + Mine()) is first
                assert (first * 2) is first

    run_in_threads(work)


def test_threads_share_a_rule_that_calls_super() -> None:
    count = [0] * THREADS
    names = {f"worker {i}": i for i in range(THREADS)}

    def apply_counted(op: ops.OpBase, *xs: RawTensor) -> Any:
        at = names.get(threading.current_thread().name)
        if at is not None:
            count[at] += 1
        return apply.super(op, *xs)

    def work(i: int) -> None:
        threading.current_thread().name = f"worker {i}"
        for _ in range(50):
            assert (Tensor([float(i)]) + 1).item() == i + 1

    with apply.registered(apply_counted):
        run_in_threads(work)
    assert count == [50] * THREADS


def test_threads_differentiate_at_once_and_each_has_its_own_no_grad() -> None:
    def work(i: int) -> None:
        for _ in range(50):
            assert tl.grad(tl.grad(lambda x: x**3))(float(i)).item() == 6.0 * i
            x = tl.tensor([float(i)], requires_grad=True)
            if i % 2:
                with tl.no_grad():
                    assert not (x * x).requires_grad
            else:
                y = (x * x).sum()
                assert y.requires_grad
                y.backward()
                assert x.grad.tolist() == [2.0 * i]

    run_in_threads(work)


def test_threads_accumulate_into_one_shared_leaf() -> None:
    shared = tl.tensor([1.0], requires_grad=True)
    lock = threading.Lock()

    def work(i: int) -> None:
        for _ in range(20):
            loss = (shared * float(i)).sum()
            with lock:
                loss.backward()

    run_in_threads(work)
    assert shared.grad.tolist() == [20.0 * sum(range(THREADS))]


def test_tensors_die_in_other_threads_than_they_were_made_in() -> None:
    made: list[list[Tensor]] = [[] for _ in range(THREADS)]

    def make(i: int) -> None:
        for n in (1, 1000, 100_000):
            made[i].extend(Tensor(np.full(n, float(i), np.float32)) for _ in range(20))

    run_in_threads(make)
    before = tl.memory.stats()["allocated"]

    def drop(i: int) -> None:
        for x in made[(i + 1) % THREADS]:
            assert x[0].item() == (i + 1) % THREADS
        made[(i + 1) % THREADS].clear()

    run_in_threads(drop)
    assert tl.memory.stats()["allocated"] < before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_was_forked_while_the_pool_was_up_computes() -> None:
    done = run_python(
        """
import os, warnings, numpy as np, tensorlike as tl
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
tl.set_num_threads(4)
x = tl.Tensor(np.arange(1_000_000.0, dtype=np.float32))
def compute():
    a = tl.Tensor(np.ones((300, 300), np.float32))
    return (x + 1).sum().item() > 0 and (a @ a)[0, 0].item() == 300.0
assert compute()
children = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if compute() and compute() else 1)
    children.append(child)
assert compute()
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
assert compute()
print("fine")
"""
    )
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_an_interrupt_during_a_long_op_is_a_keyboard_interrupt_and_the_next_op_is_right() -> None:
    done = run_python(
        """
import signal, time, numpy as np, tensorlike as tl
from tensorlike import functional as F
signal.signal(signal.SIGALRM, signal.default_int_handler)
x = tl.Tensor(np.full(20_000_000, 0.5, np.float32))
a = tl.Tensor(np.ones((1500, 1500), np.float32))
for long_op in (lambda: F.sum(F.atan2(F.erf(x), x)), lambda: a @ a):
    interrupted = 0
    for _ in range(20):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            for _ in range(50):
                long_op()
        except KeyboardInterrupt:
            interrupted += 1
        assert (tl.Tensor([1.0, 2.0]) + 1).tolist() == [2.0, 3.0]
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert interrupted == 20, interrupted
assert F.sum(x).item() == 10_000_000.0
assert (a @ a)[0, 0].item() == 1500.0
assert tl.grad(lambda v: v * v)(3.0).item() == 6.0
print("fine")
"""
    )
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)


def test_a_program_that_registered_rules_ends_cleanly() -> None:
    done = run_python(
        """
import gc, threading
from tensorlike import RawTensor, Tensor, TensorBase, TensorWrapper, apply, ops
class Mine(TensorBase):
    pass
def work():
    class Local(TensorBase):
        pass
    def apply_local(op: ops.OpBase, *xs: Local): return xs[0]
    with apply.registered(apply_local):
        Local() + Local()
@apply.register
def apply_mine(op: ops.OpBase, *xs: Mine): return xs[0]
@apply.register
def apply_logged(op: ops.OpBase, *xs: TensorWrapper): return apply.super(op, *xs)
kept = Mine() + Mine(), Tensor([1.0]) + 1
work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
gc.collect()
print("fine")
"""
    )
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)


def test_the_number_of_threads_changes_no_result() -> None:
    before = tl.num_threads()
    array = np.random.default_rng(0).standard_normal((300, 400)).astype(np.float32)
    results = []
    try:
        for threads in (1, 2, 3, 8):
            tl.set_num_threads(threads)
            assert tl.num_threads() == threads
            x = Tensor(array)
            results.append(((x * 2 + 1).tolist(), x.max(axis=0).tolist(), (x @ x.T).tolist()))
    finally:
        tl.set_num_threads(before)
    assert all(result == results[0] for result in results)


def test_the_number_of_threads_must_be_positive() -> None:
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="set_num_threads"):
            tl.set_num_threads(wrong)
