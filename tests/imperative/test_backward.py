"""requires_grad, backward, no_grad and Grad: gradients of what has been computed."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, AutodiffError, Tensor
from tensorlike import functional as F


def leaf(data: Any) -> Tensor:
    """A tensor that gradients are asked for."""
    return tl.tensor(data, requires_grad=True)


def test_gradients_accumulate_until_they_are_cleared() -> None:
    x = leaf([1.0, 2.0])
    for times in (1, 2, 3):
        (x * x + x).sum().backward()
        assert x.grad.tolist() == [3.0 * times, 5.0 * times]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_variable_used_many_times_gets_every_contribution() -> None:
    x = leaf(2.0)
    y = x
    for _ in range(10):
        y = y + x * 0.5
    (y + x * x).backward()
    assert x.grad.item() == 1 + 10 * 0.5 + 4.0


def test_running_backward_twice_needs_retain_graph() -> None:
    x = leaf([3.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(AutodiffError) as caught:
        y.backward()
    assert str(caught.value) == (
        "backward: the graph must not be used up; sum was released by an earlier backward pass; "
        "pass retain_graph=True to that one."
    )
    assert x.grad.tolist() == [12.0]


def test_create_graph_makes_gradients_that_can_be_differentiated() -> None:
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    assert first.item() == 12.0
    assert first.requires_grad
    x.grad = None
    first.backward()
    assert x.grad.item() == 12.0


def test_an_explicit_cotangent_scales_the_gradient() -> None:
    x = leaf([1.0, 2.0])
    (x * x).backward([1.0, 10.0])
    assert x.grad.tolist() == [2.0, 40.0]
    with pytest.raises(AutodiffError, match="a cotangent is needed for an output of shape"):
        (x * x).backward()


def test_a_value_without_history_has_no_gradient() -> None:
    with pytest.raises(AutodiffError) as caught:
        Tensor(1.0).backward()
    assert str(caught.value) == (
        "backward: the value carries no gradient; nothing that it was computed from has "
        "requires_grad set, or it was computed under no_grad()."
    )


def test_no_grad_records_nothing_and_ends_with_its_block() -> None:
    x = leaf([1.0])
    before = _C.base_tape().recorded
    with tl.no_grad():
        assert not (x * x).requires_grad
        with tl.no_grad():
            assert not (x * x).requires_grad
        assert not (x * x).requires_grad
    assert _C.base_tape().recorded == before
    assert (x * x).requires_grad
    with pytest.raises(KeyError), tl.no_grad():
        raise KeyError
    assert (x * x).requires_grad


def test_no_grad_inside_a_differentiated_function_stops_that_tape_too() -> None:
    def f(x: Tensor) -> Tensor:
        with tl.no_grad():
            held = x * x
        return x * held

    assert tl.grad(f)(3.0).item() == 9.0


def test_grad_inside_no_grad_works() -> None:
    with tl.no_grad():
        assert tl.grad(lambda x: x * x)(3.0).item() == 6.0


def test_detach_cuts_the_history() -> None:
    x = leaf([2.0])
    assert (x * x.detach()).sum().backward() is None
    assert x.grad.tolist() == [2.0]
    assert not x.detach().requires_grad
    assert type(tl.Parameter([1.0]).detach()) is Tensor
    assert x.stop_gradient().tolist() == [2.0]


def test_what_needs_no_gradient_is_not_recorded() -> None:
    before = _C.base_tape().recorded
    x = Tensor([1.0])
    for _ in range(5):
        x = F.exp(x * 0.5)
    assert _C.base_tape().recorded == before


def test_only_what_a_rule_reads_is_kept_alive() -> None:
    x, y = leaf(np.ones(1 << 16, np.float32)), Tensor(np.ones(1 << 16, np.float32))
    tl.memory.empty_cache()
    before = tl.memory.stats()["allocated"]
    z = x * 2 + y
    held = tl.memory.stats()["allocated"] - before
    assert (1 << 18) <= held < 2 * (1 << 18)  # one value, rounded up to a size class
    z.sum().backward()


def test_relu_keeps_its_output_and_not_its_input() -> None:
    x = leaf(np.ones(1 << 16, np.float32))
    tl.memory.empty_cache()
    before = tl.memory.stats()["allocated"]
    y = F.relu(x * 1.0 + 1.0)
    assert (1 << 18) <= tl.memory.stats()["allocated"] - before < 2 * (1 << 18)
    y.sum().backward()


def test_memory_is_released_as_the_backward_pass_goes() -> None:
    n, layers = 1 << 16, 20
    x = leaf(np.full(n, 0.5, np.float32))
    y = x
    for _ in range(layers):
        y = F.sin(y)
    total = y.sum()
    del y
    tl.memory.empty_cache()
    tl.memory.reset_peak()
    before = tl.memory.stats()["allocated"]
    total.backward()
    stats = tl.memory.stats()
    assert stats["allocated"] <= before - (layers - 3) * n * 4
    assert stats["peak"] <= before + 4 * n * 4
    # With the graph retained nothing is released.
    y = x
    for _ in range(layers):
        y = F.sin(y)
    total = y.sum()
    del y
    before = tl.memory.stats()["allocated"]
    total.backward(retain_graph=True)
    assert tl.memory.stats()["allocated"] >= before


def test_a_long_chain_neither_recurses_forward_nor_backward_nor_when_it_dies() -> None:
    x = leaf([1.0])
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [1.0]
    del y
    z = x
    for _ in range(100_000):
        z = F.sin(z)
    del z
    gc.collect()


def test_a_long_chain_inside_grad_neither_recurses() -> None:
    def f(x: Tensor) -> Tensor:
        for _ in range(100_000):
            x = x * 1.0
        return x

    assert tl.grad(f)(3.0).item() == 1.0


def test_a_tape_does_not_keep_what_nobody_can_reach() -> None:
    x = leaf(np.ones(1 << 16, np.float32))
    tl.memory.empty_cache()
    before = tl.memory.stats()["allocated"]
    for _ in range(50):
        F.exp(x)
    assert tl.memory.stats()["allocated"] == before


def test_in_place_changes_do_not_corrupt_what_was_recorded() -> None:
    x = leaf([2.0])
    y = x * x
    y *= y
    y.sum().backward()
    assert x.grad.tolist() == [32.0]


def test_gradients_of_many_parts_cost_what_the_parts_cost() -> None:
    """Parts that are taken in any way add up in place, in the order in which they come back."""
    values = np.random.default_rng(0).normal(size=(3, 50, 40))

    def loss(x: Any) -> Any:
        taken = (x[0], x[1], x[2], x[0, 3], x[:, ::2], x[tl.tensor([0, 0, 1])], x)
        return sum(F.sum(F.sin(part) * (i + 1)) for i, part in enumerate(taken))

    x = Tensor(values, requires_grad=True)
    loss(x).backward()
    slope = np.cos(values)
    wanted = slope * np.array([1.0, 2.0, 3.0])[:, None, None] + 7 * slope
    wanted[0, 3] += 4 * slope[0, 3]
    wanted[:, ::2] += 5 * slope[:, ::2]
    np.add.at(wanted, [0, 0, 1], 6 * slope[[0, 0, 1]])
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-12)
    again = tl.grad(lambda y: F.sum(tl.grad(loss)(y) ** 2))(tl.tensor(values))
    assert again.shape == values.shape


def test_a_cotangent_that_somebody_holds_is_not_written_over() -> None:
    """What arrives first is the caller's own tensor; the part adds to a copy of it."""
    whole, part = Tensor(np.full((2, 3), 5.0)), Tensor(np.ones(3))
    _, pull_back = tl.vjp(lambda x: (x[0], x.reshape(2, 3)), Tensor(np.ones((2, 3))))
    (gradient,) = pull_back((part, whole))
    assert gradient.tolist() == [[6.0] * 3, [5.0] * 3]
    assert whole.tolist() == [[5.0] * 3] * 2
    assert part.tolist() == [1.0] * 3


SIZE = 20_000  # too large for the short way of small tensors


def a_chain(x: Tensor) -> Tensor:
    """Ops whose rules may write over the gradient that comes to them."""
    return F.relu(F.sin(x) * 3.0 + F.square(x))


def test_gradients_that_nobody_holds_are_written_over() -> None:
    y = leaf(np.linspace(0.5, 1.5, SIZE, dtype=np.float32))
    for _ in range(8):
        y = F.relu(y)
    loss = y.sum()
    before = tl.memory.stats()["allocated"]
    tl.memory.reset_peak()
    loss.backward(retain_graph=True)
    assert tl.memory.stats()["peak"] - before < 1.5 * SIZE * 4


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_gradients_that_somebody_holds_stay(mode: str) -> None:
    data = np.linspace(-1.5, 1.5, SIZE)
    with tl.engine.mode(mode):
        x = leaf(data)
        middle = F.sin(x)
        y = a_chain(middle) + a_chain(middle)
        seen: list[Tensor] = []
        middle.register_hook(seen.append)
        seed = tl.ones_like(tl.tensor(data))
        same = seed + 0.0
        y.backward(seed, retain_graph=True)
        first = x.grad.numpy().copy()
        kept = seen[0].numpy().copy()
        (by_middle, by_x) = tl.autograd.grad(y, [middle, x], seed, retain_graph=True)
        y.backward(seed)
        np.testing.assert_array_equal(seed.numpy(), same.numpy())
        np.testing.assert_array_equal(seen[0].numpy(), kept)
        np.testing.assert_array_equal(by_middle.numpy(), kept)
        np.testing.assert_array_equal(by_x.numpy(), first)
        np.testing.assert_array_equal(x.grad.numpy(), 2 * first)
    s = np.sin(data)
    slope = 2 * np.where(3 * np.sin(s) + s * s > 0, 3 * np.cos(s) + 2 * s, 0) * np.cos(data)
    np.testing.assert_allclose(first, slope, rtol=1e-12, atol=1e-12)
