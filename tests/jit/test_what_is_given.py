"""What `trace` and `to_static` take for functions and options, and what they say of others."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import jit


class Marked(tl.Carrier):
    """A tensor-like of the user's."""


class Scaling:
    """An object that is called like a function."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: Any, plus: float = 0.0) -> Any:
        if x.sum() > 0:
            return x * self.by + plus
        return -x


def _scaled(by: float, x: Any, *, plus: float = 0.0) -> Any:
    if x.sum() > 0:
        return x * by + plus
    return -x


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
@pytest.mark.parametrize(
    "function",
    [
        Scaling(3.0),
        functools.partial(_scaled, 3.0),
        functools.partial(functools.partial(_scaled, plus=1.0), 3.0),
        functools.partial(Scaling(3.0), plus=2.0),
        functools.partial(Scaling(3.0).__call__, plus=2.0),
    ],
)
def test_objects_and_partials_are_functions(kind: Any, function: Any) -> None:
    found = kind(function)
    for values in ([1.0, 2.0], [-1.0, -2.0], [1.0, 2.0, 3.0], [-1.0, 0.0, 0.0]):
        x = tl.tensor(values)
        assert found(x).tolist() == function(x).tolist()
    if kind is jit.to_static:
        assert len(found.programs()) == 2 and "def " in found.code


def test_an_object_that_changes_is_noticed() -> None:
    scaling = Scaling(3.0)
    found = jit.to_static(scaling)
    x = tl.tensor([1.0])
    assert found(x).item() == 3.0
    scaling.by = 5.0
    assert found(x).item() == 5.0


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_what_is_no_function_is_refused_at_once(kind: Any) -> None:
    with pytest.raises(tl.ArgumentError, match="function must be a function, a method or a layer"):
        kind(3)
    with pytest.raises(tl.ArgumentError, match=r"must hold an InputSpec .*; got a int in it"):
        kind(lambda x: x, input_spec=[3])


def test_what_has_no_source_is_named_without_a_line() -> None:
    with pytest.raises(jit.ConversionError) as refused:
        jit.to_static(len)(tl.tensor([1.0]))
    assert "got len, a builtin_function_or_method; wrap it" in str(refused.value)
    assert "<none>" not in str(refused.value)


def test_gradients_of_frozen_parameters_may_be_cleared() -> None:
    layer = tl.nn.Linear(2, 2, seed=0)

    def step(x: Any) -> Any:
        for parameter in layer.parameters():
            parameter.grad = None
        loss = (layer(x) ** 2).sum()
        loss.backward()
        return loss

    traced = jit.trace(step)
    x = tl.tensor([[1.0, 2.0]])
    for freeze in (False, True, False):
        layer.bias.requires_grad = not freeze
        step(x)
        expected = [None if p.grad is None else p.grad.tolist() for p in layer.parameters()]
        traced(x), traced(x)
        assert expected == [None if p.grad is None else p.grad.tolist() for p in layer.parameters()]


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_tensor_likes_of_the_user_are_made_inside(kind: Any) -> None:
    x = tl.tensor([1.0, 2.0])

    def unwrapped(x: Any) -> Any:
        return tl.Tensor((tl.Tensor(Marked(x)) * x).__wrapped__.value)

    found = kind(unwrapped)
    assert [found(x).tolist() for _ in range(3)] == [[1.0, 4.0]] * 3
    assert len(found.programs()) == 1
    marked = kind(lambda x: (tl.Tensor(Marked(x)) * x, x + 1))
    with pytest.warns(jit.RetraceWarning, match="leaves a Marked behind"):
        first = marked(x)
    for y, z in (first, marked(x)):
        assert isinstance(y.__wrapped__, Marked) and z.tolist() == [2.0, 3.0]
        assert tl.Tensor(y.__wrapped__.value).tolist() == [1.0, 4.0]
    with pytest.raises(tl.ArgumentError, match=r"can be a program; got this: it leaves a Marked"):
        marked.concrete(x)
