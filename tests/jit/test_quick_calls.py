"""Calls that the core serves in one step: they must notice all that the long way notices."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn

SCALE = 2.0


def quick_calls(function: Any) -> int:
    """How many calls went the quick way."""
    return sum(quick.calls for quick in function._quick)


def test_a_function_with_a_branch_goes_the_quick_way() -> None:
    @jit.to_static
    def chosen(x: Any) -> Any:
        if F.sum(x) > 0:  # noqa: SIM108
            y = x * SCALE
        else:
            y = -x
        return y, x

    up, down = tl.tensor([1.0, 2.0]), tl.tensor([-1.0, -2.0])
    for x, wanted in ((up, [2.0, 4.0]), (down, [1.0, 2.0])) * 3:
        made, same = chosen(x)
        assert made.tolist() == wanted and same is x
    assert quick_calls(chosen) >= 4
    with tl.no_grad():
        assert not chosen(up)[0].requires_grad
    leaf = tl.tensor([1.0, 2.0], requires_grad=True)
    F.sum(chosen(leaf)[0]).backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2.0, 2.0]
    rows = tl.vmap(lambda x: chosen(x)[0])(tl.stack([up, down]))
    assert rows.tolist() == [[2.0, 4.0], [1.0, 2.0]]
    assert tl.grad(lambda x: F.sum(chosen(x)[0]))(down).tolist() == [-1.0, -1.0]


def test_a_program_without_inputs_goes_the_quick_way() -> None:
    made = jit.trace(lambda n: F.ones((n,)) * 2)
    for _ in range(4):
        assert made(3).tolist() == [2.0] * 3
    assert quick_calls(made) > 0


def test_guards_and_switches_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = 3.0

    @jit.to_static
    def scaled(x: Any) -> Any:
        return x * SCALE + factor

    x, seen = tl.tensor([1.0]), []
    for _ in range(3):
        seen.append(scaled(x).item())
    assert seen == [5.0] * 3 and quick_calls(scaled) > 0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert scaled(x).item() == 8.0
    factor = 4.0
    assert scaled(x).item() == scaled(x).item() == scaled(x).item() == 9.0
    before = quick_calls(scaled)
    scaled.is_enabled = False
    assert scaled(x).item() == 9.0 and quick_calls(scaled) == before
    scaled.is_enabled = True
    jit.enable_to_static(False)
    try:
        assert scaled(x).item() == 9.0 and quick_calls(scaled) == before
    finally:
        jit.enable_to_static(True)
    assert scaled(x).item() == 9.0 and quick_calls(scaled) == before + 1


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_numbers_and_words_among_arguments_count(kind: Callable[..., Any]) -> None:
    @kind
    def moved(x: Any, by: Any, how: str = "add") -> Any:
        return x + by if how == "add" else x / by

    x = tl.tensor([1.0])
    for by, how in ((2.0, "add"), (2, "add"), (True, "add"), (0.0, "div"), (-0.0, "div")) * 4:
        with np.errstate(all="ignore"):
            assert moved(x, by, how).item() == (1.0 + by if how == "add" else 1 / np.float64(by))
    assert quick_calls(moved) > 0


def test_calls_of_several_shapes_all_go_the_quick_way() -> None:
    doubled = jit.trace(lambda x: x * 2)
    batches = [tl.ones((n, 3)) for n in (4, 2, 7)]
    for _ in range(3):
        for x in batches:
            assert doubled(x).shape == x.shape
    before = quick_calls(doubled)
    for x in batches:
        doubled(x)
    assert quick_calls(doubled) == before + 3


def _network(seed: int) -> tuple[nn.Sequential, Any, Callable[..., Any]]:
    network = nn.Sequential(nn.Linear(3, 5, seed=seed), F.tanh, nn.Linear(5, 2, seed=seed + 1))
    optimizer = tl.optim.Adam(network.parameters(), lr=0.05)

    def step(x: Any, classes: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(network(x), classes)
        loss.backward()
        optimizer.step()
        return {"loss": loss, "network": None}

    return network, optimizer, step


def test_a_training_step_goes_the_quick_way_and_is_the_same() -> None:
    numbers = np.random.default_rng(0)
    x = tl.tensor(numbers.standard_normal((4, 3)).astype(np.float32))
    classes = tl.tensor(numbers.integers(0, 2, 4))
    network, optimizer, plain = _network(3)
    other, other_optimizer, step = _network(3)
    traced = jit.trace(step)

    def agree() -> None:
        wanted, found = plain(x, classes), traced(x, classes)
        assert set(found) == {"loss", "network"} and found["network"] is None
        assert not found["loss"].requires_grad or wanted["loss"].requires_grad
        np.testing.assert_allclose(found["loss"].item(), wanted["loss"].item(), rtol=2e-5)
        for a, b in zip(network.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(b.tolist(), a.tolist(), rtol=2e-4, atol=1e-6)
            assert a.grad is not None and b.grad is not None and b.is_leaf and b.requires_grad
            np.testing.assert_allclose(b.grad.tolist(), a.grad.tolist(), rtol=2e-3, atol=1e-5)
        assert other_optimizer.state_dict().keys() == optimizer.state_dict().keys()
        assert int(other_optimizer.state_dict()["steps.0"]) == int(
            optimizer.state_dict()["steps.0"]
        )

    for _ in range(5):
        agree()
    before = quick_calls(traced)
    assert before > 0
    optimizer.lr = other_optimizer.lr = 0.001  # an input, no guard
    agree()
    assert quick_calls(traced) == before + 1
    for owner in (network, other):
        owner[0].weight.grad = None  # another program, which was recorded first
    agree()
    for owner in (network, other):
        owner[2].bias.set_value([0.5, -0.5])
    agree()
    state = optimizer.state_dict()
    other_optimizer.load_state_dict(state)
    agree()
    for owner in (network, other):
        owner[0].bias.requires_grad = False
    frozen = other[0].bias.tolist()
    for _ in range(3):
        np.testing.assert_allclose(
            traced(x, classes)["loss"].item(), plain(x, classes)["loss"].item(), rtol=2e-5
        )
    assert other[0].bias.tolist() == frozen and other[0].bias.grad is None
    for owner in (network, other):
        owner[0].bias.requires_grad = True
    agree()


def test_what_is_alike_in_the_core_is_no_argument_of_the_step() -> None:
    buffer = tl.tensor([1.0])

    def add(x: Any) -> Any:
        buffer.set_value(buffer + x)
        return buffer * 2

    traced = jit.trace(add)
    for _ in range(4):
        traced(tl.tensor([1.0]))
    assert quick_calls(traced) > 0 and buffer.item() == 5.0
    assert traced(buffer).item() == 20.0  # the tensor itself
    assert buffer.item() == 10.0


def test_an_error_changes_nothing_and_comes_from_the_users_line() -> None:
    buffer = tl.tensor([0.0])

    @jit.to_static
    def checked(x: Any) -> Any:
        buffer.set_value(buffer + 1)
        assert F.all(x > 0), "must be positive"
        return x * 2

    good, bad = tl.tensor([1.0]), tl.tensor([-1.0])
    for _ in range(4):
        checked(good)
    assert quick_calls(checked) > 0 and buffer.item() == 4.0
    with pytest.raises(AssertionError, match="must be positive") as raised:
        checked(bad)
    assert buffer.item() == 4.0
    lines = [str(entry.statement) for entry in raised.traceback]
    assert any("assert F.all(x > 0)" in line for line in lines)


def test_what_is_printed_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    @jit.to_static
    def shown(x: Any) -> Any:
        print("x is", x)
        if F.sum(x) > 0:
            x = x + 1
        return x

    for _ in range(4):
        shown(tl.tensor([1.0]))
    assert capsys.readouterr().out.count("x is") == 4


def test_a_function_lets_go_of_what_it_holds() -> None:
    def made() -> tuple[Any, Any]:
        layer = nn.Linear(2, 2, seed=0).eval(record=False)
        traced = jit.trace(lambda x: layer(x))
        layer.compiled = traced  # type: ignore[attr-defined]
        for _ in range(4):
            traced(tl.ones((1, 2)))
        assert quick_calls(traced) > 0
        return weakref.ref(layer), weakref.ref(traced)

    references = made()
    gc.collect()
    assert [reference() for reference in references] == [None, None]
