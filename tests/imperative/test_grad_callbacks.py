"""Grad: what it asks for, its callbacks, and what it leaves behind."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import AutodiffError, Grad, Tensor
from tensorlike import functional as F


def leaf(data: Any) -> Tensor:
    """A tensor that gradients are asked for."""
    return tl.tensor(data, requires_grad=True)


def test_a_callback_gets_the_whole_gradient_once() -> None:
    x, unused = Tensor([2.0, 3.0]), Tensor([1.0])
    got: list[tuple[Tensor, list[float]]] = []
    g = Grad().wrt(x, unused, callback=lambda v, dv: got.append((v, dv.tolist())))
    y = x * x
    y = y * y
    g(y, Tensor([1.0, 10.0]))
    assert len(got) == 1
    assert got[0][0] is x
    assert got[0][1] == [32.0, 1080.0]


def test_a_callback_comes_as_soon_as_its_gradient_is_whole() -> None:
    order: list[str] = []
    first, second = Tensor([1.0]), Tensor([1.0])
    g = Grad()
    g.wrt(first, callback=lambda *_: order.append("first"))
    g.wrt(second, callback=lambda *_: order.append("second"))
    y = F.exp(F.exp(first)) * second
    g(y)
    assert order == ["second", "first"]


def test_an_exception_in_a_callback_comes_out_and_leaves_nothing_behind() -> None:
    def fail(*_: Any) -> None:
        raise KeyError("from the callback")

    x = Tensor([1.0])
    with pytest.raises(KeyError), Grad().wrt(x, callback=fail) as g:
        g(x * x)
    assert not x.requires_grad
    assert tl.grad(lambda v: v * v)(3.0).item() == 6.0


def test_several_outputs_and_seeds_add_up() -> None:
    x = Tensor([2.0])
    with Grad().wrt(x) as g:
        y1, y2, constant = x * x, x * 3, Tensor([1.0])
        g([y1, y2, constant], [Tensor([1.0]), Tensor([10.0]), None])
        assert x.grad.tolist() == [34.0]
    with pytest.raises(AutodiffError) as caught, Grad().wrt(x) as g:
        g([x * x, x], [Tensor([1.0])])
    assert str(caught.value) == "Grad: one cotangent per output is needed; got 1 for 2"


def test_a_grad_runs_once_unless_it_retains() -> None:
    x = Tensor([2.0])
    with Grad().wrt(x) as g:
        y = x * x
        g(y, retain=True)
        g(y)
        with pytest.raises(AutodiffError) as caught:
            g(y)
    assert str(caught.value) == "Grad: it has run already; pass retain=True to run it again"


def test_a_grad_whose_block_has_ended_says_so() -> None:
    x = Tensor([2.0])
    with Grad().wrt(x) as g:
        y = x * x
    message = "Grad: the with block must not have ended, which detached the tensors; call it inside"
    with pytest.raises(AutodiffError) as caught:
        g(y)
    assert str(caught.value) == f"{message} the block"
    with pytest.raises(AutodiffError):
        g.wrt(x)


def test_a_grad_takes_tensors_alone() -> None:
    with pytest.raises(TypeError) as caught:
        Grad().wrt(3)  # type: ignore[arg-type]
    assert str(caught.value) == "Grad: wrt takes Tensors; got int"


@pytest.mark.parametrize("leave", ["dropped", "empty", "ended", "of another thread"])
def test_a_grad_that_holds_nothing_here_makes_no_gradient_of_a_gradient(leave: str) -> None:
    other = Grad()
    if leave == "of another thread":
        thread = threading.Thread(target=lambda: other.wrt(Tensor([1.0])))
        thread.start()
        thread.join()
    elif leave != "empty":
        with other.wrt(Tensor([1.0])):
            if leave == "dropped":
                del other
    x = Tensor([2.0])
    with Grad().wrt(x) as g:
        g(x * x)
        assert not x.grad.requires_grad


def test_several_grads_over_one_computation_are_independent() -> None:
    x, w = Tensor([2.0]), Tensor([5.0])
    got: dict[str, list[float]] = {}
    g1 = Grad().wrt(x, callback=lambda v, dv: got.__setitem__("x", dv.tolist()))
    g2 = Grad().wrt(w, callback=lambda v, dv: got.__setitem__("w", dv.tolist()))
    y = x * w
    g1(y)
    assert got == {"x": [5.0]}
    g2(y)
    assert got == {"x": [5.0], "w": [2.0]}


def test_second_order_comes_from_two_grads() -> None:
    x = Tensor([0.7], dtype="float64")
    first, second = Grad().wrt(x), Grad().wrt(x)
    y = F.cos(x)
    first(y)
    assert x.grad.item() == pytest.approx(-np.sin(0.7))
    second(x.grad)
    assert x.grad.item() == pytest.approx(-np.cos(0.7))


def test_leaving_a_grad_clears_every_resource() -> None:
    def run(with_backward: bool) -> weakref.ref[Any]:
        x = Tensor([1.0, 2.0])
        with Grad().wrt(x, callback=lambda *_: None) as g:
            y = F.exp(x) * x
            if with_backward:
                g(y, Tensor([1.0, 1.0]))
        assert not x.requires_grad
        assert not (x * x).requires_grad
        return weakref.ref(g)

    for with_backward in (True, False):
        run(with_backward)
        gc.collect()
        objects, memory = len(gc.get_objects()), tl.memory.stats()["allocated"]
        for _ in range(20):
            run(with_backward)
        gc.collect()
        assert len(gc.get_objects()) - objects <= 2
        assert tl.memory.stats()["allocated"] == memory


def test_a_gradient_must_have_the_shape_of_its_tensor() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(tl.ShapeError) as caught:
        x.grad = Tensor([1.0])
    assert str(caught.value) == "grad: the gradient must have the tensor's shape (2,); got (1,)."
    with pytest.raises(AutodiffError) as refused:
        Tensor([1.0]).grad = Tensor([1.0])
    assert str(refused.value) == (
        "grad: only a tensor that requires_grad holds a gradient; set x.requires_grad = True first."
    )
