"""What a Tensor is bound to anew: on every tensor-like, under transforms, and when those end."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Parameter, Tensor


class Plain(tl.Carrier):
    """A carrier under transforms."""


class Above(tl.Carrier, above=tl.Tracer):
    """A carrier around transforms."""


def doubled(x: Tensor) -> Tensor:
    """The sum of 2 x, by way of a Tensor made inside."""
    made = tl.zeros(2)
    made.set_value(2 * x)
    return F.sum(made)


def doubled_itself(x: Tensor) -> Tensor:
    """The sum of 2 x, by way of the argument."""
    x.set_value(2 * x)
    return F.sum(x)


@pytest.mark.parametrize("function", [doubled, doubled_itself])
def test_a_value_that_is_set_keeps_the_transforms_that_are_going_on(function: Any) -> None:
    x = tl.ones(2)
    assert tl.grad(function)(x).tolist() == [2.0, 2.0]
    assert tl.vjp(function, x)[1](tl.tensor(1.0))[0].tolist() == [2.0, 2.0]
    assert [y.item() for y in tl.jvp(function, (x,), (x,))] == [4.0, 4.0]
    assert tl.vmap(function)(tl.ones((3, 2))).tolist() == [4.0, 4.0, 4.0]
    assert tl.vmap(tl.grad(function))(tl.ones((3, 2))).tolist() == [[2.0, 2.0]] * 3
    assert tl.grad(lambda x: F.sum(tl.grad(lambda y: function(y) ** 3)(x)))(x).tolist() == [
        192,
        192,
    ]
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("make", [tl.ones, lambda n: Parameter(np.ones(n, np.float32))])
def test_a_tensor_from_outside_keeps_the_plain_value_when_the_transform_ends(make: Any) -> None:
    kept, added, part = make(2), make(2), make(2)

    def function(x: Tensor) -> Tensor:
        kept.set_value(x * x)
        with tl.no_grad() if added.requires_grad else tl.enable_grad():
            added.__iadd__(x)
            part[0] = x[1]
        return F.sum(kept * 3)

    x = tl.tensor([2.0, 4.0])
    for run in (
        lambda: tl.grad(function)(x),
        lambda: tl.jvp(function, (x,), (x,)),
        lambda: tl.grad(lambda x: F.sum(tl.jvp(function, (x,), (x,))[1]))(x),
        lambda: tl.hessian(function)(tl.tensor([2.0, 4.0])) if not kept.requires_grad else None,
    ):
        run()
        for tensor in (kept, added, part):
            assert isinstance((tensor * 1).detach().__wrapped__, tl.RawTensor)
            assert tensor.is_leaf == isinstance(tensor, Parameter)
    assert kept.tolist() == [4.0, 16.0]
    assert tl.grad(function)(x).tolist() == [12.0, 24.0]


def test_it_keeps_it_when_the_function_raises() -> None:
    kept = tl.zeros(2)

    def failing(x: Tensor) -> Tensor:
        kept.set_value(2 * x)
        raise ZeroDivisionError

    for transform in (tl.grad(failing), lambda x: tl.jvp(failing, (x,), (x,))):
        with pytest.raises(ZeroDivisionError):
            transform(tl.ones(2))
        assert (kept + 1).tolist() == [3.0, 3.0]


def test_an_outer_transform_goes_on_through_what_an_inner_one_set() -> None:
    kept = tl.zeros(())

    def outer(x: Tensor) -> Tensor:
        tl.grad(lambda y: (kept.set_value(x * y), y)[1])(tl.tensor(5.0))
        return kept * x  # 5 x^2

    assert tl.grad(outer)(3.0).item() == 30.0
    assert kept.item() == 15.0


def test_a_gradient_from_inside_is_plain_when_the_transform_ends() -> None:
    w = Parameter([3.0])

    def function(x: Tensor) -> Tensor:
        F.sum(w * w).backward(x)
        return F.sum(w.grad)

    assert tl.grad(function)(tl.tensor(2.0)).item() == 6.0
    assert (w.grad + 1).tolist() == [13.0]


def test_a_parameter_stays_a_leaf_whatever_it_is_set_to() -> None:
    for value in (
        [1.0, 2.0],
        tl.tensor([1.0, 2.0], requires_grad=True) * 2,
        Plain([1.0, 2.0]),
        Above([1.0, 2.0]),
        tl.ShapeTensor((2,)),
        tl.Listing().input("x", (2,)),
        np.array([1, 2]),
    ):
        p = Parameter([0.0, 0.0])
        p.set_value(value)
        assert p.is_leaf and p.requires_grad and p.grad is None and p.dtype is tl.float32
        p.grad = tl.ones(2)
        assert p.grad.tolist() == [1.0, 1.0]
        p.requires_grad = False
        assert not p.requires_grad and not p.is_leaf
    p = Parameter([0.0, 0.0])
    p.set_value(p * 2 + 1)
    F.sum(p * p).backward()
    assert p.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("kind", [Plain, Above])
def test_backward_reaches_a_parameter_around_a_carrier(kind: type) -> None:
    p = Parameter([1.0, 2.0])
    p.set_value(kind([3.0, 4.0]))
    F.sum(p * p).backward()
    assert p.grad.tolist() == [6.0, 8.0]


def test_the_value_is_cast_and_its_shape_checked() -> None:
    x = tl.zeros(2, dtype=tl.float16)
    x.set_value(Tensor(Plain(np.array([1.0, 2.0]))))
    assert x.dtype is tl.float16 and isinstance(x.__wrapped__, Plain)
    with pytest.raises(tl.ShapeError, match=r"set_value: the shape must stay \(2,\); got \(3,\)"):
        x.set_value(tl.ShapeTensor((3,)))


def test_what_is_set_is_not_seen_by_others() -> None:
    memory = np.ones((2, 2), np.float32)
    x, y = tl.zeros((2, 2)), tl.from_dlpack(memory)
    x.set_value(y)
    memory[0, 0] = 7
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    z = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    x.set_value(z.T)
    x += 1
    assert z.tolist() == [[1.0, 2.0], [3.0, 4.0]] and x.tolist() == [[2.0, 4.0], [3.0, 5.0]]


def test_an_alias_of_a_parameter_does_not_change_with_it() -> None:
    p = Parameter([1.0, 2.0])
    alias = p.alias()
    with tl.no_grad():
        p += 1
        p[0] = 7
    assert p.tolist() == [7.0, 3.0] and alias.tolist() == [1.0, 2.0]


def setting(kept: Tensor) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        kept.set_value(x)
        return x

    return function


def adding(kept: Tensor) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        kept.__iadd__(x)
        return x

    return function


def assigning(kept: Tensor) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        kept[...] = x
        return x

    return function


@pytest.mark.parametrize("make", [setting, adding, assigning])
def test_vmap_refuses_to_set_what_was_made_outside_to_what_differs(make: Any) -> None:
    kept = tl.zeros(2)
    x = tl.ones((3, 2))
    for run in (
        lambda: tl.vmap(make(kept))(x),
        lambda: tl.vmap(tl.grad(lambda v: F.sum(make(kept)(v))))(x),
        lambda: tl.vmap(lambda v: tl.jvp(make(kept), (v,), (v,))[0])(x),
        lambda: tl.grad(lambda v: F.sum(tl.vmap(make(kept))(v)))(x),
    ):
        with pytest.raises(tl.DispatchError, match="made outside must not be set to a value that"):
            run()
        assert kept.tolist() == [0.0, 0.0]
    assert tl.vmap(lambda v: make(v * 0)(v))(x).tolist() == x.tolist()


def test_vmap_sets_what_is_one_for_all_examples() -> None:
    kept = tl.zeros(())
    tl.vmap(lambda x: (kept.set_value(kept + 1), x)[1])(tl.ones(3))
    assert kept.item() == 1.0


def test_a_tensor_that_died_inside_is_let_go() -> None:
    before = len(gc.get_objects())

    def function(x: Tensor) -> Tensor:
        for _ in range(100):
            doubled(x)
        return F.sum(x)

    tl.grad(function)(tl.ones(2))
    assert len(gc.get_objects()) - before < 50


@pytest.mark.parametrize("times", [1, 3])
def test_a_checkpoint_sets_nothing_when_it_runs_again(times: int) -> None:
    count, total = tl.zeros(()), tl.zeros(2)

    def function(x: Tensor) -> Tensor:
        nonlocal total
        count.set_value(count + 1)
        total += 1
        total[0] = 5
        return F.sin(x)

    x = tl.tensor([1.0, 1.0], requires_grad=True)
    held = total
    for _ in range(times):
        F.sum(tl.checkpoint(function)(x)).backward()
    assert count.item() == times and held.tolist() == [5.0, times]
    np.testing.assert_allclose(x.grad.numpy(), times * np.cos([1.0, 1.0]), rtol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tl.ShapeTensor((2,)),
        lambda: tl.Listing().input("x", (2,)),
        lambda: tl.tensor([1.0], requires_grad=True).__wrapped__,
        lambda: Tensor(tl.ShapeTensor((2,))),
    ],
)
def test_numpy_refuses_what_has_no_elements_or_carries_gradients(make: Any) -> None:
    with pytest.raises((tl.DispatchError, tl.AutodiffError), match=r"elements|carries gradients"):
        np.asarray(make())
    assert np.asarray(Plain([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_backward_refuses_what_depends_on_leaves_and_on_a_transform() -> None:
    w = Parameter([3.0])
    with pytest.raises(tl.AutodiffError, match="of which `grad` would lose the latter"):
        tl.grad(lambda x: (F.sum(w * x).backward(), F.sum(w.grad))[1])(tl.tensor(2.0))
    assert w.grad is None
    tl.grad(lambda x: ((x * x).backward(), x.grad)[1])(tl.tensor(2.0))


def test_a_journal_that_was_left_open_ends_itself_and_no_other() -> None:
    """As one in a generator does, that is collected while another block goes on."""
    x = tl.tensor([1.0])
    left = tl._C.Journal()
    left.__enter__()
    x += 1
    with tl._C.Journal():
        del left
        assert x.tolist() == [1.0]
        x += 10
    assert x.tolist() == [2.0]
