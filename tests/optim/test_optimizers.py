"""Optimisers against the plain formulas in NumPy, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, Parameter, Tensor, nn, optim
from tensorlike import functional as F

Array = np.ndarray[Any, Any]


def sgd(p: Array, gradients: list[Array], lr: float = 0.1) -> Array:
    for g in gradients:
        p = p - lr * g
    return p


def momentum(p: Array, gradients: list[Array], lr: float = 0.1, rate: float = 0.9) -> Array:
    m = np.zeros_like(p)
    for g in gradients:
        m = rate * m + g
        p = p - lr * m
    return p


def adam(p: Array, gradients: list[Array], decay: float = 0.0) -> Array:
    lr, first_rate, second_rate, eps = 0.01, 0.8, 0.95, 1e-6
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        m = first_rate * m + (1 - first_rate) * g
        v = second_rate * v + (1 - second_rate) * g * g
        p = p - lr * decay * p
        corrected = m / (1 - first_rate**t)
        p = p - lr * corrected / (np.sqrt(v / (1 - second_rate**t)) + eps)
    return p


def adamw(p: Array, gradients: list[Array]) -> Array:
    return adam(p, gradients, decay=0.3)


ADAM = {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-6}
CASES: dict[str, tuple[Callable[..., optim.Optimizer], Callable[..., Array]]] = {
    "sgd": (lambda ps: optim.SGD(ps, lr=0.1), sgd),
    "momentum": (lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9), momentum),
    "adam": (lambda ps: optim.Adam(ps, **ADAM), adam),
    "adamw": (lambda ps: optim.Adam(ps, **ADAM, decay=0.3), adamw),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (5, 7), (0, 2), (200, 300)])
def test_steps_follow_the_formula(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    make, formula = CASES[name]
    rng = np.random.default_rng(1)
    start = rng.standard_normal(shape).astype(dtype)
    gradients = [rng.standard_normal(shape).astype(dtype) for _ in range(5)]
    p = Parameter(start)
    optimizer = make([p])
    for g in gradients:
        p.grad = Tensor(g)
        optimizer.step()
    expected = formula(start.astype(np.float64), [g.astype(np.float64) for g in gradients])
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    assert p.dtype.name == dtype
    np.testing.assert_allclose(p.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_a_step_writes_the_parameter_in_its_own_memory(name: str) -> None:
    p = Parameter(np.ones(1 << 16, np.float32))
    optimizer = CASES[name][0]([p])
    p.grad = Tensor(np.ones(1 << 16, np.float32))
    address = np.asarray(p._raw()).ctypes.data
    before = tl.memory.stats()["allocated"]
    for _ in range(3):
        optimizer.step()
    assert np.asarray(p._raw()).ctypes.data == address
    assert tl.memory.stats()["allocated"] == before


@pytest.mark.parametrize("name", CASES)
def test_a_step_is_not_seen_by_who_held_the_old_value(name: str) -> None:
    p = Parameter([1.0, 2.0])
    optimizer = CASES[name][0]([p])
    view, alias = p.detach().numpy(), p.detach()
    gradient = Tensor([1.0, 1.0])
    p.grad = gradient
    optimizer.step()
    assert view.tolist() == alias.tolist() == [1.0, 2.0]
    assert gradient.tolist() == [1.0, 1.0]
    assert p.tolist() != [1.0, 2.0]


@pytest.mark.parametrize("name", CASES)
def test_the_parameter_stays_the_same_leaf(name: str) -> None:
    p = Parameter([1.0, 2.0])
    optimizer = CASES[name][0]([p])
    for _ in range(2):
        optimizer.zero_grad()
        assert p.grad is None
        (p * p).sum().backward()
        held = p.detach().tolist()
        optimizer.step()
        assert p.requires_grad
        assert p.is_leaf
        assert p.grad.tolist() == [2 * x for x in held]


def test_a_step_records_nothing() -> None:
    p = Parameter([1.0])
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = Tensor([1.0])
    before = _C.base_tape().recorded
    optimizer.step()
    assert _C.base_tape().recorded == before


def test_an_older_graph_keeps_the_old_value() -> None:
    p = Parameter([2.0])
    optimizer = optim.SGD([p], lr=0.5)
    loss = (p * p * p).sum()
    p.grad = Tensor([1.0])
    optimizer.step()
    p.grad = None
    loss.backward()
    assert p.grad.tolist() == [12.0]


def test_parameters_without_a_gradient_stay_and_are_not_counted() -> None:
    with_gradient, without = Parameter([1.0]), Parameter([1.0])
    optimizer = optim.Adam([with_gradient, without], lr=0.5)
    for _ in range(3):
        with_gradient.grad = Tensor([1.0])
        optimizer.step()
    assert without.tolist() == [1.0]
    without.grad = Tensor([1.0])
    optimizer.step()
    # Its first step: the bias correction makes it as long as the learning rate.
    assert without.item() == pytest.approx(0.5)


def test_the_learning_rate_may_change_between_steps() -> None:
    p = Parameter([1.0])
    optimizer = optim.SGD([p], lr=0.5)
    p.grad = Tensor([1.0])
    optimizer.step()
    optimizer.lr = 0.25
    optimizer.step()
    assert p.tolist() == [0.25]


@pytest.mark.parametrize("name", CASES)
def test_training_finds_the_weights(name: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    layer = nn.Linear(3, 1, seed=0)
    optimizer = CASES[name][0](layer.parameters())
    if isinstance(optimizer, optim.Adam):
        optimizer.lr, optimizer.decay = 0.05, optimizer.decay / 1000
    first = None
    for _ in range(300):
        optimizer.zero_grad()
        loss = F.mean((layer(Tensor(x)) - y) ** 2)
        first = loss.item() if first is None else first
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-3 * first


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: optim.SGD([], lr=0.1), "SGD: there must be parameters; got none"),
        (lambda p: optim.SGD([p], lr=0.0), "SGD: lr must be positive; got 0.0"),
        (lambda p: optim.SGD([p], 0.1, momentum=1.0), "SGD: momentum must be in [0, 1); got 1.0"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), "Adam: betas must be in [0, 1); got 1.0"),
        (lambda p: optim.Adam([p], eps=0.0), "Adam: eps must be positive; got 0.0"),
        (lambda p: optim.Adam([p], decay=-1.0), "Adam: decay must be not negative; got -1.0"),
        (lambda p: optim.Adam([Tensor([1.0])]), "Adam: parameters must require_grad"),
    ],
)
def test_wrong_settings_are_refused(make: Callable[[Parameter], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        make(Parameter([1.0]))
    assert str(caught.value) == message


def test_sgd_refuses_what_requires_no_gradient() -> None:
    with pytest.raises(ValueError) as caught:
        optim.SGD([Tensor([1.0])], lr=0.1)
    assert str(caught.value) == "SGD: parameters must require_grad"
