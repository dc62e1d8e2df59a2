"""Gradient rules do not ask what kind of value they get: every kind sees the same ops go backward.

What a recorded, instrumented or batched program costs is what the plain one costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, ops
from tensorlike.imperative.batched import Batched
from tensorlike.opdecl import load_builtin
from tensorlike.testing.corpus import Example, examples

BUILT_IN = tuple(load_builtin().functions)
EXAMPLES = [example for example in examples(BUILT_IN) if example.has_gradient]
Names = Counter[str]


class Watched(tl.Carrier):
    """Around a value; the rule below writes down what is applied to it."""


@contextmanager
def watching(kind: type) -> Iterator[list[ops.OpBase]]:
    """What is applied to values of a kind, and beside them, but not what that is made of."""
    seen: list[ops.OpBase] = []
    depth = 0

    def watched(op: ops.OpBase, xs: tuple[Any, ...]) -> Any:
        nonlocal depth
        if depth == 0:
            seen.append(op)
        depth += 1
        try:
            return tl.apply.super(op, *xs)
        finally:
            depth -= 1

    def apply_watched(op: ops.OpBase, *xs: Any) -> Any:
        return watched(op, xs)

    def apply_beside(op: ops.OpBase, *xs: _C.RawTensor) -> Any:
        return watched(op, xs)

    apply_watched.__annotations__["xs"] = kind
    with tl.apply.registered(apply_watched), tl.apply.registered(apply_beside):
        yield seen


def name_of(op: ops.OpBase) -> str:
    return str(op.mode) if isinstance(op, (ops.Elemwise, ops.Reduce)) else type(op).__name__


def counted(names: Iterator[str] | list[str]) -> Names:
    """Without what only makes a constant, or sees one number as many: values are not computed."""
    return Counter(name for name in names if name not in ("Const", "Arange", "Fill", "Broadcast"))


def pull_of(example: Example, xs: list[Any]) -> tuple[Any, Callable[..., Any]]:
    moving = example.moving()

    def of_moving(*moved: Any) -> tuple[Any, ...]:
        given = list(xs)
        for i, x in zip(moving, moved, strict=True):
            given[i] = x
        return tuple(y for y in example(*given) if y.dtype.kind in ("floating", "complex"))

    return tl.vjp(of_moving, *(xs[i] for i in moving))


def raw(example: Example) -> Names:
    value, pull = pull_of(example, example.tensors())
    with tl.profile() as profile:
        pull(value)
    return counted([event.name for event in profile.events])


def listed(example: Example) -> Names:
    listing = tl.Listing()
    xs = [listing.input(f"x{i}", x.shape, x.dtype) for i, x in enumerate(example.tensors())]
    value, pull = pull_of(example, [tl.Tensor(x) for x in xs])
    with watching(tl.SymbolicTensor) as seen:
        pull(value)
    return counted(map(name_of, seen))


def carried(example: Example) -> Names:
    value, pull = pull_of(example, [tl.Tensor(Watched(x)) for x in example.tensors()])
    with watching(Watched) as seen:
        pull(value)
    return counted(map(name_of, seen))


def batched(example: Example) -> Names:
    found: list[ops.OpBase] = []

    def of_one(*xs: Any) -> Any:
        value, pull = pull_of(example, list(xs))
        with watching(Batched) as seen:
            gradients = pull(value)
        found.extend(seen)
        return gradients

    tl.vmap(of_one)(*(F.stack([x, x]) for x in example.tensors()))
    return counted(map(name_of, found))


def traced(example: Example) -> Names:
    found: list[ops.OpBase] = []
    moving = example.moving()

    def of_outer(*moved: Any) -> Any:
        xs = example.tensors()
        for i, x in zip(moving, moved, strict=True):
            xs[i] = x
        value, pull = pull_of(example, xs)
        with watching(_C.Tracer) as seen:
            gradients = pull(value)
        found.extend(seen)
        return gradients

    tl.vjp(of_outer, *(example.tensors()[i] for i in moving))
    return counted(map(name_of, found))


KINDS = {"listed": listed, "carried": carried, "batched": batched, "traced": traced}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.entry.function)
def test_a_gradient_applies_the_same_ops_to_values_of_every_kind(
    example: Example, kind: str
) -> None:
    try:
        found = KINDS[kind](example)
    except tl.ShapeError as error:
        assert "depend on the elements" in str(error) or "depends on the elements" in str(error)
        return
    assert found == raw(example)


@pytest.mark.parametrize("layer", [tl.nn.LSTM, tl.nn.GRU, tl.nn.RNN])
def test_a_recurrence_goes_back_in_as_many_ops_however_long_it_is(layer: Any) -> None:
    network = layer(3, 5, seed=0)

    def names(steps: int) -> Names:
        x = tl.Tensor(Watched(np.ones((steps, 2, 3), np.float32)))
        value, pull = tl.vjp(lambda x: network(x)[0], x)
        with watching(Watched) as seen:
            pull(value)
        return counted(map(name_of, seen))

    assert names(2) == names(32)
    assert names(2)["RecurrenceGrad"] == 1


@pytest.mark.parametrize("layer", [tl.nn.LSTM, tl.nn.GRU, tl.nn.RNN])
def test_examples_of_a_recurrence_with_one_weight_go_back_together(layer: Any) -> None:
    network = layer(3, 5, seed=0)

    def launches(steps: int) -> int:
        xs = tl.ones((4, steps, 2, 3))
        with tl.profile() as profile:
            tl.vmap(tl.grad(lambda x: F.sum(network(x)[0] ** 2)))(xs)
        return len(profile.events)

    assert launches(2) == launches(32)


def test_a_second_derivative_that_nobody_asks_for_costs_nothing() -> None:
    x = tl.tensor([0.5, -1.0], requires_grad=True)
    F.sum(F.gelu(x)).backward(create_graph=True)
    with tl.profile() as profile:
        F.sum(x.grad).backward()
    assert len(profile.events) > 10  # it is paid here
    with tl.profile() as profile:
        F.sum(F.gelu(x)).backward(create_graph=True)
    assert Counter(event.name for event in profile.events)["gelu_dx"] == 1
    assert len(profile.events) < 8


DERIVED = ops.Elemwise(mode="gelu_dx")


def test_a_derived_function_is_an_op_like_others() -> None:
    assert str(DERIVED) == "Elemwise(mode='gelu_dx')"
    assert ops.deserialize(ops.serialize(DERIVED)) == DERIVED
    listing = tl.Listing()
    tl.grad(lambda x: F.sum(F.gelu(x)))(tl.Tensor(listing.input("x", (2,))))
    assert "Elemwise(mode='gelu_dx')(" in str(listing)


class Declining(tl.TensorBase):
    """A value; its rule below knows no function of the name of gelu."""

    def __init__(self, value: Any) -> None:
        self.value = tl.as_raw_tensor(value)
        self.shape, self.dtype = self.value.shape, self.value.dtype

    def lift(self, other: Any) -> Declining:
        return Declining(other)


def test_a_rule_that_declines_a_function_gets_its_formula() -> None:
    seen = set()

    def apply_declining(op: ops.OpBase, *xs: Declining) -> Any:
        if isinstance(op, ops.Elemwise) and op.mode.startswith("gelu"):
            return NotImplemented
        seen.add(name_of(op))
        return [Declining(y) for y in op(*(x.value for x in xs))]

    slope = tl.grad(lambda x: F.sum(F.gelu(x)))
    with tl.apply.registered(apply_declining):
        found = slope(tl.Tensor(Declining([0.5, -1.0]))).__wrapped__
    np.testing.assert_allclose(found.value, slope(tl.tensor([0.5, -1.0])), rtol=1e-6)
    assert {"erf", "exp", "multiply"} <= seen


@pytest.mark.parametrize("name", ["attention_grad", "recurrence_grad", "ctc_grad"])
def test_a_body_refuses_what_its_op_refuses(name: str) -> None:
    (example,) = examples([name])
    cls = {"attention_grad": ops.AttentionGrad, "ctc_grad": ops.CTCGrad}
    op = cls.get(name, ops.RecurrenceGrad)(**example.attrs)
    for wrong in ([tl.ones(2)] * len(example.arrays), [tl.ones(2)], []):
        with pytest.raises((ValueError, TypeError)):
            tl.apply.body(op, *wrong)
