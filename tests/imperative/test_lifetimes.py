"""What nobody can reach is freed, cycles through the core included (row E5)."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

SIZE = 100_000  # elements: what a node keeps is seen in the bytes


class Witness:
    """Is held by what should be freed."""


def holding(*held: Any) -> Callable[..., None]:
    """A function that does nothing and holds these."""

    def function(*_: Any) -> None:
        assert held

    return function


def leaf() -> Any:
    return tl.tensor(np.ones(SIZE, np.float32), requires_grad=True)


def hook_of_a_leaf(witness: Witness) -> None:
    x = leaf()
    x.register_hook(holding(witness, x))


def hook_that_holds_a_later_value(witness: Witness) -> None:
    x = leaf()
    y = x * 2
    later = F.exp(y) * y
    y.register_hook(holding(witness, later))


def hook_that_holds_its_own_value(witness: Witness) -> None:
    y = leaf() * 2
    y.register_hook(holding(witness, y))


def hooks_of_values_that_share_nodes(witness: Witness) -> None:
    x = leaf()
    y = x * x
    several = [y * k for k in range(1, 5)]
    for value in (x, y, *several):
        value.register_hook(holding(witness, several, y))


def hook_that_holds_a_tracer(witness: Witness) -> None:
    y = leaf() * 2
    tracer = y.__wrapped__
    y.register_hook(holding(witness, tracer))


class Doubled(tl.Function):
    def forward(self, x: Any) -> Any:
        return x * 2

    def backward(self, dy: Any) -> Any:
        return dy * 2


def function_that_holds_its_result(witness: Witness) -> None:
    function: Any = Doubled()
    function.witness = witness
    function.y = function(leaf())


def layer_of_numpy_that_holds_its_result(witness: Witness) -> None:
    class Doubled(tl.PyLayer):
        @staticmethod
        def forward(inputs: Any) -> Any:
            return inputs[0] * 2

        @staticmethod
        def backward(inputs: Any) -> Any:
            return inputs[2] * 2

    layer: Any = Doubled()
    layer.witness = witness
    layer.y = layer(leaf())


def custom_vjp_that_closes_over_its_result(witness: Witness) -> None:
    found = []
    doubled = tl.custom_vjp(lambda x: x * 2)
    doubled.defvjp(lambda x: (x * 2, x), lambda x, dy: ((witness, found) and dy * 2,))
    found.append(doubled(leaf()))


def custom_jvp_that_closes_over_its_result(witness: Witness) -> None:
    found = []
    doubled = tl.custom_jvp(lambda x: x * 2)
    doubled.defjvp(lambda x, dx: (x[0] * 2, (witness, found) and dx[0] * 2))
    found.append(doubled(leaf()))


def checkpoint_that_closes_over_its_result(witness: Witness) -> None:
    found: list[Any] = []

    def doubled(x: Any) -> Any:
        return (witness, found) and x * 2

    found.append(tl.checkpoint(doubled)(leaf()))


def manager_with_a_callback_that_holds_it(witness: Witness) -> None:
    x = tl.tensor(np.ones(SIZE, np.float32))
    manager = tl.GradManager()
    manager.attach([x], callbacks=lambda x, g: (witness, manager) and g)
    manager.record()
    manager.y = F.sum(x * x)  # type: ignore[attr-defined]


def grad_with_a_callback_that_holds_the_result(witness: Witness) -> None:
    x = tl.tensor(np.ones(SIZE, np.float32))
    found: list[Any] = []
    grad = tl.Grad().wrt(x, callback=holding(witness, found))
    found.extend((grad, x * x, x))


def gradient_with_a_graph(witness: Witness) -> None:
    x = leaf()
    x.register_hook(holding(witness))
    F.sum(x * x * x).backward(create_graph=True)
    assert x.grad.requires_grad


def gradient_that_is_computed_from_its_tensor(witness: Witness) -> None:
    x = leaf()
    x.register_hook(holding(witness))
    x.grad = x * x


def parameter_with_a_gradient_with_a_graph(witness: Witness) -> None:
    p = tl.Parameter(np.ones(SIZE, np.float32))
    p.register_hook(holding(witness))
    F.sum(p * p * p).backward(create_graph=True)


def tensor_like_that_holds_what_is_computed_from_it(witness: Witness) -> None:
    class Holder(tl.Carrier):
        pass

    holder = Holder(tl.as_raw_tensor(np.ones(SIZE, np.float32)))
    holder.witness = witness
    x = tl.Tensor(holder)
    x.requires_grad = True
    holder.later = F.exp(x) * x


CYCLES: list[Callable[[Witness], None]] = [
    hook_of_a_leaf,
    hook_that_holds_a_later_value,
    hook_that_holds_its_own_value,
    hooks_of_values_that_share_nodes,
    hook_that_holds_a_tracer,
    function_that_holds_its_result,
    layer_of_numpy_that_holds_its_result,
    custom_vjp_that_closes_over_its_result,
    custom_jvp_that_closes_over_its_result,
    checkpoint_that_closes_over_its_result,
    manager_with_a_callback_that_holds_it,
    grad_with_a_callback_that_holds_the_result,
    gradient_with_a_graph,
    gradient_that_is_computed_from_its_tensor,
    parameter_with_a_gradient_with_a_graph,
    tensor_like_that_holds_what_is_computed_from_it,
]


@pytest.mark.parametrize("make", CYCLES, ids=lambda make: make.__name__)
def test_e5_a_cycle_is_collected_with_its_nodes_and_bytes(make: Callable[[Witness], None]) -> None:
    make(Witness())  # what is made once, and cached
    gc.collect()
    before = tl.memory.stats()["allocated"]
    alive = []
    for _ in range(3):
        witness = Witness()
        alive.append(weakref.ref(witness))
        make(witness)
        del witness
    gc.collect()
    gc.collect()  # what finalisers of the first left
    assert [reference() for reference in alive] == [None] * 3
    assert tl.memory.stats()["allocated"] - before < SIZE


def test_nothing_is_collected_that_a_value_outside_of_the_cycle_leads_to() -> None:
    seen = []
    x = leaf()
    y = x * 2
    z = F.sum(y * 3)

    def hook(g: Any, values: Any = (x, y)) -> None:
        seen.append(values[1].shape)

    y.register_hook(hook)
    alive = weakref.ref(hook)
    del hook, y
    for _ in range(3):
        gc.collect()
    assert alive() is not None
    z.backward()
    assert seen == [(SIZE,)]
    assert x.grad[0].item() == 6
    del x, z
    gc.collect()
    assert alive() is None


def test_nothing_is_collected_that_a_frozen_or_untraced_holder_leads_to() -> None:
    y = leaf() * 2
    y.register_hook(holding(y))
    outside = tl.vjp(lambda x: x * 1, y)[1]  # holds it by the core and by Python
    del y
    gc.freeze()
    try:
        gc.collect()
    finally:
        gc.unfreeze()
    gc.collect()
    (gradient,) = outside(tl.ones((SIZE,)))
    assert gradient.shape == (SIZE,)
    gc.freeze()  # the tests, as conftest.py does


def test_cycles_at_random_are_collected_just_when_nobody_holds_them() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        values = [tl.tensor([1.0], requires_grad=True) for _ in range(3)]
        calls: list[int] = []
        alive = []
        for i in range(12):
            a, b = rng.integers(len(values), size=2)
            values.append(values[a] * values[b])
            held = [values[k] for k in rng.integers(len(values), size=2)]

            def hook(g: Any, held: Any = held, i: int = i, calls: list[int] = calls) -> None:
                calls.append(i)

            alive.append(weakref.ref(hook))
            values[-1].register_hook(hook)
            held.append(hook)
        del a, b, held, hook
        kept = values[-1]
        del values
        gc.collect()
        assert alive[-1]() is not None
        F.sum(kept).backward()
        assert 11 in calls
        del kept
        gc.collect()
        assert [reference() for reference in alive] == [None] * len(alive)


def test_a_gradient_goes_on_adding_up_in_a_leaf_whose_elements_were_replaced() -> None:
    p = tl.Parameter([1.0, 2.0])
    loss = F.sum(p * 2)
    with tl.no_grad():
        p *= 3
    loss.backward()
    F.sum(p * 5).backward()
    assert p.grad.tolist() == [7.0, 7.0]
    p.set_value([0.0, 0.0])
    assert p.grad.tolist() == [7.0, 7.0]


def test_classes_made_in_functions_are_collected() -> None:
    alive = []

    def make() -> None:
        class Held(tl.Carrier):
            pass

        class Mine(tl.ops.OpBase):
            def define(self, x: Any) -> Any:
                return x * 2

        x = Held(tl.as_raw_tensor([1.0]))
        assert F.exp(x).value.shape == (1,)
        assert Mine()(tl.tensor([1.0]))[0].item() == 2
        alive.extend((weakref.ref(Held), weakref.ref(Mine)))

    for _ in range(3):
        make()
    gc.collect()
    gc.collect()
    assert [reference() for reference in alive] == [None] * 6


def test_a_tape_that_holds_a_function_which_holds_the_tape_is_collected() -> None:
    def make() -> weakref.ref[Witness]:
        function, witness = Doubled(), Witness()
        tape = tl.Tape()
        with tape:
            function(tl.tensor([1.0], requires_grad=True))
            function.held = (tape, witness)  # type: ignore[attr-defined]
            del function
            gc.collect()
            assert len(tape) == 1  # what listens keeps what it has
        gc.collect()
        assert tape[0].op is not None
        return weakref.ref(witness)

    reference = make()
    gc.collect()
    assert reference() is None
