"""Dispatch: which rule runs, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tensorlike import (
    AmbiguityError,
    DispatchError,
    RawTensor,
    Tensor,
    TensorBase,
    TensorWrapper,
    Tracer,
    apply,
    grad,
    ops,
)
from tensorlike import functional as F

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


def test_the_class_of_the_op_is_compared_before_the_kinds(register: Register) -> None:
    @register
    def apply_kind(op: ops.OpBase, *xs: Derived) -> Plain:
        return Plain("kind")

    @register
    def apply_op(op: ops.Elemwise, *xs: TensorBase) -> Plain:
        return Plain("op")

    assert label_of(EXP, Derived()) == "op"
    assert label_of(ops.Reduce(mode="sum"), Derived()) == "kind"


def test_the_more_derived_kind_wins_whatever_the_order_of_registration(register: Register) -> None:
    @register
    def apply_derived(op: ops.OpBase, *xs: Derived) -> Plain:
        return Plain("derived")

    @register
    def apply_plain(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("plain")

    assert label_of(EXP, Derived()) == "derived"
    assert label_of(EXP, Plain()) == "plain"
    assert label_of(ADD, Derived(), Plain()) == "plain"


@pytest.mark.parametrize("union", [Plain | Other, (Plain, Other)])
def test_a_union_matches_each_of_its_members(register: Register, union: Any) -> None:
    def apply_union(op: Any, *xs: Any) -> Plain:
        return Plain("union")

    apply_union.__annotations__ = {"op": ops.OpBase, "xs": union}
    register(apply_union)
    assert label_of(EXP, Plain()) == "union"
    assert label_of(ADD, Other(), Plain()) == "union"


def test_a_rule_of_fixed_arity_takes_no_other_number_of_arguments(register: Register) -> None:
    @register
    def apply_one(op: ops.OpBase, x: Plain) -> Plain:
        return Plain("one")

    @register
    def apply_two(op: ops.OpBase, x: Plain, y: Plain) -> Plain:
        return Plain("two")

    assert label_of(EXP, Plain()) == "one"
    assert label_of(ADD, Plain(), Plain()) == "two"
    with pytest.raises(DispatchError, match=r"no rule says what Elemwise means on \(Plain, Plain"):
        apply(ADD, Plain(), Plain(), Plain())


def test_a_fixed_arity_is_more_specific_than_a_variadic_rule(register: Register) -> None:
    @register
    def apply_many(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("many")

    @register
    def apply_two(op: ops.OpBase, x: Plain, y: Plain) -> Plain:
        return Plain("two")

    assert label_of(ADD, Plain(), Plain()) == "two"
    assert label_of(EXP, Plain()) == "many"


def test_an_unannotated_parameter_means_any_tensor_like(register: Register) -> None:
    class Odd(ops.OpBase):
        pass

    @register
    def apply_odd(op: Odd, x) -> Plain:  # type: ignore[no-untyped-def]
        return Plain(type(x).__name__)

    assert label_of(Odd(), Other()) == "Other"
    assert label_of(Odd(), RawTensor([1.0])) == "RawTensor"


def test_none_in_a_slot_is_a_kind_of_its_own(register: Register) -> None:
    @register
    def apply_optional(op: ops.OpBase, x: Plain | None, y: Plain | None) -> Plain:
        return Plain(f"{x is None} {y is None}")

    assert label_of(ADD, None, Plain()) == "True False"
    assert label_of(ADD, Plain(), None) == "False True"
    assert label_of(ADD, None, None) == "True True"


def test_an_ambiguity_is_an_error_at_registration_that_names_both_places(
    register: Register,
) -> None:
    @register
    def apply_left(op: ops.OpBase, x: Plain, y: TensorBase) -> Plain:
        return Plain("left")

    def apply_right(op: ops.OpBase, x: TensorBase, y: Plain) -> Plain:
        return Plain("right")

    line = apply_left.__code__.co_firstlineno
    other = apply_right.__code__.co_firstlineno
    with pytest.raises(AmbiguityError) as caught:
        apply.register(apply_right)
    assert str(caught.value) == (
        "apply: rules must not be ambiguous; got apply_right(op: OpBase, TensorBase, Plain) ... "
        f"@ {__file__}:{other} and apply_left(op: OpBase, Plain, TensorBase) ... "
        f"@ {__file__}:{line}; register a rule for what both match first."
    )
    # Nothing is half registered.
    with pytest.raises(ValueError, match="not a registered rule"):
        apply.unregister(apply_right)
    assert label_of(ADD, Plain(), Other()) == "left"


def test_a_rule_for_the_overlap_settles_an_ambiguity(register: Register) -> None:
    @register
    def apply_both(op: ops.OpBase, x: Plain, y: Plain) -> Plain:
        return Plain("both")

    @register
    def apply_left(op: ops.OpBase, x: Plain, y: TensorBase) -> Plain:
        return Plain("left")

    @register
    def apply_right(op: ops.OpBase, x: TensorBase, y: Plain) -> Plain:
        return Plain("right")

    assert label_of(ADD, Plain(), Plain()) == "both"
    assert label_of(ADD, Plain(), Other()) == "left"
    assert label_of(ADD, Other(), Plain()) == "right"


def test_super_passes_on_through_every_rule_of_the_order(register: Register) -> None:
    log: list[str] = []

    @register
    def apply_first(op: ops.OpBase, *xs: Plain) -> Plain:
        log.append("first")
        return Plain("end")

    @register
    def apply_second(op: ops.OpBase, *xs: Plain) -> Any:
        log.append("second")
        return apply.super(op, *xs)

    @register
    def apply_third(op: ops.Elemwise, *xs: Derived) -> Any:
        log.append("third")
        return apply.super(op, *xs)

    assert label_of(EXP, Derived()) == "end"
    assert log == ["third", "second", "first"]


def test_super_may_change_the_op_and_the_arguments(register: Register) -> None:
    @register
    def apply_end(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain(f"{op} of {xs[0].label}")

    @register
    def apply_changed(op: ops.OpBase, *xs: Plain) -> Any:
        return apply.super(ops.Elemwise(mode="log"), Plain("changed"))

    assert label_of(EXP, Plain("given")) == "Elemwise(mode='log') of changed"


def test_super_inside_an_inner_application_continues_the_inner_one(register: Register) -> None:
    log: list[str] = []

    @register
    def apply_old(op: ops.OpBase, *xs: Plain) -> Plain:
        log.append(f"old {op.mode}")
        return Plain()

    @register
    def apply_new(op: ops.OpBase, *xs: Plain) -> Any:
        log.append(f"new {op.mode}")
        if op.mode == "exp":
            ops.Elemwise(mode="log")(*xs)
        return apply.super(op, *xs)

    EXP(Plain())
    assert log == ["new exp", "new log", "old log", "old exp"]


def test_super_after_the_last_rule_is_a_miss(register: Register) -> None:
    @register
    def apply_only(op: ops.OpBase, *xs: Plain) -> Any:
        return apply.super(op, *xs)

    with pytest.raises(DispatchError, match="no rule says what Elemwise means on"):
        EXP(Plain())


def test_rules_switch_off_and_on_at_once_and_stay_where_they_were(register: Register) -> None:
    @register
    def apply_old(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("old")

    @register
    def apply_new(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("new")

    seen = []
    for switch in (None, apply.disable, apply.disable, apply.enable, apply.enable):
        if switch is not None:
            switch(apply_new)
        seen.append(label_of(EXP, Plain()))
    assert seen == ["new", "old", "old", "new", "new"]


def test_a_rule_may_switch_itself_off_while_it_runs(register: Register) -> None:
    @register
    def apply_old(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("old")

    @register
    def apply_once(op: ops.OpBase, *xs: Plain) -> Any:
        apply.disable(apply_once)
        return EXP(*xs)

    assert label_of(EXP, Plain()) == "old"


def test_registering_invalidates_what_was_resolved(register: Register) -> None:
    @register
    def apply_plain(op: ops.OpBase, *xs: Plain) -> Plain:
        return Plain("plain")

    assert [label_of(EXP, Derived()) for _ in range(3)] == ["plain"] * 3

    @register
    def apply_derived(op: ops.OpBase, *xs: Derived) -> Plain:
        return Plain("derived")

    assert label_of(EXP, Derived()) == "derived"


def test_a_rule_on_built_in_kinds_is_seen_by_every_way_to_apply(register: Register) -> None:
    seen: list[str] = []
    x = Tensor([1.0, 2.0])
    _ = x + x

    def apply_counted(op: ops.OpBase, *xs: RawTensor) -> Any:
        seen.append(type(op).__name__)
        return apply.super(op, *xs)

    with apply.registered(apply_counted):
        _ = x + x
        x += 1
        x[0] = 3
        F.sum(x)
        _ = -x
        grad(lambda v: F.sum(v * v))(x)
    count = len(seen)
    assert {"Elemwise", "SetSubtensor", "Reduce"} <= set(seen)
    _ = x + x
    assert len(seen) == count


def test_a_rule_on_the_wrapper_sees_what_users_write(register: Register) -> None:
    seen: list[str] = []

    @register
    def apply_logged(op: ops.Elemwise, *xs: TensorWrapper) -> Any:
        seen.append(op.mode)
        return apply.super(op, *xs)

    x = Tensor([1.0])
    x += 1
    assert (x * x).tolist() == [4.0]
    assert seen == ["add", "multiply"]


def test_a_rule_on_tracers_sees_what_is_recorded(register: Register) -> None:
    seen: list[str] = []

    @register
    def apply_logged(op: ops.Elemwise, *xs: Tracer) -> Any:
        seen.append(op.mode)
        return apply.super(op, *xs)

    assert grad(lambda v: F.exp(v) * 2)(0.0).item() == 2.0
    assert seen[0] == "exp"
