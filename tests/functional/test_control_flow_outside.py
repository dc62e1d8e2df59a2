"""What branches and loops make of values from outside happens in them: errors, draws, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn


def recorded(function: Callable[..., Any], *args: Any) -> tuple[tl.Listing, Callable[..., Any]]:
    """The function as a listing of its own, and what runs it."""
    listing = tl.Listing()
    given = [listing.input(f"x{i}", x.shape, x.dtype) for i, x in enumerate(args)]
    result = function(*map(tl.Tensor, given))
    return listing, lambda *values: listing.run(result, *values)


MATRIX = tl.tensor([[-1.0, 0.0], [0.0, 1.0]])  # not positive definite


def _factored(c: Any, m: Any) -> Any:
    return F.cond(c, lambda: F.sum(m), lambda: F.sum(tl.linalg.cholesky(m)))


def _stepped(c: Any, m: Any) -> Any:
    """A loop that fails in its first step, if there is one."""
    steps = F.where(c, 0, 2)
    body = lambda i, s: (i + 1, s + F.sum(tl.linalg.cholesky(m)))  # noqa: E731
    start = (tl.tensor(0), F.sum(m) * 1)
    return F.while_loop(lambda state: state[0] < steps, lambda state: body(*state), start)[1]


@pytest.mark.parametrize("function", [_factored, _stepped])
def test_what_is_not_taken_does_not_fail(function: Callable[..., Any]) -> None:
    _, run = recorded(function, tl.tensor(True), MATRIX)
    traced = jit.trace(function)
    for call in (function, run, traced, traced, traced):
        assert call(tl.tensor(True), MATRIX).item() == 0.0
        with pytest.raises(tl.MatrixError, match="positive definite"):
            call(tl.tensor(False), MATRIX)
        assert call(tl.tensor(False), F.eye(2)).item() in (2.0, 6.0)


def _guarded(c: Any, x: Any, w: Any) -> Any:
    return F.sum(F.cond(c, lambda x: x * 2, lambda x: x * F.log(w), x))


def test_the_gradient_of_what_is_not_taken_is_no_nan() -> None:
    x, w = tl.tensor([3.0, 1.0]), tl.tensor([0.0, 2.0])
    gradient = tl.grad(_guarded, argnums=(1, 2))
    _, run = recorded(lambda *args: F.add(*gradient(*args)), tl.tensor(True), x, w)
    for flag, weight in ((True, w), (False, w + 1)):
        wanted = gradient(tl.tensor(flag), x, weight)
        total = run(tl.tensor(flag), x, weight)
        np.testing.assert_allclose(total.numpy(), (wanted[0] + wanted[1]).numpy(), rtol=1e-6)
        assert np.isfinite(total.numpy()).all()
        leaf = tl.tensor(weight.numpy(), requires_grad=True)
        traced = jit.trace(_guarded)
        for _ in range(4):
            leaf.grad = None
            traced(tl.tensor(flag), x, leaf).backward()
            assert leaf.grad is None or leaf.grad.tolist() == wanted[1].tolist()


def test_only_the_branch_that_is_taken_prepares() -> None:
    listing, _ = recorded(_guarded, tl.tensor(True), tl.ones(2), tl.ones(2))
    ops = [str(step[0]) for step in listing.steps()]
    assert not any("log" in op and "Cond" not in op for op in ops)


def test_a_body_draws_in_each_step_from_what_is_outside() -> None:
    layer = nn.Dropout(0.5)

    def loop(x: Any) -> Any:
        step = lambda state: (state[0] + 1, state[1] + layer(x))  # noqa: E731
        return F.while_loop(lambda s: s[0] < 6, step, (tl.tensor(0), x * 0))[1]

    x = tl.ones(64)
    _, run = recorded(loop, x)
    for call in (run, jit.trace(lambda x: F.cond(F.sum(x) > 0, loop, F.abs, x))):
        first, second = (call(x).numpy() for _ in range(2))
        assert len(set(first.tolist())) > 3  # not the same six times
        assert first.tolist() != second.tolist()


def _scanned(x: Any, w: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        scaled = carry * F.exp(w) + row  # of what is outside
        inner = tl.grad(lambda row: F.sum(F.sin(row) * F.tanh(w)))(row)
        return scaled + inner, F.cond(F.sum(row) > 0, lambda: F.square(w), lambda: -w)

    carry, rows = F.scan(step, w * 0, x)
    return F.sum(carry) + F.sum(rows * rows)


def test_transforms_inside_around_and_blocks_in_blocks_give_what_plain_calls_give() -> None:
    rng = np.random.default_rng(5)
    x = tl.tensor(rng.standard_normal((4, 3)).astype(np.float32))
    w = tl.tensor(rng.standard_normal(3).astype(np.float32) * 0.3)
    listing, run = recorded(_scanned, x, w)
    np.testing.assert_allclose(run(x, w).numpy(), _scanned(x, w).numpy(), rtol=1e-5)
    outside = [str(step[0]) for step in listing.steps()]
    assert not any(word in op for op in outside for word in ("'exp'", "'tanh'", "'square'"))
    for argnum in (0, 1):
        gradient = tl.grad(_scanned, argnums=argnum)
        _, run = recorded(gradient, x, w)
        np.testing.assert_allclose(run(x, w).numpy(), gradient(x, w).numpy(), rtol=2e-4, atol=1e-6)
    mapped = tl.vmap(_scanned, in_axes=(None, 0))
    many = F.stack([w, w * 2])
    _, run = recorded(mapped, x, many)
    np.testing.assert_allclose(run(x, many).numpy(), mapped(x, many).numpy(), rtol=1e-5)
    tangent = lambda x, w: tl.jvp(lambda w: _scanned(x, w), (w,), (w,))[1]  # noqa: E731
    _, run = recorded(tangent, x, w)
    np.testing.assert_allclose(run(x, w).numpy(), tangent(x, w).numpy(), rtol=1e-4)
