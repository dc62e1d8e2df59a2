"""A backward pass runs its elementwise ops as programs; what that means for who looks on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from support.engine import normal

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F

SIZE = 50_000
UNARY: tuple[Callable[[Any], Any], ...] = (
    F.tanh, F.exp, F.sin, F.relu, F.abs, lambda x: x * 0.5, lambda x: 1.0 - x, lambda x: x * x,
)  # fmt: skip
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x - 2 * y,
    lambda x, y: x / (1 + y * y),
    F.maximum,
    lambda x, y: F.where(x > 0, x, y),
)


def five_lines(x: Any, y: Any) -> Any:
    a = x * y + 1.0
    b = a * a - x
    c = b / (1.0 + a * a)
    d = c * y + a
    return d * 0.5


def test_the_gradients_of_lines_are_one_program() -> None:
    x, y = normal(SIZE), normal(SIZE, seed=1)
    x.requires_grad = True
    loss = five_lines(x, y).sum()
    with tl.engine.mode("lazy"):
        pass  # what was told before is forgotten
    loss.backward()
    (program,) = _C.fused_programs()
    assert len(program["ops"]) > 8 and program["outputs"] == 1
    assert _C.waiting_ops() == []


def test_small_gradients_and_other_modes_are_as_ever() -> None:
    x = normal(100)
    x.requires_grad = True
    with tl.engine.mode("lazy"):
        pass
    five_lines(x, x).sum().backward()
    assert _C.fused_programs() == []
    big = normal(SIZE)
    big.requires_grad = True
    with tl.engine.mode("lazy"):
        five_lines(big, big).sum().backward()
        assert _C.waiting_ops() != []
    assert np.isfinite(np.asarray(big.grad)).all()


def test_a_pass_leaves_its_gradient_in_memory_alone() -> None:
    x, y = normal(SIZE), normal(SIZE, seed=1)
    x.requires_grad = True
    five_lines(x, y).sum().backward()
    x.grad = None
    before = tl.memory.stats()["allocated"]
    five_lines(x, y).sum().backward()
    assert tl.memory.stats()["allocated"] - before < 2 * 4 * SIZE  # one result, as blocks are cut


def test_hooks_see_elements_and_change_them() -> None:
    x, y = normal(SIZE), normal(SIZE, seed=1)
    x.requires_grad = True
    seen = []

    def hook(gradient: Any) -> Any:
        nonlocal y
        seen.append(np.asarray(gradient).copy())
        y *= 0  # the tape has what it was
        return gradient * 2

    a = x * y
    a.register_hook(hook)
    wanted = np.asarray(y).copy()
    (a * 3.0).sum().backward()
    np.testing.assert_array_equal(seen[0], np.full(SIZE, 3, np.float32))
    np.testing.assert_array_equal(np.asarray(x.grad), wanted * 6)


def test_a_pass_that_fails_leaves_no_gradient_and_the_next_one_works() -> None:
    x, y = normal(SIZE), normal(SIZE, seed=1)
    x.requires_grad = y.requires_grad = True
    is_bad = True

    def hook(gradient: Any) -> Any:
        if is_bad:
            raise RuntimeError("stop")
        return gradient

    a = x * 2.0
    a.register_hook(hook)
    loss = (a * y * y).sum()
    with pytest.raises(RuntimeError, match="stop"):
        loss.backward(retain_graph=True)
    assert x.grad is None
    y.grad, is_bad = None, False
    loss.backward()
    np.testing.assert_array_equal(np.asarray(x.grad), 2 * np.asarray(y.detach() * y.detach()))
    # A line after it is its own program again.
    z = x.detach() * 2
    assert _C.waiting_ops() == []
    assert np.isfinite(np.asarray(z)).all()


def drawn(random: Random) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Leaves, and random lines over them."""
    rows, columns = random.choice(((200, 300), (40_000, 1), (1, 50_000), (331, 101), (0, 5)))
    leaves = [
        normal(rows, columns), normal(columns, rows, seed=1), normal(columns, seed=2),
        normal(rows, 1, seed=3), normal(rows, 2 * columns, seed=4),
        normal(rows, columns, seed=5, dtype="float64"),
    ]  # fmt: skip
    steps = [
        (random.choice(UNARY), random.random(), -1.0)
        if random.random() < 0.4
        else (random.choice(BINARY), random.random(), random.random())
        for _ in range(random.randrange(3, 14))
    ]

    def lines(xs: list[Any]) -> Any:
        values = [xs[0], xs[1].T, xs[2], xs[3], xs[4][:, ::2], xs[5]]
        for function, i, k in steps:
            picked = [values[int(place * len(values))] for place in (i, k) if place >= 0]
            values.append(function(*picked))
        return sum((F.sum(F.tanh(value)) for value in values[-3:]), start=0.0)

    return leaves, lines


def slopes(lines: Any, leaves: list[Any], is_retained: bool) -> list[Any]:
    for leaf in leaves:
        leaf.requires_grad, leaf.grad = True, None
    loss = lines(leaves)
    loss.backward(retain_graph=is_retained)
    if is_retained:
        loss.backward()
    return [None if leaf.grad is None else np.asarray(leaf.grad) for leaf in leaves]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_gradients_have_the_bits_of_single_launches(seed: int) -> None:
    random = Random(seed)
    leaves, lines = drawn(random)
    is_retained = random.random() < 0.5
    with tl.engine.mode("async"):
        wanted = slopes(lines, leaves, is_retained)
    before = tl.num_threads()
    try:
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            got = slopes(lines, leaves, is_retained)
            for one, other in zip(got, wanted, strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    np.testing.assert_array_equal(one, other)
    finally:
        tl.set_num_threads(before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_gradients_have_the_bits_of_single_launches(seed: int) -> None:
    leaves, lines = drawn(Random(100 + seed))
    found = []
    for mode in ("async", "sync"):
        with tl.engine.mode(mode):
            x = leaves[0]
            first = tl.grad(lambda z: lines([z, *leaves[1:]]))
            second = tl.grad(lambda z: F.sum(first(z) * first(z)))  # noqa: B023
            found.append(np.asarray(second(x)))
    np.testing.assert_array_equal(*found)
