"""Hooks: users' functions of gradients."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tensorlike as tl


def leaf(data: Any) -> tl.Tensor:
    return tl.tensor(data, requires_grad=True)


def test_a_hook_sees_the_whole_gradient_once_per_pass() -> None:
    x = leaf([1.0, 2.0])
    seen: list[Any] = []
    x.register_hook(lambda gradient: seen.append(gradient.tolist()))
    (x * 2 + x * 3).sum().backward()
    assert seen == [[5.0, 5.0]]
    (x * 1).sum().backward()
    assert seen == [[5.0, 5.0], [1.0, 1.0]] and x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("is_leaf", [True, False])
def test_what_a_hook_returns_takes_the_gradients_place(is_leaf: bool) -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    (x if is_leaf else y).register_hook(lambda gradient: gradient * [1.0, 10.0])
    (y * y).sum().backward()
    assert x.grad.tolist() == [18.0, 360.0]


def test_hooks_run_in_order_and_each_may_be_removed() -> None:
    x = leaf(1.0)
    first = x.register_hook(lambda gradient: gradient + 1)
    second = x.register_hook(lambda gradient: gradient * 10)
    (x * 2).backward()
    assert x.grad.item() == 30.0
    first.remove()
    first.remove()
    x.zero_grad()
    (x * 2).backward()
    assert x.grad.item() == 20.0
    second.remove()
    x.zero_grad()
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_a_hook_of_one_output_of_several_leaves_the_others_alone() -> None:
    x = leaf([3.0, 1.0, 2.0, 5.0])
    a, b = tl.functional.split(x, (2, 2))
    a.register_hook(lambda gradient: gradient * 100)
    (a + b).sum().backward()
    assert x.grad.tolist() == [100.0, 100.0, 1.0, 1.0]


def test_a_hook_on_a_level_of_grad() -> None:
    def f(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda gradient: gradient * 7)
        return y * x

    assert tl.grad(f)(2.0).item() == 7 * 2 * 2 * 2 + 4
    # The outer level sees what the hook made of it: 7 * 2 x * x + x * x, differentiated.
    assert tl.grad(tl.grad(f))(2.0).item() == 2 * (7 * 2 + 1) * 2


def test_a_hook_is_differentiated_where_the_graph_is_made() -> None:
    x = leaf(3.0)
    x.register_hook(lambda gradient: gradient * x)
    (gradient,) = tl.autograd.grad(x * x, x, create_graph=True)
    assert gradient.item() == 18.0  # 2 x, times x
    (x * x).backward()
    assert not x.grad.requires_grad


def test_a_replacement_is_cast_and_must_have_the_shape() -> None:
    x = tl.tensor(np.ones(3), requires_grad=True)
    x.register_hook(lambda gradient: np.full(3, 2, np.float32))
    (x * 1).sum().backward()
    assert x.grad.dtype is tl.float64 and x.grad.tolist() == [2.0, 2.0, 2.0]
    y = leaf([1.0, 2.0])
    y.register_hook(lambda gradient: gradient.sum())
    with pytest.raises(tl.ShapeError, match="must have its shape"):
        (y * 1).sum().backward()
    assert y.grad is None


def test_what_no_gradient_reaches_takes_no_hook() -> None:
    with pytest.raises(tl.AutodiffError, match="without requires_grad"):
        tl.tensor([1.0]).register_hook(print)
    with pytest.raises(TypeError, match="takes a function"):
        leaf([1.0]).register_hook(3)  # type: ignore[arg-type]


def test_an_exception_in_a_hook_comes_out_and_the_next_pass_works() -> None:
    x, w = leaf(1.0), leaf(2.0)
    handle = x.register_hook(lambda gradient: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * w).backward()
    handle.remove()
    x.zero_grad()
    w.zero_grad()
    (x * w).backward()
    assert (x.grad.item(), w.grad.item()) == (2.0, 1.0)


def test_a_hook_may_run_a_backward_pass_of_its_own() -> None:
    x = leaf(2.0)
    inner: list[float] = []

    def hook(gradient: Any) -> None:
        z = leaf(3.0)
        (z * z).backward()
        inner.append(z.grad.item())

    (y := x * x).register_hook(hook)
    (y * 5).backward()
    assert inner == [6.0] and x.grad.item() == 20.0


@pytest.mark.parametrize("retain", [False, True])
def test_a_hook_must_not_use_up_the_graph_that_is_walked(retain: bool) -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    z = y * y
    inner: list[int] = []

    def hook(gradient: Any) -> None:
        if not inner:
            inner.append(1)
            y.backward()

    y.register_hook(hook)
    with pytest.raises(tl.AutodiffError, match="must not be used up"):
        z.backward(retain_graph=retain)


def test_a_hook_that_refers_to_its_tensor_is_collected_with_it() -> None:
    class Model:
        weight: Any

    def make() -> weakref.ref[Model]:
        model = Model()
        model.weight = leaf([1.0])
        model.weight.register_hook(lambda gradient: model.weight * gradient)
        (model.weight * 2).sum().backward()
        return weakref.ref(model)

    gone = make()
    gc.collect()
    assert gone() is None


def test_hooks_of_what_was_used_up_are_dropped() -> None:
    class Note:
        def __call__(self, gradient: Any) -> None:
            return None

    x = leaf(1.0)
    y = x * 2
    note = Note()
    gone = weakref.ref(note)
    y.register_hook(note).remove()
    del note
    assert gone() is None  # removed: nothing keeps it
    note = Note()
    gone = weakref.ref(note)
    y.register_hook(note)
    del note
    y.backward()
    assert gone() is None
