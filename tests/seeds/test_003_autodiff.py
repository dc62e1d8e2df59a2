"""Tracer and Grad: rows G of the seed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, AutodiffError, Grad, Tensor
from tensorlike import functional as F


def test_G1_one_callback_per_tensor_with_the_whole_gradient() -> None:
    x, untouched = Tensor([2.0, 3.0]), Tensor([1.0])
    got: list[Any] = []
    g = Grad().wrt(x, untouched, callback=lambda v, dv: got.append((v is x, dv.tolist())))
    y = F.multiply(x, x)
    y = F.multiply(y, y)
    g(y, Tensor([1.0, 2.0]))
    assert got == [(True, [4 * 2.0**3, 2 * 4 * 3.0**3])]


@pytest.mark.parametrize("with_backward", [True, False])
def test_G2_leaving_the_block_clears_every_resource(with_backward: bool) -> None:
    def run() -> Any:
        x = Tensor([1.0, 2.0])
        with Grad().wrt(x) as g:
            y = F.exp(x * x)
            if with_backward:
                g(y, Tensor([1.0, 1.0]))
        return weakref.ref(g)

    run()
    gc.collect()
    before = len(gc.get_objects()), tl.memory.stats()["allocated"]
    alive = [run() for _ in range(10)]
    gc.collect()
    assert not any(reference() for reference in alive)
    del alive
    assert len(gc.get_objects()) - before[0] <= 2
    assert tl.memory.stats()["allocated"] == before[1]


def test_G3_several_outputs_and_seeds_and_unreachable_ones_are_ignored() -> None:
    x = Tensor([2.0])
    with Grad().wrt(x) as g:
        g([x * x, x * 3, Tensor([5.0])], [Tensor([1.0]), Tensor([10.0]), Tensor([1.0])])
        assert x.grad.tolist() == [34.0]


def test_G4_only_what_a_rule_needs_is_kept_alive() -> None:
    n = 1 << 16
    x = tl.tensor(np.ones(n, np.float32), requires_grad=True)
    y = Tensor(np.ones(n, np.float32))
    doubled = x * 2
    tl.memory.empty_cache()
    with_all = tl.memory.stats()["allocated"]
    z = doubled + y
    dead = [weakref.ref(doubled), weakref.ref(y)]
    del doubled, y
    assert [reference() for reference in dead] == [None, None]
    # One value came, two went.
    assert tl.memory.stats()["allocated"] <= with_all - 4 * n
    z.sum().backward()
    assert x.grad[0].item() == 2.0


def test_G4_relu_keeps_its_output_and_not_its_input() -> None:
    n = 1 << 16
    x = tl.tensor(np.ones(n, np.float32), requires_grad=True)
    tl.memory.empty_cache()  # a larger block of another test's would serve, and count whole
    before = tl.memory.stats()["allocated"]
    y = F.relu(x + 1.0)
    assert tl.memory.stats()["allocated"] - before < 2 * 4 * n
    y.sum().backward()
    assert x.grad[0].item() == 1.0


def test_G5_grads_over_one_computation_nest_to_any_order() -> None:
    x = Tensor([0.5], dtype="float64")
    got: list[float] = []
    grads = [Grad().wrt(x, callback=lambda v, dv: seen.append(dv)) for _ in range(3)]
    seen: list[Tensor] = []
    y: Tensor = F.cos(x)
    for g in grads:
        g(y, Tensor([1.0]))
        y = seen[-1]
        got.append(y.item())
    assert got == pytest.approx([-np.sin(0.5), -np.cos(0.5), np.sin(0.5)])


CASES: dict[str, Callable[[Tensor], Tensor]] = {
    "broadcast": lambda x: x * x[0] + x[:, :1] / (x.sum() ** 2 + 1),
    "reshape": lambda x: x.reshape(-1, 2) ** 2,
    "transpose": lambda x: x.T**2,
    "slice": lambda x: x[1:, ::2] ** 2,
    "negative": lambda x: x[::-1, -1] ** 2,
    "none and ellipsis": lambda x: x[None, ..., 1] ** 2,
    "duplicates": lambda x: x[[0, 0, 1]] ** 2,
    "squeeze": lambda x: x.expand_dims(0).squeeze(0) ** 2,
    "broadcast_to": lambda x: x.broadcast_to((2, 3, 4)) ** 2,
    "sum": lambda x: x.sum(axis=1) ** 2,
    "mean": lambda x: x.mean(axis=0, keepdims=True) ** 2,
    "max": lambda x: x.max(axis=1) ** 2,
    "min": lambda x: x.min() ** 2,
    "prod": lambda x: x.prod(axis=0),
}


@pytest.mark.parametrize("name", CASES)
def test_G6_gradients_equal_numeric_differences(name: str) -> None:
    def f(x: Tensor) -> Tensor:
        return F.sum(CASES[name](x))

    array = np.random.default_rng(0).standard_normal((3, 4))
    expected = np.zeros_like(array)
    step = 1e-6
    for i in np.ndindex(array.shape):
        delta = np.zeros_like(array)
        delta[i] = step
        expected[i] = (f(Tensor(array + delta)).item() - f(Tensor(array - delta)).item()) / 2 / step
    x = Tensor(array)
    with Grad().wrt(x) as g:
        g(f(x))
        assert x.grad.shape == (3, 4)
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6, atol=1e-6)


def test_G7_changing_in_place_corrupts_nothing() -> None:
    x = Tensor([2.0])
    with Grad().wrt(x) as g:
        y = x * x
        y *= y
        g(y)
        assert x.grad.tolist() == [32.0]


def test_G9_gradients_accumulate_over_uses_and_over_calls_until_cleared() -> None:
    x = tl.tensor([2.0], requires_grad=True)
    for times in (1, 2):
        (x + x * x + x).sum().backward()
        assert x.grad.tolist() == [6.0 * times]
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_G10_what_needs_no_gradient_is_not_recorded() -> None:
    x = tl.tensor([2.0], requires_grad=True)
    before = _C.base_tape().recorded
    with tl.no_grad():
        F.exp(x * x)
    F.exp(x.detach() * 2)
    F.exp(x.stop_gradient() * 2)
    F.exp(Tensor([1.0]) * 2)
    assert _C.base_tape().recorded == before
    F.exp(x * 2)
    assert _C.base_tape().recorded == before + 2


def test_G11_only_what_the_block_holds_is_recorded() -> None:
    x = Tensor([2.0])
    outside = x * x
    before = _C.base_tape().recorded
    with Grad().wrt(x) as g:
        y = x * 3 + outside
        recorded = _C.base_tape().recorded - before
        g(y)
        assert x.grad.tolist() == [3.0]
    assert recorded == 2
    before = _C.base_tape().recorded
    _ = x * x
    assert _C.base_tape().recorded == before


def test_G12_backward_runs_in_reverse_and_releases_each_node_as_it_has_run() -> None:
    n = 1 << 16
    x = tl.tensor(np.full(n, 0.5, np.float32), requires_grad=True)
    y = x
    for _ in range(16):
        y = F.sin(y)
    total = y.sum()
    del y
    tl.memory.empty_cache()
    tl.memory.reset_peak()
    before = tl.memory.stats()["allocated"]
    total.backward()
    assert tl.memory.stats()["peak"] <= before + 4 * (4 * n)
    assert tl.memory.stats()["allocated"] <= before - 12 * (4 * n)
    with pytest.raises(AutodiffError) as caught:
        total.backward()
    assert str(caught.value) == (
        "backward: the graph must not be used up; sum was released by an earlier backward pass; "
        "pass retain_graph=True to that one."
    )
    order: list[str] = []
    first, second, third = Tensor([1.0]), Tensor([1.0]), Tensor([1.0])
    g = Grad()
    for name, leaf in (("first", first), ("second", second), ("third", third)):
        g.wrt(leaf, callback=lambda *_, name=name: order.append(name))
    g(F.exp(F.exp(first) * second) * third)
    assert order[0] == "third"
    assert order[-1] == "first"


def test_G13_an_undifferentiable_op_gives_no_gradient_and_is_named_with_its_line() -> None:
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    y = F.argmax(x)  # the line that is named
    assert not y.requires_grad
    (x.sum() + y * 1.0).backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(AutodiffError) as caught:
        F.argmax(x).backward()
    line = test_G13_an_undifferentiable_op_gives_no_gradient_and_is_named_with_its_line
    assert str(caught.value) == (
        f"backward: the value carries no gradient; argmax ({__file__}:"
        f"{line.__code__.co_firstlineno + 7}) is not differentiable and cut the tape; "
        "differentiate a value that does not go through it."
    )
    got: list[Any] = []
    with Grad().wrt(x, callback=lambda *args: got.append(args)) as g:
        g([F.argmax(x) * 1.0, Tensor([1.0])], [None, None])
    assert got == []


def test_G8_a_manager_gathers_the_gradients_of_steps() -> None:
    w, b = tl.tensor([1.0, 2.0]), tl.tensor(3.0)
    calls: list[Any] = []

    class Future:
        def __init__(self, value: Any) -> None:
            self.value = value

        def result(self) -> Any:
            calls.append("waited")
            return self.value

    def note(x: Any, gradient: Any) -> None:
        calls.append(gradient.tolist())

    gm = tl.GradManager().attach([w, b], callbacks=note)
    gm.attach(b, callbacks=[lambda x, gradient: Future(gradient * 10)])
    assert [x is y for x, y in zip(gm.attached_tensors(), [w, b], strict=True)] == [True, True]
    for times in (1, 2):
        calls.clear()
        with gm:
            gm.backward(w * w + b)  # dy defaults to ones
        assert sorted(map(str, calls)) == ["2.0", "[2.0, 4.0]", "waited"]
        assert w.grad.tolist() == [2.0 * times, 4.0 * times] and b.grad.item() == 20.0 * times
    gm.record()
    gm.backward([w.sum(), b], [tl.tensor(1.0), None])
    assert w.grad.tolist() == [5.0, 9.0] and b.grad.item() == 50.0


def test_G8_without_a_record_there_is_no_history() -> None:
    w = tl.tensor([1.0])
    gm = tl.GradManager().attach(w)
    with pytest.raises(RuntimeError, match="no computation history; did you forget record"):
        gm.backward(w * 2)
    gm.record()
    with pytest.raises(RuntimeError, match="being recorded already"):
        gm.record()
    gm.release()
    gm.release()
    with gm, pytest.raises(RuntimeError):
        gm.backward(tl.tensor(1.0))
    with gm:
        gm.backward(w * 2)
        with pytest.raises(RuntimeError, match="no computation history"):
            gm.backward(w * 2)
    assert w.grad.tolist() == [2.0]
    with pytest.raises(TypeError, match="attach takes Tensors"):
        gm.attach([w, 3.0])  # type: ignore[list-item]
