"""Steps are ops applied through `apply`: on every tensor-like, under every transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Parameter, optim

Make = Callable[[Any], optim.Optimizer]

STEPS: dict[str, tuple[str, Callable[..., Any]]] = {
    "sgd": ("sgd_step", lambda ps, lr=0.1: optim.SGD(ps, lr=lr)),
    "momentum": ("momentum_step", lambda ps, lr=0.1: optim.SGD(ps, lr=lr, momentum=0.9)),
    "adam": ("adam_step", lambda ps, lr=0.1: optim.Adam(ps, lr=lr)),
    "adamw": ("adamw_step", lambda ps, lr=0.1: optim.Adam(ps, lr=lr, decay=0.3)),
}


class Seen(tl.Carrier):
    """A carrier that knows which ops were applied to it."""

    ops: list[Any]

    @classmethod
    def around_of(cls, value: Any, ops: list[Any]) -> Seen:
        made = cls(value)
        made.ops = ops
        return made


@tl.apply.register
def apply_seen(op: tl.ops.OpBase, *xs: Seen) -> tuple[Any, ...]:
    xs[0].ops.append(op)
    return tl.apply.super(op, *xs)


def trained(make: Callable[..., Any], wrap: Callable[[Any], Any], steps: int = 2) -> list[Any]:
    """A linear layer after a few steps, and what the optimiser keeps."""
    layer = tl.nn.Linear(3, 2, seed=0)
    optimizer = make(layer.parameters())
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    for _ in range(steps):
        optimizer.zero_grad()
        F.sum(layer(wrap(x)) ** 2).backward()
        optimizer.step()
    state = [value for values in optimizer._state().values() for value in values]
    return [*layer.parameters(), *(value for value in state if isinstance(value, tl.Tensor))]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_one_op_per_parameter_on_any_carrier(name: str) -> None:
    op, make = STEPS[name]
    ops: list[Any] = []
    found = trained(make, lambda x: tl.Tensor(Seen.around_of(x, ops)))
    wanted = trained(make, tl.tensor)
    for x, y in zip(found, wanted, strict=True):
        assert isinstance(x.detach().__wrapped__, Seen)
        np.testing.assert_allclose(np.asarray(x.detach()), np.asarray(y.detach()), rtol=1e-6)
    assert sum(getattr(seen, "mode", "") == op for seen in ops) == 4
    assert all(p.is_leaf for p in found[:2])


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_listed(name: str) -> None:
    op, make = STEPS[name]
    listing = tl.Listing()
    found = trained(make, lambda x: tl.Tensor(listing.input("x", x.shape)), 1)
    assert str(listing).count(f"Elemwise(mode='{op}')") == 2
    values = listing.run(found, np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
    for x, y in zip(values, trained(make, tl.tensor, 1), strict=True):
        np.testing.assert_allclose(np.asarray(x.detach()), np.asarray(y.detach()), rtol=1e-6)


@pytest.mark.parametrize("name", STEPS)
def test_shapes_alone_take_a_step(name: str) -> None:
    for x in trained(STEPS[name][1], lambda x: tl.Tensor(tl.ShapeTensor(x.shape))):
        assert isinstance(x.detach().__wrapped__, tl.ShapeTensor)


def after_steps(make: Callable[..., Any], lr: Any, p: Parameter) -> Any:
    """The loss after three steps down the gradients of it, which are taken inside."""
    optimizer = make([p], lr)
    for _ in range(3):
        p.grad = tl.grad(lambda w: F.sum(w**4))(p)
        optimizer.step()
    return F.sum(p**4)


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_differentiated_by_the_learning_rate(name: str) -> None:
    make, start, eps = STEPS[name][1], np.array([1.0, -2.0]), 1e-6

    def loss(lr: Any) -> Any:
        return after_steps(make, lr, Parameter(start))

    wanted = (loss(0.02 + eps) - loss(0.02 - eps)).item() / (2 * eps)
    lr = tl.tensor(0.02, dtype=tl.float64)
    np.testing.assert_allclose(tl.grad(loss)(lr).item(), wanted, rtol=1e-6)
    np.testing.assert_allclose(
        tl.jvp(loss, (lr,), (tl.ones_like(lr),))[1].item(), wanted, rtol=1e-6
    )
    rates = tl.tensor([0.02, 0.01], dtype=tl.float64)
    each = [loss(rate).item() for rate in rates]
    np.testing.assert_allclose(tl.vmap(loss)(rates).detach().numpy(), each, rtol=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_a_parameter_from_outside_is_plain_after_a_differentiated_step(name: str) -> None:
    p, make = Parameter(np.array([1.0, -2.0])), STEPS[name][1]
    optimizer = make([p])

    def loss(lr: Any) -> Any:
        optimizer.lr = lr
        p.grad = None
        F.sum(p * p).backward()
        optimizer.step()
        return F.sum(p)

    first = tl.grad(loss)(tl.tensor(0.1, dtype=tl.float64)).item()
    assert p.is_leaf and isinstance(p.detach().__wrapped__, tl.RawTensor)
    assert np.isfinite(first) and first != 0
    optimizer.lr = 0.1
    optimizer.step()
    with pytest.raises(tl.DispatchError, match="made outside must not be set"):
        tl.vmap(loss)(tl.tensor([0.1, 0.2], dtype=tl.float64))


def test_the_gradient_through_one_step_is_exact() -> None:
    def loss(lr: Any) -> Any:
        w = Parameter([1.0, 2.0])
        F.sum(w**2).backward()
        optim.SGD([w], lr=lr).step()
        return F.sum(w)

    assert tl.grad(loss)(0.1).item() == -6.0


def test_a_step_keeps_the_dtype_and_refuses_another_shape() -> None:
    p = Parameter(np.ones(2, np.float16))
    p.grad = tl.ones(2, dtype=tl.float16)
    optim.SGD([p], lr=tl.tensor(0.5)).step()
    assert p.dtype is tl.float16 and p.tolist() == [0.5, 0.5]
    with pytest.raises(tl.ShapeError, match=r"keep the shape \(2,\); got \(3, 2\)"):
        optim.SGD([p], lr=tl.ones((3, 1))).step()
    assert p.tolist() == [0.5, 0.5]


def test_rules_of_users_see_a_step() -> None:
    seen = []

    def apply_watching(op: tl.ops.Elemwise, *xs: tl.RawTensor) -> Any:
        seen.append(op.mode)
        return tl.apply.super(op, *xs)

    p = Parameter([1.0])
    p.grad = tl.ones(1)
    with tl.apply.registered(apply_watching):
        optim.SGD([p], lr=0.5).step()
    assert "sgd_step" in seen and p.tolist() == [0.5]
