"""Quick calls of functions that draw, and under several tapes: what the long way gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.quick import MODES, quick_calls, the_long_way

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn


def drawing(kind: Callable[..., Any]) -> tuple[Any, Any]:
    """A function with dropout and noise, as a program, and its weight."""
    weight = tl.Parameter(np.linspace(0.5, 1.5, 6, dtype=np.float32))
    dropout = nn.Dropout(0.4)

    def function(x: Any) -> Any:
        hidden = dropout(F.tanh(x * weight))
        return F.sum(hidden * hidden) + F.sum(dropout(x) * tl.random.normal(x.shape)), hidden

    return kind(function), weight


def gradients(call: Callable[[], Any], leaves: list[Any]) -> list[Any]:
    for leaf in leaves:
        leaf.grad = None
    loss, hidden = call()
    loss.backward()
    found = [loss, hidden, *[leaf.grad for leaf in leaves]]
    return [np.array(y.detach().numpy()) for y in found]


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
@pytest.mark.parametrize("mode", MODES)
def test_what_draws_goes_the_quick_way_with_gradients(mode: str, kind: Any) -> None:
    function, weight = drawing(kind)
    x = tl.tensor(np.linspace(-1, 1, 6, dtype=np.float32), requires_grad=True)
    with tl.engine.mode(mode, **MODES[mode]):
        for _ in range(3):
            function(x)
        found = []
        for seed in range(3):
            tl.manual_seed(seed)
            before = quick_calls(function)
            quick = gradients(lambda: function(x), [x, weight])
            again = gradients(lambda: function(x), [x, weight])
            assert quick_calls(function) == before + 2
            tl.manual_seed(seed)
            general = gradients(lambda: the_long_way(function, x), [x, weight])
            for y, wanted in zip(quick, general, strict=True):
                np.testing.assert_array_equal(y, wanted)
            assert not np.array_equal(again[1], quick[1]), "each call draws anew"
            found.append(quick[1])
    assert not np.array_equal(found[0], found[1])


def test_a_gradient_sees_the_elements_that_were_dropped() -> None:
    dropout = nn.Dropout(0.5)
    function = jit.trace(lambda x: dropout(x) * 3)
    x = tl.ones((64,))
    x.requires_grad = True
    for _ in range(4):
        x.grad = None
        y = function(x)
        F.sum(y).backward()
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    assert quick_calls(function) > 0
    second = tl.grad(lambda x: F.sum(tl.grad(lambda x: F.sum(function(x) ** 2))(x)))(x)
    assert set(np.unique(second.numpy())) <= {0.0, 72.0}


def test_draws_under_grad_go_the_quick_way_and_the_others_do_not_disturb() -> None:
    function, weight = drawing(jit.trace)
    x = tl.tensor(np.linspace(-1, 1, 6, dtype=np.float32))
    slope = tl.grad(lambda x: function(x)[0])
    for _ in range(3):
        slope(x)
    before = quick_calls(function)
    tl.manual_seed(1)
    quick = slope(x).detach().numpy()
    assert quick_calls(function) == before + 1
    tl.manual_seed(1)
    kept, function._quick = function._quick, ()
    general = slope(x).detach().numpy()
    function._quick = kept
    np.testing.assert_array_equal(quick, general)
    function(x)
    assert weight.grad is None


def polynomial(x: Any, y: Any) -> Any:
    return F.sum(x * x * x * y + F.sin(x * y))


def nested(f: Callable[..., Any], order: int) -> Callable[..., Any]:
    """The derivative of an order by x, each time of the sum."""
    for _ in range(order):
        f = (lambda g: lambda x, y: F.sum(tl.grad(lambda x: g(x, y))(x)))(f)
    return f


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("is_constant", [False, True])
def test_nested_gradients_go_the_quick_way(order: int, is_constant: bool) -> None:
    x, y = (tl.tensor(np.linspace(a, 2, 5)) for a in (0.5, -1))
    traced = jit.trace(polynomial)
    run = nested(traced, order)
    plain = nested(polynomial, order)
    # What is no leaf of the innermost transform belongs to one around it, or to none.
    calls = (
        (lambda f: tl.grad(lambda y: f(x, y))(y)) if is_constant else (lambda f: f(x, y)),
    )  # fmt: skip
    for _ in range(3):
        calls[0](run)
    before = quick_calls(traced)
    found = calls[0](run)
    assert quick_calls(traced) == before + 1
    np.testing.assert_allclose(found.numpy(), calls[0](plain).numpy(), rtol=1e-10)


def test_a_call_that_was_first_made_in_nested_transforms_serves_plain_ones_too() -> None:
    traced = jit.trace(polynomial)
    x, y = tl.tensor([0.5, 1.0]), tl.tensor([1.0, 2.0])
    for _ in range(4):
        nested(traced, 2)(x, y)
    assert quick_calls(traced) > 0
    for _ in range(4):
        np.testing.assert_allclose(traced(x, y).numpy(), polynomial(x, y).numpy(), rtol=1e-6)
    leaf = tl.tensor([0.5, 1.0], requires_grad=True)
    for _ in range(4):
        leaf.grad = None
        traced(leaf, y).backward()
    other = tl.tensor([0.5, 1.0], requires_grad=True)
    polynomial(other, y).backward()
    assert leaf.grad is not None and other.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy(), rtol=1e-6)


def test_no_gradient_is_recorded_where_recording_is_paused() -> None:
    traced = jit.trace(polynomial)
    x, y = tl.tensor([0.5, 1.0], requires_grad=True), tl.tensor([1.0, 2.0])

    def outer(x: Any) -> Any:
        with tl.no_grad():
            inner = traced(x, y)
        return traced(x, y) + inner

    for _ in range(3):
        found = tl.grad(outer)(x)
        wanted = tl.grad(lambda x: polynomial(x, y))(x)
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"symbolic": True}, {"input_spec": [jit.InputSpec((None, 2))]}], ids=str
)
@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_a_program_draws_what_the_function_draws(kind: Any, options: dict[str, Any]) -> None:
    """From the first call on, whether the function has computed it or the program."""
    if kind is jit.to_static and "symbolic" in options:
        return

    def function(x: Any) -> Any:
        return x + tl.random.normal(x.shape) * F.dropout(x, 0.5)

    made = kind(function, **options)
    for size in (2, 2, 3, 4, 3):
        x = tl.ones((size, 2))
        tl.manual_seed(size)
        wanted = [function(x).tolist() for _ in range(2)]
        tl.manual_seed(size)
        assert [made(x).tolist() for _ in range(2)] == wanted
