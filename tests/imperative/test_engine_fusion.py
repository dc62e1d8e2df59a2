"""What lazy mode runs as one program, what that writes, and where to."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.engine import normal, programs_of

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F


@pytest.mark.parametrize("shape", [(70000,), (300, 700), (3, 5, 1, 1100), (1, 4097), (9000, 3)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_a_fused_reduction_has_the_bits_of_one_from_memory(
    shape: tuple[int, ...], axis: int | None
) -> None:
    x = normal(*shape)
    y = normal(shape[-1], seed=1)
    wanted = np.asarray(F.sum(F.exp(x) * y, axis=axis))
    with tl.engine.mode("lazy", threshold=1):
        got = np.asarray(F.sum(F.exp(x) * y, axis=axis))
    np.testing.assert_array_equal(wanted, got)


def test_lines_fuse_into_one_program_that_writes_the_last_result_alone() -> None:
    x, y = normal(50), normal(50, seed=1)

    def run() -> None:
        a = x * y
        b = F.exp(a)
        c = b - y
        del a, b
        np.asarray(c)

    (program,) = programs_of(run)
    assert program["ops"] == ["multiply", "exp", "subtract"]
    assert program["outputs"] == 1
    assert all(place.rsplit(":", 1)[0] == __file__ for place in program["places"])


def test_what_is_still_held_is_written_by_the_same_program() -> None:
    x = normal(50)
    held: list[tl.Tensor] = []

    def run() -> None:
        a = x * 2
        b = F.exp(a)
        held.append(a)
        np.asarray(b)
        np.asarray(a)

    (program,) = programs_of(run)
    assert program["outputs"] == 2
    np.testing.assert_array_equal(np.asarray(held[0]), np.asarray(x) * 2)


def test_a_reduction_swallows_the_chain_that_feeds_it() -> None:
    x = normal(30, 40)
    programs = programs_of(lambda: np.asarray(F.sum(F.exp(x) * 2, axis=1)))
    assert [program["ops"] for program in programs] == [["exp", "multiply", "sum"]]


@pytest.mark.parametrize("reduce", [F.argmax, F.argmin, F.logsumexp, F.var, F.std, F.any, F.sumsq])
@pytest.mark.parametrize("shape", [(70000,), (300, 700), (40, 5, 30), (9000, 3), (2, 70000)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_every_reduction_swallows_its_chain_with_the_same_bits(
    reduce: Callable[..., tl.Tensor], shape: tuple[int, ...], axis: int | None
) -> None:
    x = normal(*shape)
    wanted = np.asarray(reduce(F.exp(x) * 2, axis=axis))
    got: list[np.ndarray] = []
    programs = programs_of(lambda: got.append(np.asarray(reduce(F.exp(x) * 2, axis=axis))))
    np.testing.assert_array_equal(got[0], wanted)
    assert [len(program["ops"]) for program in programs] == [3]


@pytest.mark.parametrize("shape", [(70000,), (300, 700), (40, 5, 30), (9000, 3)])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, -1)])
@pytest.mark.parametrize("reduce", [F.sum, F.max, F.logsumexp, F.var])
def test_what_is_held_is_written_while_it_is_reduced(
    reduce: Callable[..., tl.Tensor], shape: tuple[int, ...], axis: Any
) -> None:
    if isinstance(axis, tuple) and len(shape) < 2:
        axis = (0,)
    x = normal(*shape)
    held: list[tl.Tensor] = []
    got: list[np.ndarray] = []

    def run() -> None:
        a = F.exp(x)
        held.extend([a, a * 2])
        got.append(np.asarray(reduce(held[-1], axis=axis)))

    programs = programs_of(run)
    np.testing.assert_array_equal(got[0], np.asarray(reduce(F.exp(x) * 2, axis=axis)))
    np.testing.assert_array_equal(np.asarray(held[0]), np.asarray(F.exp(x)))
    np.testing.assert_array_equal(np.asarray(held[1]), np.asarray(F.exp(x) * 2))
    if axis in (None, -1):
        assert [program["outputs"] for program in programs] == [3]


def test_memory_of_an_operand_that_dies_is_written_over() -> None:
    x = normal(1000)

    def run(keeps: bool) -> list[int]:
        a = F.exp(x)
        np.array(a)
        kept = a if keeps else None
        b = a * 2 + 1
        del a
        np.testing.assert_array_equal(np.array(b), np.asarray(F.exp(x) * 2 + 1))
        if kept is not None:
            np.testing.assert_array_equal(np.asarray(kept), np.asarray(F.exp(x)))
        return [program["reused"] for program in _C.fused_programs()]

    with tl.engine.mode("lazy", threshold=1):
        assert run(keeps=False)[1] == 1
    with tl.engine.mode("lazy", threshold=1):
        assert 1 not in run(keeps=True)[:2]


def test_what_numpy_looks_at_is_not_written_over() -> None:
    with tl.engine.mode("lazy", threshold=1):
        for share in (np.asarray, np.from_dlpack):
            a = F.exp(normal(1000))
            seen: Any = share(a)
            elements = np.array(seen)
            b = a * 2
            del a
            np.testing.assert_array_equal(np.asarray(b), elements * 2)
            np.testing.assert_array_equal(np.asarray(seen), elements)
            c = F.exp(normal(1000))
            seen = share(c)
            c += 1
            np.testing.assert_array_equal(np.asarray(c), elements + 1)
            np.testing.assert_array_equal(np.asarray(seen), elements)


def test_an_operand_is_not_written_over_while_later_instructions_read_it() -> None:
    with tl.engine.mode("lazy", threshold=1):
        a = normal(1000) + 0
        elements = np.array(a)
        b = a + 1
        c = b * a
        del a
        np.testing.assert_array_equal(np.asarray(c), (elements + 1) * elements)
        np.testing.assert_array_equal(np.asarray(b), elements + 1)


def test_chains_that_share_what_they_start_from_are_not_cut_early() -> None:
    x = normal(50)

    def run() -> None:
        y = x
        for _ in range(10):
            y = y * y
        np.asarray(y)

    (program,) = programs_of(run)
    assert len(program["ops"]) == 10


def test_what_nobody_asks_for_never_runs() -> None:
    x = normal(50)

    def run() -> None:
        F.exp(x)
        gc.collect()
        assert _C.waiting_ops() == []

    assert programs_of(run) == []


def test_an_op_that_cannot_fuse_makes_its_inputs_run_first() -> None:
    x = normal(8, 8)
    (program,) = programs_of(lambda: F.matmul(x * 2, x))
    assert program["ops"] == ["multiply"]
    assert program["reason"] == "MatMul"


def test_a_long_chain_runs_in_parts() -> None:
    x = normal(50)
    with tl.engine.mode("lazy", threshold=1, max_nodes=10):
        y = x
        for _ in range(35):
            y = y * 1.5
        assert len(_C.waiting_ops()) <= 10
        wanted = np.asarray(x)
        for _ in range(35):
            wanted = wanted * np.float32(1.5)
        np.testing.assert_array_equal(np.asarray(y), wanted)


def test_the_bytes_that_wait_are_bounded() -> None:
    x = normal(1000)
    with tl.engine.mode("lazy", threshold=1, max_bytes=40_000):
        kept = [x * i for i in range(30)]
        assert len(_C.waiting_ops()) <= 10
        np.testing.assert_array_equal(np.asarray(kept[7]), np.asarray(x) * 7)
