"""Rules, bodies and gradients that return what they must not, and rules registered twice."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike import functional as F


class Odd(tl.TensorBase):
    """A tensor-like whose rule returns what the class is told."""

    shape = (2,)
    dtype = tl.float32
    answer: Any = None

    def lift(self, other: Any) -> Any:
        return Odd()


def apply_odd(op: tl.ops.OpBase, *xs: Odd) -> Any:
    return Odd.answer


CALLS = [
    lambda: F.exp(Odd()),
    lambda: Odd() + Odd(),
    lambda: Odd() + tl.RawTensor([1.0, 2.0]),
    lambda: F.sum(tl.Tensor(Odd())),
    lambda: tl.apply(tl.ops.Elemwise(mode="exp"), Odd()),
    lambda: F.concat([Odd(), Odd()]),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "answer",
    (None, 5, "x", (None,), [5], (Odd(), Odd()), (), {}, (1.0, 2.0)),
    ids=lambda a: type(a).__name__,
)
def test_a_rule_that_returns_garbage_is_refused_by_name(call: Any, answer: Any) -> None:
    Odd.answer = answer
    with (
        tl.apply.registered(apply_odd),
        pytest.raises(tl.DispatchError, match=r"the rule apply_odd .* must return"),
    ):
        call()


@pytest.mark.parametrize("answer", (Odd(), (Odd(),), [Odd()], tl.ones(2), tl.RawTensor([1.0])))
def test_a_rule_may_return_any_tensor_like(answer: Any) -> None:
    Odd.answer = answer
    with tl.apply.registered(apply_odd):
        assert isinstance(F.exp(Odd()), tl.TensorBase)


def test_a_lift_that_returns_garbage_is_refused_by_name() -> None:
    class Lifted(Odd):
        def lift(self, other: Any) -> Any:
            return 5

    def apply_lifted(op: tl.ops.OpBase, *xs: Lifted) -> Any:
        return Lifted()

    with (
        tl.apply.registered(apply_lifted),
        pytest.raises(tl.DispatchError, match="Lifted: lift must return a tensor-like"),
    ):
        Lifted() + tl.RawTensor([1.0, 2.0])


def test_a_body_or_gradient_that_returns_garbage_is_refused_by_name() -> None:
    class Bodiless(tl.ops.OpBase):
        def define(self, x: Any) -> Any:
            return 5

    class Sloped(tl.ops.OpBase):
        def define(self, x: Any) -> Any:
            return x * 1

        def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            return ("x",)

    with pytest.raises(
        tl.DispatchError, match="Bodiless: define must return tensor-likes; got int"
    ):
        Bodiless()(tl.ones(2))
    x = tl.tensor([1.0], requires_grad=True)
    (y,) = Sloped()(x)
    with pytest.raises(tl.DispatchError, match="Sloped: vjp must return a gradient or None"):
        y.backward()


def test_one_function_is_registered_once() -> None:
    tl.apply.register(apply_odd)
    try:
        with pytest.raises(ValueError, match="apply_odd must be registered once"):
            tl.apply.register(apply_odd)
    finally:
        tl.apply.unregister(apply_odd)
