"""check_tensor_like: passes what is right, and finds each fault that is planted on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.declarations import BUILT_IN

import tensorlike as tl
from tensorlike import Carrier, TensorBase, apply, ops
from tensorlike.testing import LikeReport, TensorLikeError, check_tensor_like

NAMES = ["exp", "add", "sum", "matmul", "split", "softmax", "argmax", "sort", "where", "reshape"]


@pytest.fixture
def register() -> Iterator[Callable[..., Any]]:
    """Registers rules for the length of a test."""
    added: list[Callable[..., Any]] = []

    def add(rule: Callable[..., Any]) -> Callable[..., Any]:
        added.append(apply.register(rule))
        return rule

    yield add
    for rule in added:
        apply.unregister(rule)


def checked(cls: type, **how: Any) -> LikeReport:
    return check_tensor_like(cls, names=NAMES, raises=False, **how)


def wrong(report: LikeReport) -> set[tuple[str, str]]:
    return {(failure.call, failure.check) for failure in report.failures}


class Adding(Carrier):
    """A carrier without rules of its own."""


def test_a_carrier_passes_on_the_whole_corpus() -> None:
    report = check_tensor_like(Adding, names=BUILT_IN)
    assert report.is_right
    calls = {finding.call for finding in report.findings}
    assert len(calls) > 200
    done = [finding for finding in report.findings if finding.is_right]
    assert len(done) > 1500
    assert str(report).splitlines()[0].split()[:4] == ["Adding", "alone", "Tensor", "mixed"]
    assert str(report).splitlines()[-1] == f"{len(calls)} calls, 0 wrong"


class ByHand(TensorBase):
    """A tensor-like that derives from the root, and says everything itself."""

    def __init__(self, value: Any) -> None:
        self.value = tl.as_raw_tensor(value) if not isinstance(value, TensorBase) else value
        self.shape, self.dtype = self.value.shape, self.value.dtype

    @property
    def elements(self) -> Any:
        return self.value

    def lift(self, other: Any) -> ByHand:
        return ByHand(other)


def apply_by_hand(op: ops.OpBase, *xs: ByHand) -> Any:
    return [ByHand(y) for y in op(*(x.value for x in xs))]


def test_a_tensor_like_without_carrier_passes_on_the_whole_corpus(
    register: Callable[..., Any],
) -> None:
    register(apply_by_hand)
    assert check_tensor_like(ByHand, names=BUILT_IN).is_right


def test_an_output_that_is_dropped_is_found(register: Callable[..., Any]) -> None:
    class Dropping(Carrier):
        pass

    @register
    def apply_dropping(op: ops.OpBase, *xs: Dropping) -> Any:
        return apply.super(op, *xs)[:1]

    report = checked(Dropping)
    assert {call for call, check in wrong(report) if check != "training"} == {"split"}
    trained = {call for call, check in wrong(report) if check == "training"}
    assert trained == {"two steps of SGD", "two steps of Adam"}  # by way of batch norm
    assert report.failures[0].detail == "gave 1 outputs; 2 are right"


def test_a_wrong_dtype_is_found(register: Callable[..., Any]) -> None:
    class Narrowing(Carrier):
        pass

    @register
    def apply_narrowing(op: ops.Reduce, x: Narrowing) -> Any:
        return [Narrowing(tl.astype(tl.Tensor(y.value), tl.float32)) for y in apply.super(op, x)]

    report = checked(Narrowing, rtol=1e-3)
    assert ("sum", "alone") in wrong(report)
    assert ("argmax", "alone") in wrong(report)
    assert "says float32(); float64() is right" in report.failures[0].detail
    assert not {"exp", "add", "matmul", "split"} & {call for call, _ in wrong(report)}


def test_a_shape_that_is_claimed_wrongly_is_found(register: Callable[..., Any]) -> None:
    class Flat(Carrier):
        @property
        def shape(self) -> tuple[int, ...]:
            return (self.value.size,)

    report = checked(Flat)
    assert ("softmax", "alone") in wrong(report) or ("matmul", "alone") in wrong(report)


def test_an_op_that_is_forgotten_is_found(register: Callable[..., Any]) -> None:
    class Forgetful(ByHand):
        pass

    @register
    def apply_forgetful(op: ops.Elemwise, *xs: Forgetful) -> Any:
        return [Forgetful(y) for y in op(*(x.value for x in xs))]

    report = checked(Forgetful)
    failed = {call for call, check in wrong(report) if check == "alone"}
    assert failed >= {"matmul", "sum", "split"}
    assert not failed & {"exp", "add"}
    assert "no rule says what" in report.failures[0].detail


def test_wrong_elements_are_found_and_a_tolerance_allows_for_them(
    register: Callable[..., Any],
) -> None:
    class Sloppy(Carrier):
        pass

    @register
    def apply_sloppy(op: ops.MatMul, *xs: Sloppy) -> Any:
        return [Sloppy(tl.Tensor(y.value) * (1 + 1e-7)) for y in apply.super(op, *xs)]

    assert ("matmul", "alone") in wrong(checked(Sloppy))
    assert checked(Sloppy, rtol=1e-5).is_right


def test_results_that_are_not_wrapped_again_are_found(register: Callable[..., Any]) -> None:
    class Leaving(Carrier):
        pass

    @register
    def apply_leaving(op: ops.Reduce, x: Leaving) -> Any:
        return op(x.value)

    report = checked(Leaving)
    assert ("sum", "alone") in wrong(report)
    assert "is a RawTensor, not a Leaving" in report.failures[0].detail


def test_a_tensor_like_that_does_not_lift_is_found(register: Callable[..., Any]) -> None:
    class Alone(TensorBase):
        def __init__(self, value: Any) -> None:
            self.value, self.shape, self.dtype = value, value.shape, value.dtype
            self.elements = value

    @register
    def apply_alone(op: ops.OpBase, *xs: Alone) -> Any:
        return [Alone(y) for y in op(*(x.value for x in xs))]

    failed = wrong(checked(Alone))
    assert {("add", "mixed"), ("matmul", "mixed")} <= failed
    assert not any(check == "alone" for _, check in failed)


def test_an_exception_that_is_swallowed_is_found(register: Callable[..., Any]) -> None:
    class Quiet(Carrier):
        pass

    @register
    def apply_quiet(op: ops.Elemwise, *xs: Quiet) -> Any:
        try:
            return apply.super(op, *xs)
        except Exception:
            return xs[:1]

    report = checked(Quiet)
    assert ("exp", "raising") in wrong(report)
    assert ("sum", "raising") not in wrong(report)


def test_a_mode_that_stays_behind_is_found(register: Callable[..., Any]) -> None:
    class Pausing(Carrier):
        pass

    before = tl.engine.options()

    @register
    def apply_pausing(op: ops.OpBase, *xs: Pausing) -> Any:
        tl.engine.mode("lazy", threshold=7)
        outputs = apply.super(op, *xs)  # an exception here is as if it had been forgotten
        tl.engine.mode(before["mode"], threshold=before["threshold"])
        return outputs

    try:
        report = checked(Pausing)
    finally:
        tl.engine.mode(before["mode"], threshold=before["threshold"])
    assert ("exp", "raising") in wrong(report)
    assert "leaves (recording, level, engine) as (True, " in report.failures[0].detail


def test_instances_that_are_kept_are_found(register: Callable[..., Any]) -> None:
    kept = []

    class Hoarding(Carrier):
        pass

    @register
    def apply_hoarding(op: ops.OpBase, *xs: Hoarding) -> Any:
        kept.extend(xs)
        return apply.super(op, *xs)

    assert ("(all)", "leaks") in wrong(checked(Hoarding))


def test_a_gradient_that_is_lost_is_found(register: Callable[..., Any]) -> None:
    class Detaching(Carrier, above=tl.Tracer):
        pass

    @register
    def apply_detaching(op: ops.MatMul, *xs: Detaching) -> Any:
        return apply.super(op, *(x.around(tl.stop_gradient(x.value)) for x in xs))

    failed = wrong(checked(Detaching))
    assert ("matmul", "jvp") in failed
    assert not any(check == "alone" for _, check in failed)


def test_failures_raise_an_assertion_error_that_lists_them(register: Callable[..., Any]) -> None:
    class Dropping(Carrier):
        pass

    @register
    def apply_dropping(op: ops.OpBase, *xs: Dropping) -> Any:
        return apply.super(op, *xs)[:1]

    with pytest.raises(TensorLikeError) as caught:
        check_tensor_like(Dropping, names=NAMES)
    assert isinstance(caught.value, AssertionError)
    first, second, *_ = str(caught.value).splitlines()
    assert first == "check_tensor_like: Dropping must pass; failures:"
    assert second == "split, alone: gave 1 outputs; 2 are right"
    assert caught.value.report.failures


def test_what_a_tensor_like_refuses_is_no_failure(register: Callable[..., Any]) -> None:
    class Picky(Carrier):
        pass

    @register
    def apply_picky(op: ops.MatMul, *xs: Picky) -> Any:
        raise ZeroDivisionError("no products here")

    assert ("matmul", "alone") in wrong(checked(Picky))
    report = checked(Picky, refuses=ZeroDivisionError)
    assert report.is_right
    assert any(finding.detail == "refused: no products here" for finding in report.findings)


def test_what_only_a_training_step_meets_is_found(register: Callable[..., Any]) -> None:
    class Untrained(Carrier):
        pass

    @register
    def apply_untrained(op: ops.Elemwise, *xs: Untrained) -> Any:
        if op.mode.endswith("_step"):
            return [y.value for y in apply.super(op, *xs)]
        return apply.super(op, *xs)

    report = checked(Untrained)
    assert wrong(report) == {("two steps of SGD", "training"), ("two steps of Adam", "training")}
    assert "is a Tensor of a RawTensor, not a Untrained" in report.failures[0].detail
    assert checked(Untrained, training=False).is_right


def test_names_must_be_known() -> None:
    with pytest.raises(tl.ParameterError) as caught:
        check_tensor_like(Adding, names=["expp"])
    assert str(caught.value) == "examples: names must be of functional calls; got 'expp'"
