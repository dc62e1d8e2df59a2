"""What is around excluded blocks runs as programs, the blocks as Python: row J5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn
from tensorlike.jit import exclude_from_trace

SCALE = 2.0
SEEN: list[Any] = []


def pieces_of(function: Any) -> Any:
    """The pieces that a function runs in."""
    return function._in_pieces[1] if function._in_pieces else ()


def quick_calls(function: Any) -> int:
    return sum(quick.calls for piece in pieces_of(function) for quick in piece._quick)


def straight(x: Any, w: Any) -> Any:
    """Work before, between and behind two blocks."""
    y = F.tanh(x * w + 1) * SCALE
    scale = 0.5
    with exclude_from_trace():
        SEEN.append(round(float(F.sum(y.detach())), 4))
        if len(SEEN) % 2:
            y = y * 3
    z = F.exp(-y * y) + scale
    z = z * w
    with jit.exclude_from_trace():
        SEEN.append(z.shape)
    return F.sum(z * x), y


def test_j5_gradients_go_through_pieces_and_blocks_that_differ() -> None:
    traced = jit.trace(straight)
    rng = np.random.default_rng(0)
    for turn in range(12):
        x = tl.tensor(rng.standard_normal(3 + turn // 6).astype(np.float32))
        x.requires_grad = turn % 3 > 0
        w = tl.tensor(rng.standard_normal(x.shape).astype(np.float32), requires_grad=True)
        outcomes = []
        for run in (straight, traced):
            SEEN[:] = [0] * (turn % 2)
            w.grad = None
            if x.requires_grad:
                x.grad = None
            total, y = run(x, w)
            (total + F.sum(y)).backward()
            gradients = [None if t.grad is None else t.grad.numpy() for t in (x, w)]
            outcomes.append(([total.item(), y.detach().numpy(), *gradients], list(SEEN)))
        assert outcomes[0][1] == outcomes[1][1]
        for a, b in zip(outcomes[0][0], outcomes[1][0], strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-6)
    assert len(pieces_of(traced)) == 3 and quick_calls(traced) > 9
    assert all(piece.programs() for piece in pieces_of(traced))
    assert "excluded" in traced.why() and "piece 2:" in traced.why()


def test_j5_transforms_go_around_and_guards_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = jit.trace(straight)
    x, w = tl.tensor([0.5, -1.0]), tl.tensor([2.0, 0.25])

    def total(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, w: f(x, w)[0]

    for _ in range(3):
        traced(x, w)
    for change in (2.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", change)
        for transform in (
            lambda f: f, tl.grad, lambda f: tl.grad(f, argnums=1),
            lambda f: lambda x, w: tl.jvp(lambda x: f(x, w), (x,), (x,))[1],
            lambda f: tl.grad(lambda x, w: F.sum(tl.grad(f)(x, w))),
        ):  # fmt: skip
            found = []
            for f in (straight, traced):
                SEEN.clear()
                found.append(transform(total(f))(x, w).numpy())
            np.testing.assert_allclose(found[1], found[0], rtol=2e-5, atol=1e-6)
    with tl.no_grad():
        assert not traced(x.detach(), tl.tensor([1.0, 1.0], requires_grad=True))[0].requires_grad


class Network(nn.Layer):
    """A method with parameters, a buffer, and a private name."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(3, 4, seed=0), nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 1, seed=1)
        self.__hidden = 0.5

    def loss(self, x: Any, *, factor: float = 1.0) -> Any:
        """With a block in the middle, which looks at the activations."""
        h = self.norm(self.first(x))
        with exclude_from_trace():
            SEEN.append(h.shape)
        h = F.gelu(h) * self.__hidden
        return F.mean(self.last(h) ** 2) * factor


def test_j5_layers_train_in_pieces_as_they_do_at_once() -> None:
    rng = np.random.default_rng(1)
    batches = [tl.tensor(rng.standard_normal((5, 3)).astype(np.float32)) for _ in range(8)]
    losses, states = [], []
    for wrap in (lambda f: f, jit.trace):
        network = Network()
        optimizer = tl.optim.Adam(network.parameters(), lr=0.05)
        run = wrap(network.loss)
        losses.append([])
        SEEN.clear()
        for x in batches:
            optimizer.zero_grad()
            loss = run(x, factor=2.0)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
        assert SEEN == [(5, 4)] * 8
        states.append(network.state_dict())
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    for name, value in states[0].items():
        np.testing.assert_allclose(states[1][name], value, rtol=1e-3, atol=1e-5)
    assert len(pieces_of(run)) == 2 and quick_calls(run) > 4


def _appending(x: Any) -> Any:
    outs = [x * 1]
    outs.append(x * 2)
    with exclude_from_trace():
        outs.append(x * 3)
    outs.append(outs[2] + 1)
    return outs


def _extending(x: Any, outs: Any = None) -> Any:
    outs = SEEN if outs is None else outs
    y = x * 2
    with exclude_from_trace():
        SEEN.clear()
    outs.append(y * 1)
    z = y + len(outs)
    with exclude_from_trace():
        SEEN.append(z * 1)
    return [t.tolist() for t in SEEN]


def _early(x: Any, flag: bool = True) -> Any:
    y = x * 2
    if flag:
        return y * 5
    with exclude_from_trace():
        SEEN.append(1)
    return y + 1


def _unbound(x: Any) -> Any:
    if len(SEEN) > 100:
        y = x * 7
    with exclude_from_trace():
        SEEN.append(1)
        y = x * len(SEEN)
    y = y + 1
    with exclude_from_trace():
        y = y * 2
    return y * 1


def _same_tensor(x: Any) -> Any:
    a = b = x * 2
    with exclude_from_trace():
        a[0] = 7.0
    return a + 0, b + 0


def _numbers(x: Any) -> Any:
    y = x * 2
    with exclude_from_trace():
        SEEN.append(0)
        number = len(SEEN) * 0.5
    return y * number + F.sum(y)


def _returns_inside(x: Any) -> Any:
    y = x * 2
    with exclude_from_trace():
        if len(SEEN) % 2:
            return y * 100
        SEEN.append(y.item())
    return y + 1


def _nested(x: Any) -> Any:
    y = x + 1
    for i in range(2):
        with exclude_from_trace():
            SEEN.append(i)
        y = y * 2
    with exclude_from_trace():
        y = y + len(SEEN)
    return y * y


def _closing(x: Any) -> Any:
    y = x * 2

    def later() -> Any:
        return y + 1

    with exclude_from_trace():
        z = later()
    y = y * 5
    with exclude_from_trace():
        z = z + later()
    return z + y


def _sized(x: Any) -> Any:
    y = F.concat([x, x])
    n = y.shape[0]
    with exclude_from_trace():
        SEEN.append(n)
    return y * n


def _objects(x: Any) -> Any:
    table = {"a": x * 2, "n": 0}
    with exclude_from_trace():
        table["n"] += 1
        table["a"] = table["a"] + 1
    return table["a"] * table["n"]


FUNCTIONS = [
    _appending, _extending, _early, _unbound, _same_tensor, _numbers, _returns_inside, _nested,
    _closing, _sized, _objects,
]  # fmt: skip


def _plain(found: Any) -> Any:
    if isinstance(found, (list, tuple)):
        return [_plain(x) for x in found]
    return found.tolist() if isinstance(found, tl.Tensor) else found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_j5_whatever_is_around_calls_give_what_they_give_at_once(
    function: Callable[..., Any],
) -> None:
    traced, x = jit.trace(function), tl.tensor([3.0])
    found = []
    for run in (function, traced):
        SEEN.clear()
        calls = []
        for _ in range(14):
            calls.append((_plain(run(x)), [_plain(s) for s in SEEN]))
        found.append(calls)
    assert found[1] == found[0]


def test_j5_what_cannot_be_a_piece_is_told_and_runs_at_once() -> None:
    for function, why in ((_numbers, "differ in each call"), (_same_tensor, "are one tensor")):
        traced = jit.trace(function)
        SEEN.clear()
        for _ in range(14):
            traced(tl.tensor([3.0]))
        assert why in traced.why()


def test_j5_errors_come_from_the_users_line() -> None:
    @jit.trace
    def failing(x: Any, y: Any) -> Any:
        z = x * 2
        with exclude_from_trace():
            SEEN.append(1)
        return F.matmul(z, y)  # this line

    x = tl.ones((2, 3))
    for _ in range(3):
        failing(x, tl.ones((3, 2)))
    with pytest.raises(tl.ShapeError) as raised:
        failing(x, tl.ones((2, 2)))
    assert any("this line" in str(entry.statement) for entry in raised.traceback)
