"""An exception anywhere leaves no level, mode or tape behind: injected at every op in turn."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, nn
from tensorlike import functional as F


class Fault(Exception):
    """What is injected."""


class Injector:
    """Raises at the n-th op that reaches its tensor-like."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.error: type[BaseException] = Fault
        self.count = 0

    def arm(self, at: int | None, error: type[BaseException] = Fault) -> None:
        self.left, self.error, self.count = at, error, 0

    def step(self) -> None:
        self.count += 1
        if self.left is not None and self.count > self.left:
            raise self.error


injector = Injector()


class Brittle(tl.TensorBase):
    """A tensor-like in whose rule the fault happens."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def lift(self, other: Any) -> Brittle:
        return Brittle(other)


@pytest.fixture(autouse=True)
def _rule() -> Iterator[None]:
    @tl.apply.register
    def apply_brittle(op: tl.ops.OpBase, *xs: Brittle) -> tuple[Any, ...]:
        injector.step()
        return tuple(Brittle(y) for y in op(*(x.value for x in xs)))

    injector.arm(None)
    yield
    tl.apply.unregister(apply_brittle)


def brittle(array: Any) -> Any:
    return tl.Tensor(Brittle(tl.as_raw_tensor(np.asarray(array, np.float32))))


X = np.linspace(-1, 1, 6).reshape(2, 3)
W = np.linspace(1, -1, 12).reshape(3, 4)


def loss(w: Any, x: Any) -> Any:
    return F.mean(F.logsumexp(F.tanh(x @ w) * 2, axis=-1))


def train() -> Any:
    w = brittle(W)
    w.requires_grad = True
    w.register_hook(lambda gradient: gradient * 1)
    with tl.Tape(), tl.autograd.detect_anomaly():
        loss(w, brittle(X)).backward()
    with tl.no_grad():
        w -= w.grad * 0.1
    return w


def managed() -> Any:
    w = brittle(W)
    gm = tl.GradManager().attach(w)
    with gm:
        gm.backward(loss(w, brittle(X)))
    return w.grad


@tl.custom_vjp
def cubed(x: Any) -> Any:
    return x * x * x


cubed.defvjp(lambda x: (x * x * x, x), lambda x, dy: (3 * x * x * dy,))

PROGRAMS: dict[str, Callable[[], Any]] = {
    "a step of training": train,
    "a managed step": managed,
    "grad of grad": lambda: tl.grad(
        lambda w: F.sum(tl.grad(lambda v: loss(v, brittle(X)))(w) ** 2)
    )(brittle(W)),
    "jvp of grad": lambda: tl.jvp(
        tl.grad(lambda w: loss(w, brittle(X))), (brittle(W),), (brittle(W),)
    ),
    "vmap of grad": lambda: tl.vmap(tl.grad(lambda x: loss(brittle(W), x)))(brittle(X)),
    "hessian": lambda: tl.hessian(lambda v: F.sum(F.exp(v) * v))(brittle([0.1, 0.2])),
    "checkpoint": lambda: tl.grad(lambda w: tl.checkpoint(loss)(w, brittle(X)))(brittle(W)),
    "custom_vjp": lambda: tl.grad(lambda w: F.sum(cubed(w)))(brittle(W)),
    "linearize": lambda: tl.linearize(lambda w: loss(w, brittle(X)), brittle(W))[1](brittle(W)),
}


def state() -> tuple[Any, ...]:
    """What an exception must not change."""
    probe = _C.open_tape()
    level = probe.level
    probe.close()
    watcher = _C.watch_gradients(None)
    _C.watch_gradients(watcher)
    log = tl.Tape()
    with log:
        tl.tensor(1.0, requires_grad=True) * 2
    return level, _C.paused_level(), watcher, len(log), _C.engine_options()["mode"]


@pytest.mark.parametrize("error", [Fault, KeyboardInterrupt])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_fault_at_every_op_leaves_nothing_behind(name: str, error: type[BaseException]) -> None:
    program = PROGRAMS[name]
    before = state()
    injector.arm(None)
    program()
    total = injector.count
    assert total > 4
    injector.arm(None)
    gc.collect()
    held = tl.memory.stats()["allocated"]
    for at in range(total):
        injector.arm(at, error)
        with pytest.raises(error):
            program()
        injector.arm(None)
        assert state() == before
    gc.collect()
    assert tl.memory.stats()["allocated"] <= held
    program()
    assert injector.count == total  # and it works as before


def test_a_fault_in_a_users_function_under_every_transform() -> None:
    def fail(*_: Any) -> Any:
        raise Fault

    x = tl.tensor([1.0, 2.0])
    before = state()
    for run in (
        lambda: tl.grad(fail)(x),
        lambda: tl.vjp(fail, x),
        lambda: tl.jvp(fail, (x,), (x,)),
        lambda: tl.vmap(fail)(x),
        lambda: tl.vmap(tl.grad(lambda v: tl.jvp(fail, (v,), (v,))[1]))(x),
        lambda: tl.checkpoint(fail)(x),
        lambda: tl.hessian(fail)(x),
        lambda: tl.linearize(fail, x),
    ):
        with pytest.raises(Fault):
            run()
        assert state() == before


def test_a_layer_gets_its_parameters_back() -> None:
    layer = nn.Linear(3, 4)
    with pytest.raises(Fault):
        injector.arm(0)
        tl.grad(lambda m: F.sum(m(brittle(X))))(layer)
    assert layer.weight.is_leaf and layer.weight.requires_grad and layer.weight.shape == (3, 4)
    injector.arm(None)
    gradient = tl.grad(lambda m: F.sum(m(tl.tensor(X.astype(np.float32)))))(layer)
    np.testing.assert_allclose(
        gradient["weight"].numpy(), np.repeat(X.sum(0)[:, None], 4, 1), rtol=1e-5, atol=1e-6
    )
