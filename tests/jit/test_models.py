"""Whole models: what is traced gives what runs at once, forward and in training."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit
from tests.support.models import models

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: tl.optim.SGD(p, lr=0.1),
    "momentum": lambda p: tl.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: tl.optim.Adam(p, lr=0.01, eps=1e-3),
    "adamw": lambda p: tl.optim.Adam(p, lr=0.01, eps=1e-3, decay=0.1),
}


def _state(network: Any) -> dict[str, np.ndarray]:
    named = [*network.named_parameters(), *network.named_buffers()]
    return {name: np.array(x.detach().numpy()) for name, x in named}


def _assert_same(found: dict[str, Any], wanted: dict[str, Any], tolerance: float) -> None:
    for name, value in wanted.items():
        np.testing.assert_allclose(
            found[name], value, rtol=tolerance, atol=tolerance / 10, err_msg=name
        )


@pytest.mark.parametrize("name", sorted(models()))
@pytest.mark.parametrize("kind", ["momentum", "adam"])
def test_a_traced_training_step_is_the_eager_one(name: str, kind: str) -> None:
    states, losses = [], []
    for is_traced in (False, True):
        model = models()[name]
        optimizer = OPTIMIZERS[kind](model.network.parameters())

        def step(inputs: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model.network(inputs), tl.tensor(model.classes))
            loss.backward()
            optimizer.step()
            return loss.detach()

        function = jit.trace(step) if is_traced else step
        x = tl.tensor(model.inputs)
        losses.append([function(x).item() for _ in range(4)])
        states.append(_state(model.network))
        if is_traced:
            assert len(function.programs()) <= 2
            assert sum(program.calls for program in function.programs()) >= 2
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    _assert_same(states[1], states[0], 1e-4)


@pytest.mark.parametrize("kind", sorted(OPTIMIZERS))
def test_settings_of_an_optimiser_may_change_between_steps(kind: str) -> None:
    found = []
    for is_traced in (False, True):
        p = tl.Parameter([1.0, -2.0])
        optimizer = OPTIMIZERS[kind]([p])

        def step(p: Any = p, optimizer: Any = optimizer) -> None:
            optimizer.zero_grad()
            F.sum(p * p).backward()
            optimizer.step()

        function = jit.trace(step) if is_traced else step
        for rate in (0.1, 0.05, 0.025, 0.2, 0.1):
            optimizer.lr = rate
            function()
        found.append((p.detach().numpy(), optimizer.state_dict()))
        if is_traced:
            assert len(function.programs()) <= 2
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-6)
    _assert_same(found[1][1], found[0][1], 1e-6)


@pytest.mark.parametrize("name", sorted(models()))
def test_y6_a_traced_network_trains_in_the_middle_of_an_eager_model(name: str) -> None:
    found = []
    for is_traced in (False, True):
        model = models()[name]
        network = jit.trace(model.network) if is_traced else model.network
        optimizer = OPTIMIZERS["sgd"](model.network.parameters())
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(network(tl.tensor(model.inputs)) * 1.5, tl.tensor(model.classes))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        found.append((losses, _state(model.network)))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    _assert_same(found[1][1], found[0][1], 1e-4)


@pytest.mark.parametrize("name", ["mlp", "cnn", "gpt"])
def test_accumulated_gradients_are_those_of_eager_code(name: str) -> None:
    found = []
    for is_traced in (False, True):
        model = models()[name]

        def accumulate(model: Any = model) -> None:
            model.loss().backward()

        function = jit.trace(accumulate) if is_traced else accumulate
        for _ in range(3):
            function()
        found.append({n: p.grad.numpy() for n, p in model.network.named_parameters()})
    _assert_same(found[1], found[0], 1e-4)


def _pairs(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return function, jit.trace(function)


def _close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(
        np.asarray(found.detach()), np.asarray(wanted.detach()), rtol=1e-5, atol=1e-6
    )


def test_transforms_go_through_traced_functions() -> None:
    weight = tl.tensor([[1.0, -2.0], [0.5, 3.0]])
    plain, traced = _pairs(lambda x: F.sum(F.tanh(F.matmul(x, weight)) ** 2))
    xs = tl.tensor(np.random.default_rng(0).standard_normal((5, 2), dtype=np.float32))
    x, dx = xs[0], tl.tensor([0.3, -0.7])
    for _ in range(2):  # recorded under the transform, then run under it
        _close(tl.grad(traced)(x), tl.grad(plain)(x))
        _close(
            tl.grad(lambda x: tl.grad(traced)(x)[0])(x), tl.grad(lambda x: tl.grad(plain)(x)[0])(x)
        )
        _close(tl.vmap(traced)(xs), tl.vmap(plain)(xs))
        _close(tl.vmap(tl.grad(traced))(xs), tl.vmap(tl.grad(plain))(xs))
        for a, b in zip(tl.jvp(traced, (x,), (dx,)), tl.jvp(plain, (x,), (dx,)), strict=True):
            _close(a, b)
        _close(tl.hessian(traced)(x), tl.hessian(plain)(x))
        _close(traced(x), plain(x))


def test_transforms_inside_of_traced_functions_are_recorded() -> None:
    weight = tl.Parameter([[1.0, -2.0], [0.5, 3.0]])

    def loss(x: Any) -> Any:
        return F.sum(F.sin(F.matmul(x, weight)) * x)

    xs = tl.tensor(np.random.default_rng(1).standard_normal((4, 2), dtype=np.float32))
    cases: list[Callable[[Any], Any]] = [
        lambda xs: tl.grad(loss)(xs[0]),
        lambda xs: tl.vmap(loss)(xs),
        lambda xs: tl.vmap(tl.grad(loss))(xs),
        lambda xs: tl.jvp(loss, (xs[0],), (xs[1],))[1],
        lambda xs: tl.hessian(loss)(xs[0]),
        lambda xs: tl.value_and_grad(loss)(xs[2])[0],
    ]
    for case in cases:
        plain, traced = _pairs(case)
        for batch in (xs, xs * 2, xs + 1):
            _close(traced(batch), plain(batch))
        assert len(traced.programs()) == 1


def test_history_stops_where_the_function_stops_it() -> None:
    p = tl.Parameter([2.0])

    def stopped(x: Any) -> Any:
        with tl.no_grad():
            a = x * p * 3
        b = (x * p).detach()
        return a * x + b * p, a, F.sum(b)

    plain, traced = _pairs(stopped)
    gradients = []
    for function in (plain, traced, traced):
        x = tl.tensor([3.0], requires_grad=True)
        y, a, b = function(x)
        assert y.requires_grad and not a.requires_grad and not b.requires_grad
        p.grad = None
        y.sum().backward()
        gradients.append((x.grad.item(), p.grad.item(), y.item()))
    assert gradients[0] == gradients[1] == gradients[2]


def test_functions_with_gradients_of_their_own_keep_them() -> None:
    @tl.custom_vjp
    def clipped(x: Any) -> Any:
        return x * 1.0

    clipped.defvjp(lambda x: (x * 1.0, None), lambda _, dy: (F.clip(dy, -1.0, 1.0),))
    plain, traced = _pairs(lambda x: F.sum(clipped(x) * 5.0))
    for _ in range(3):
        for function in (plain, traced):
            x = tl.tensor([2.0, 3.0], requires_grad=True)
            function(x).backward()
            assert x.grad.tolist() == [1.0, 1.0]


class Logged(tl.Carrier):
    """Notes which ops are applied."""

    names: list[str]

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.names = []


@tl.apply.register
def apply_logged_in_traces(op: tl.ops.OpBase, *xs: Logged) -> Any:
    """Notes the op."""
    xs[0].names.append(str(op))
    return tl.apply.super(op, *xs)


def test_tensor_likes_of_users_go_through_traced_functions() -> None:
    plain, traced = _pairs(lambda x: F.exp(x) * 2)
    counts = []
    for function in (plain, traced, traced):
        carrier = Logged([1.0])
        y = function(tl.Tensor(carrier))
        assert isinstance(y.__wrapped__, Logged)
        counts.append(len(carrier.names))
        assert y.item() == plain(tl.tensor([1.0])).item()
    assert counts[0] == counts[1] and counts[2] >= 1


def test_hooks_run_where_gradients_pass() -> None:
    seen: list[float] = []
    plain, traced = _pairs(lambda x: F.sum(x * x * 3))
    for function in (plain, traced, traced):
        x = tl.tensor([1.0, 2.0], requires_grad=True)
        h = x * 2
        h.register_hook(lambda g: seen.append(g.sum().item()) or g * 0.5)
        function(h).backward()
        assert x.grad.tolist() == [12.0, 24.0]
    assert seen == seen[:1] * 3


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
def test_modes_of_the_engine_go_with_traces(mode: str) -> None:
    plain, traced = _pairs(lambda x: F.sum(F.exp(x) * 2 + x))
    x = tl.tensor([1.0, 2.0])
    wanted = plain(x).item()
    with tl.engine.mode(mode):
        assert [traced(x).item() for _ in range(3)] == pytest.approx([wanted] * 3, rel=1e-6)


def test_random_numbers_are_those_of_eager_code() -> None:
    def noisy(x: Any) -> Any:
        return (
            F.dropout(x, 0.5) + tl.random.normal(shape=x.shape) + tl.random.uniform(shape=x.shape)
        )

    plain, traced = _pairs(noisy)
    x = tl.ones(16)
    found = []
    for function in (plain, traced):
        tl.manual_seed(5)
        found.append([function(x).tolist() for _ in range(4)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    assert found[1][0] != found[1][1]


def test_sizes_become_unknown_after_the_second_one() -> None:
    model = models()["mlp"]
    traced = jit.trace(lambda x, y: F.mean(model.network(x), axis=0) + F.sum(y))
    for count in (4, 7, 1, 5, 11):
        x, y = tl.ones((count, 6)) * 0.1, tl.ones(count)
        _close(traced(x, y), traced.__wrapped__(x, y))
    assert len(traced.programs()) <= 3
    assert "unknown" in traced.why()


def test_training_goes_on_at_other_sizes() -> None:
    found = []
    for is_traced in (False, True):
        model = models()["mlp"]
        optimizer = OPTIMIZERS["adam"](model.network.parameters())

        def step(x: Any, y: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model.network(x), y)
            loss.backward()
            optimizer.step()
            return loss

        function = jit.trace(step) if is_traced else step
        rng = np.random.default_rng(2)
        losses = []
        for count in (4, 4, 6, 9, 5, 4, 8):
            x = tl.tensor(rng.standard_normal((count, 6), dtype=np.float32))
            y = tl.tensor(rng.integers(0, 3, count))
            losses.append(function(x, y).item())
        found.append((losses, _state(model.network)))
        if is_traced:
            assert len(function.programs()) <= 4
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    _assert_same(found[1][1], found[0][1], 1e-4)


def test_what_cannot_be_a_program_runs_at_once_with_a_warning() -> None:
    layer = tl.nn.Linear(2, 2, seed=1)

    def through(z: Any) -> Any:
        loss = F.sum(z * z)
        loss.backward()
        return loss.detach()

    def frozen(p: Any) -> Any:
        p.requires_grad = False
        return p * 2

    found = []
    for function in (through, jit.trace(through)):
        for _ in range(2):
            layer.weight.grad = None
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(layer(tl.ones((1, 2))))
            found.append((layer.weight.grad.tolist(), len(caught)))
    assert [gradient for gradient, _ in found] == [found[0][0]] * 4
    assert [count for _, count in found] == [0, 0, 1, 0]
    p = tl.Parameter([1.0])
    with pytest.warns(jit.RetraceWarning, match="requires_grad"):
        assert not jit.trace(frozen)(p).requires_grad and not p.requires_grad
