"""Grad and GradManager on tensors that were computed, and leaves made inside transforms."""

from __future__ import annotations

import pytest

import tensorlike as tl
from tensorlike import Grad, Tensor
from tensorlike import functional as F


def test_a_grad_on_an_intermediate_leaves_the_history_of_others() -> None:
    x = Tensor([2.0])
    got: list[float] = []
    outer = Grad().wrt(x, callback=lambda _, dx: got.append(dx.item()))
    y = x * x
    inner = Grad().wrt(y)
    z = y * y
    inner(z)
    assert y.grad.item() == 8.0
    outer(z)
    assert got == [32.0]

    def f(x: Tensor) -> Tensor:
        slopes: list[Tensor] = []
        y, _ = F.split(F.stack([x * x, x]), (1, 1))
        with Grad().wrt(y, callback=lambda _, dy: slopes.append(dy)) as g:
            z = F.sum(y**3)
            g(z)
        return z + F.sum(slopes[0])  # x**6 + 3 * x**4

    assert tl.grad(f)(Tensor(2.0)).item() == 6 * 32 + 12 * 8
    leaf = Tensor(2.0)
    leaf.requires_grad = True
    f(leaf).backward()
    assert leaf.grad.item() == 6 * 32 + 12 * 8


def test_leaves_made_inside_a_transform_keep_tangents_and_examples() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * x
        y.requires_grad = True
        return F.sum(y**3)

    value, along = tl.jvp(f, (Tensor(2.0),), (Tensor(1.0),))
    assert (value.item(), along.item()) == (64.0, 192.0)
    assert tl.vmap(f)(Tensor([1.0, 2.0])).tolist() == [1.0, 64.0]


def test_a_grad_manager_on_an_intermediate_leaves_the_history_of_others() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * x
        manager = tl.GradManager().attach(y)
        with manager:
            z = y * y
            manager.backward(z)
        assert y.grad.item() == 8.0
        return z

    assert tl.grad(f)(Tensor(2.0)).item() == 32.0


@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap"])
def test_gradients_by_leaves_that_would_lose_a_transform_are_refused(transform: str) -> None:
    got: list[Tensor] = []

    def f(x: Tensor) -> Tensor:
        y = Tensor([1.0, 2.0])  # plain: a leaf further out than x
        with Grad().wrt(y, callback=lambda _, dy: got.append(dy)) as g:
            z = F.sum(y * x)
            with pytest.raises(tl.AutodiffError, match="of which `grad` would lose the latter"):
                g(z)
            with pytest.raises(tl.AutodiffError, match="of which `grad` would lose the latter"):
                z.backward()
        return z

    x = Tensor([2.0, 3.0])
    if transform == "grad":
        tl.grad(f)(x)
    elif transform == "jvp":
        tl.jvp(f, (x,), (x,))
    else:
        tl.vmap(f)(x)
    assert not got


def test_a_tensor_bound_and_made_a_leaf_inside_a_transform_is_plain_when_that_ends() -> None:
    outside = Tensor([0.0, 0.0])

    def f(x: Tensor) -> Tensor:
        outside.set_value(x * 2)
        outside.requires_grad = True
        z = F.sum(outside**2)
        z.backward()
        return z + F.sum(outside.grad)

    value, moved = tl.jvp(f, (Tensor([1.0, 2.0]),), (Tensor([1.0, 0.0]),))
    assert value.item() == 4 + 16 + 4 + 8 and moved.item() == 8 + 4
    assert outside.tolist() == [2.0, 4.0]
    assert type(outside.__wrapped__) is tl.RawTensor
