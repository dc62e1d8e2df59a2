"""Tape, guard, and the search for the first NaN."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import guard, to_variable


def leaf(data: Any) -> tl.Tensor:
    return tl.tensor(data, requires_grad=True)


def test_a_tape_holds_what_its_block_recorded_with_lines() -> None:
    x, w = leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]])
    before = x * 2
    with tl.Tape() as tape:
        y = before @ w
        with tl.no_grad():
            y * 3
        tl.tensor([1.0]) + 1
        z = F.relu(y)
    z * 2
    assert [type(entry.op).__name__ for entry in tape] == ["MatMul", "Elemwise"]
    assert [value.name for value in tape.inputs] == ["x1", "x2"]
    assert tape[0].inputs[1].shape == (2, 1) and tape[-1].outputs[0].dtype is tl.float32
    assert tape[0].place.rpartition("/")[2].startswith("test_tape.py:")
    lines = str(tape).splitlines()
    assert lines[:2] == ["x1: float32(1, 2)", "x2: float32(2, 1)"]
    assert lines[2].startswith("_1 = MatMul()(x1, x2)  # float32(1, 1), ")
    assert lines[3].startswith("_2 = Elemwise(mode='relu')(_1)  # float32(1, 1), ")
    with pytest.raises(IndexError):
        tape[2]


def test_a_tape_is_reset_and_records_again() -> None:
    x = leaf(1.0)
    tape = tl.Tape()
    for _ in range(2):
        with tape:
            x * 2
    assert len(tape) == 2
    tape.reset()
    assert len(tape) == 0 and list(tape) == [] and str(tape) == ""
    with tape:
        x + 1
    assert tape[0].op.mode == "add"


def test_tapes_nest_and_an_exception_ends_them() -> None:
    x = leaf(1.0)
    with tl.Tape() as outer:
        x * 2
        with pytest.raises(ZeroDivisionError), tl.Tape() as inner:
            x * 3
            1 / 0  # noqa: B018
        x * 4
    x * 5
    assert (len(outer), len(inner)) == (3, 1)


def test_several_outputs_constants_and_levels() -> None:
    with tl.Tape() as tape:
        tl.grad(lambda x: sum(F.split(x * tl.tensor([1.0, 2.0]), (1, 1))).sum())(
            tl.tensor([1.0, 2.0])
        )
    split = tape[1]
    assert [value.name for value in split.outputs] == ["_2.0", "_2.1"]
    assert str(tape[0].inputs[1]) == "float32(2,)" and tape[0].inputs[1].name == ""
    assert {entry.level for entry in tape} == {1}


def test_gradients_that_are_made_differentiable_are_on_the_tape() -> None:
    x = leaf(2.0)
    y = x * x
    with tl.Tape() as tape:
        y.backward(retain_graph=True)
        assert len(tape) == 0
        y.backward(create_graph=True)
        assert len(tape) > 0


def test_a_tape_keeps_no_tensor_alive() -> None:
    x = leaf(np.ones(10))
    with tl.Tape() as tape:
        y = F.exp(x)
    value = weakref.ref(y)
    before = tl.memory.stats()["allocated"]
    del y
    assert value() is None and tl.memory.stats()["allocated"] < before and len(tape) == 1


def test_a_tape_belongs_to_its_thread() -> None:
    x = leaf(1.0)
    errors: list[BaseException] = []

    def elsewhere() -> None:
        x * 3
        try:
            tape.__exit__(None, None, None)
        except tl.AutodiffError as error:
            errors.append(error)

    with tl.Tape() as tape:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(tape) == 0 and "in the thread that entered it" in str(errors[0])


def test_guard_records_whatever_is_paused_outside() -> None:
    with tl.no_grad():
        with guard() as tape:
            x = to_variable(np.ones((2, 2), np.float32))
            y = F.sum(x * x)
        assert len(tape) == 2 and not (x * 1).requires_grad
    y.backward()
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert not to_variable(np.arange(3)).requires_grad
    assert not to_variable(1.0, stop_gradient=True).requires_grad


def test_an_anomaly_is_told_with_the_line_that_applied_the_op() -> None:
    def f(x: Any) -> Any:
        scaled = x * 0.0  # infinity times zero comes from here
        return F.sum(F.sqrt(scaled))

    line = f.__code__.co_firstlineno + 1
    x = leaf([0.0, 1.0])
    with tl.autograd.detect_anomaly():
        for run in (
            lambda: f(x).backward(),
            lambda: tl.grad(f)(tl.tensor([1.0])),
            lambda: tl.vmap(tl.grad(f))(tl.tensor([[1.0]])),
            lambda: tl.jacfwd(tl.grad(f))(tl.tensor([1.0])),
        ):
            with pytest.raises(tl.AutodiffError) as caught:
                run()
            assert f"test_tape.py:{line})" in str(caught.value)
            assert "the gradient of Elemwise(mode='multiply')" in str(caught.value)
    assert np.isnan(tl.grad(f)(tl.tensor([1.0])).numpy()).all()  # nobody looks any more


def test_anomalies_are_looked_for_until_it_is_switched_off() -> None:
    early = F.sqrt(leaf([1.0]) * 0.0)
    tl.autograd.set_detect_anomaly(True)
    try:
        with pytest.raises(tl.AutodiffError, match="recorded before anomalies were looked for"):
            early.backward()
        with tl.autograd.detect_anomaly(False):
            F.sqrt(leaf([1.0]) * 0.0).backward()
        with pytest.raises(tl.AutodiffError, match="first with a NaN, 1 among 2"):
            F.sqrt(leaf([1.0, 1.0]) * [0.0, 1.0]).sum().backward()
    finally:
        tl.autograd.set_detect_anomaly(False)
    F.sqrt(leaf([1.0]) * 0.0).backward()


def test_as_decorators() -> None:
    @tl.no_grad()
    def evaluate(x: Any) -> Any:
        return x * 2

    @tl.autograd.detect_anomaly()
    def train(x: Any) -> None:
        F.sqrt(x * 0.0).sum().backward()

    assert not evaluate(leaf(1.0)).requires_grad
    with pytest.raises(tl.AutodiffError):
        train(leaf([1.0]))
