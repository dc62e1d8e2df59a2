"""Dispatch: what happens when rules change, fail or never end; mixed kinds; asking why."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tensorlike import (
    DispatchError,
    RawTensor,
    Tensor,
    TensorBase,
    Tracer,
    apply,
    ops,
)

ADD = ops.Elemwise(mode="add")
EXP = ops.Elemwise(mode="exp")

Register = Callable[[Callable[..., Any]], Callable[..., Any]]


class Plain(TensorBase):
    """A tensor-like that only carries a label."""

    def __init__(self, label: str = "") -> None:
        self.label = label


class Derived(Plain):
    """A more specific kind."""


class Other(TensorBase):
    """A kind beside it."""


@pytest.fixture
def register() -> Iterator[Register]:
    """Registers rules for the length of a test."""
    added: list[Callable[..., Any]] = []

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        apply.register(function)
        added.append(function)
        return function

    yield add
    for function in added:
        apply.unregister(function)


def label_of(op: Any, *xs: Any) -> str:
    """The label of the one output."""
    (result,) = apply(op, *xs)
    label: str = result.label
    return label


def test_rules_may_be_unregistered_while_they_run() -> None:
    def apply_old(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("old")

    def apply_new(op: ops.OpBase, *xs: Plain) -> Any:
        apply.unregister(apply_new)
        apply.unregister(apply_old)
        return apply.super(op, *xs)

    apply.register(apply_old)
    apply.register(apply_new)
    assert label_of(EXP, Plain()) == "old"
    with pytest.raises(DispatchError):
        EXP(Plain())


def test_rules_may_be_registered_while_others_run(register: Register) -> None:
    depth = 0

    @register
    def apply_old(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("old")

    @register
    def apply_new(op: ops.OpBase, *xs: Plain) -> Any:
        nonlocal depth
        if depth < 2:
            depth += 1
            for _ in range(50):
                with apply.registered(lambda op, *xs: NotImplemented):
                    EXP(*xs)
            depth -= 1
        return NotImplemented

    assert label_of(EXP, Plain()) == "old"


def test_recursion_without_end_is_an_error_and_leaves_nothing_behind(register: Register) -> None:
    @register
    def apply_endless(op: ops.OpBase, *xs: Plain) -> Any:
        return op(*xs)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        with pytest.raises(DispatchError) as caught:
            EXP(Plain())
    finally:
        sys.setrecursionlimit(limit)
    assert str(caught.value) == (
        "apply: rules may call one another 1024 deep; got deeper; a rule probably applies the op "
        "to its own arguments: unwrap them, or use apply.super."
    )
    with pytest.raises(RuntimeError, match="super called at top level"):
        apply.super(EXP, RawTensor([1.0]))
    with pytest.raises((DispatchError, RecursionError)):
        EXP(Plain())
    assert EXP(RawTensor([0.0]))[0].item() == 1.0


@pytest.mark.parametrize("inside", [False, True])
def test_an_exception_in_a_rule_leaves_nothing_behind(register: Register, inside: bool) -> None:
    @register
    def apply_old(op: ops.OpBase, *xs: Plain) -> Plain:
        raise KeyError("from the rule")

    @register
    def apply_new(op: ops.OpBase, *xs: Plain) -> Any:
        if inside:
            return apply.super(op, *xs)
        return NotImplemented

    for _ in range(3):
        with pytest.raises(KeyError, match="from the rule"):
            EXP(Plain())
        with pytest.raises(RuntimeError, match="super called at top level; call it inside a rule"):
            apply.super(EXP, RawTensor([1.0]))
    apply.disable(apply_old)
    with pytest.raises(DispatchError):
        EXP(Plain())
    assert (Tensor([1.0]) + 1).tolist() == [2.0]


def test_the_dispatcher_pickles_as_a_name() -> None:
    assert pickle.loads(pickle.dumps(apply)) is apply


class Lifting(TensorBase):
    """A tensor-like that takes others in."""

    priority = 50

    def __init__(self, value: Any) -> None:
        self.value = value

    def lift(self, other: Any) -> Lifting:
        return Lifting(other)


def apply_lifting(op: ops.OpBase, *xs: Lifting) -> tuple[Lifting, ...]:
    """Applies to the values."""
    return tuple(Lifting(y) for y in op(*(x.value for x in xs)))


def test_the_highest_kind_lifts_the_others(register: Register) -> None:
    register(apply_lifting)
    subtract = ops.Elemwise(mode="subtract")
    (left,) = subtract(Lifting(RawTensor([5.0])), RawTensor([2.0]))
    (right,) = subtract(RawTensor([5.0]), Lifting(RawTensor([2.0])))
    assert isinstance(left, Lifting)
    assert isinstance(right, Lifting)
    assert [left.value.item(), right.value.item()] == [3.0, 3.0]


def test_the_wrapper_is_above_every_tensor_like(register: Register) -> None:
    register(apply_lifting)
    for result in (
        Tensor([5.0]) - Lifting(RawTensor([2.0])),
        Lifting(RawTensor([5.0])) - Tensor(2.0),
    ):
        assert type(result) is Tensor
        assert isinstance(result.__wrapped__, Lifting)
        assert result.__wrapped__.value.item() == 3.0


def test_literals_beside_a_tensor_like_become_constants_of_its_kind(register: Register) -> None:
    register(apply_lifting)
    x = Lifting(RawTensor([2.0]))
    assert [(3 - x).value.item(), (x * 3).value.item(), (x - [5.0]).value.item()] == [
        1.0,
        6.0,
        -3.0,
    ]


def test_an_array_on_the_left_leaves_the_call_to_the_tensor_like(register: Register) -> None:
    register(apply_lifting)
    result = np.ones(1, np.float32) + Lifting(RawTensor([2.0]))
    assert isinstance(result, Lifting)
    assert np.asarray(result.value).tolist() == [3.0]


def test_of_two_python_kinds_the_one_of_higher_priority_takes_the_call(register: Register) -> None:
    class Higher(TensorBase):
        priority = 60

        def __init__(self, value: Any) -> None:
            self.value = value

        def lift(self, other: Any) -> Higher:
            return Higher(other)

    @register
    def apply_higher(op: ops.OpBase, *xs: Higher) -> tuple[Higher, ...]:
        return tuple(Higher(y) for y in op(*(x.value for x in xs)))

    register(apply_lifting)
    (result,) = ADD(Lifting(RawTensor([1.0])), Higher(RawTensor([2.0])))
    assert type(result) is Higher
    assert type(result.value) is Lifting
    assert result.value.value.item() == 3.0


def test_a_kind_that_cannot_lift_is_a_miss(register: Register) -> None:
    @register
    def apply_plain(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain()

    with pytest.raises(DispatchError, match=r"no rule says what Elemwise means on \(Plain, Raw"):
        ADD(Plain(), RawTensor([1.0]))


def test_a_rule_for_a_mixture_comes_before_lifting(register: Register) -> None:
    register(apply_lifting)

    @register
    def apply_mixture(op: ops.Elemwise, x: Lifting, y: RawTensor) -> Lifting:
        return Lifting("mixed")

    assert ADD(Lifting(RawTensor([1.0])), RawTensor([1.0]))[0].value == "mixed"
    assert ADD(RawTensor([1.0]), Lifting(RawTensor([1.0])))[0].value.item() == 2.0


def test_a_tracer_is_above_a_kind_of_low_priority_and_below_one_of_high(
    register: Register,
) -> None:
    class High(Lifting):
        priority = 500
        shape = (1,)
        dtype = RawTensor([1.0]).dtype

        def lift(self, other: Any) -> High:
            return High(other)

    @register
    def apply_high(op: ops.OpBase, *xs: High) -> tuple[High, ...]:
        return tuple(High(y) for y in op(*(x.value for x in xs)))

    tracer = Tracer(RawTensor([1.0]))
    (result,) = ADD(tracer, High(RawTensor([1.0])))
    assert isinstance(result, High)
    assert isinstance(result.value, Tracer)


def test_explain_prints_every_rule_with_its_verdict(register: Register) -> None:
    @register
    def apply_old(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain()

    @register
    def apply_new(op: ops.Elemwise, *xs: Plain) -> Plain:
        return Plain()

    apply.disable(apply_new)
    lines = apply.explain(ADD, Plain(), Plain()).splitlines()
    old, new = apply_old.__code__.co_firstlineno, apply_new.__code__.co_firstlineno
    assert lines[0] == "Elemwise(mode='add') on (Plain, Plain)"
    assert lines[1] == (
        f"  apply_new(op: Elemwise, *args: Plain): matches, but is disabled  [{__file__}:{new}]"
    )
    assert lines[2] == f"  apply_old(op: OpBase, *args: Plain): matches  [{__file__}:{old}]"
    assert "  apply_raw(op: OpBase, *args: RawTensor): does not match  [built in]" in lines


def test_explain_follows_the_layers_down_to_the_kernel() -> None:
    x = Tensor([[1.0, 2.0]], dtype="float64")
    x.requires_grad = True
    text = apply.explain(ADD, x, Tensor([1, 2]))
    positions = [
        text.index(part)
        for part in (
            "Elemwise(mode='add') on (Tensor, Tensor)",
            "then on what is wrapped:",
            "recorded on the tape; then on what is traced:",
            "input 0: float64(1, 2)",
            "output 0: float64(1, 2)",
            "input 1 is cast from int64",
            "input 1 is broadcast from (2,)",
            "kernel: cpu",
        )
    ]
    assert positions == sorted(positions)


def test_help_and_source_show_the_rule_that_runs(register: Register) -> None:
    register(apply_lifting)
    x = Lifting(RawTensor([1.0]))
    assert apply.help(EXP, x) == "Applies to the values."
    assert apply.source(EXP, x).startswith("def apply_lifting(op: ops.OpBase, *xs: Lifting)")
    with pytest.raises(TypeError) as caught:
        apply.source(EXP, RawTensor([1.0]))
    assert str(caught.value) == "source: the rule is in the core, in C++"


def test_a_class_of_ops_cannot_be_registered_under_itself() -> None:
    class First(ops.OpBase):
        pass

    class Second(ops.OpBase):
        pass

    class Third(Second):
        pass

    First.register(Second)
    for above, below in ((First, First), (Second, First), (Third, First), (Third, Second)):
        with pytest.raises(DispatchError, match="derive from itself"):
            above.register(below)
    with pytest.raises(DispatchError):
        Second()(Plain())
