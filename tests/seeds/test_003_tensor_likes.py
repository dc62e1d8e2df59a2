"""Ops and tensor-likes, multiple dispatch and Const: the concepts of the seed, and rows D and C."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import (
    AmbiguityError,
    DispatchError,
    Listing,
    RawTensor,
    ShapeTensor,
    SymbolicTensor,
    Tensor,
    TensorBase,
    TensorWrapper,
    Tracer,
    apply,
    ops,
)
from tensorlike import functional as F

ADD = ops.Elemwise(mode="add")
EXP = ops.Elemwise(mode="exp")
Register = Callable[[Callable[..., Any]], Callable[..., Any]]


class Mine(TensorBase):
    """A tensor-like of a user."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Special(Mine):
    """A more specific one."""


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


def test_an_op_is_a_subclass_of_op_base() -> None:
    """What represents an operation derives from the one root."""
    for cls in (ops.Elemwise, ops.Reduce, ops.MatMul, ops.Const, ops.OpDef):
        assert issubclass(cls, ops.OpBase)


def test_elemwise_takes_its_mode_in_the_constructor() -> None:
    """An op can have parameters; the mode of Elemwise is a required one."""
    assert ops.Elemwise(mode="add").mode == "add"
    with pytest.raises(TypeError) as caught:
        ops.Elemwise()
    assert str(caught.value) == "Elemwise: the parameter mode is required; give mode=...."


def test_a_tensor_like_is_a_subclass_of_tensor_base_that_defines_how_ops_apply(
    register: Register,
) -> None:
    """Deriving a class and saying what ops do on it is all that a tensor-like needs."""
    for cls in (RawTensor, Tracer, ShapeTensor, SymbolicTensor, TensorWrapper, Tensor):
        assert issubclass(cls, TensorBase)

    @register
    def apply_mine(op: ops.OpBase, *xs: Mine) -> Mine:
        return Mine([op.mode, *(x.value for x in xs)])

    assert (Mine(1) + Mine(2)).value == ["add", 1, 2]


def test_a_raw_tensor_launches_the_kernel_of_the_op() -> None:
    """On RawTensor applying computes."""
    (result,) = ADD(RawTensor([1.0, 2.0]), RawTensor([3.0, 4.0]))
    assert type(result) is RawTensor
    assert np.asarray(result).tolist() == [4.0, 6.0]


def test_a_tracer_records_information_for_autodiff() -> None:
    """On Tracer applying computes and remembers."""
    before = tl._C.base_tape().recorded
    (result,) = ADD(Tracer(RawTensor([1.0])), Tracer(RawTensor([3.0])))
    assert type(result) is Tracer
    assert result.op == ADD
    assert np.asarray(result.primal).tolist() == [4.0]
    assert tl._C.base_tape().recorded == before + 1


def test_op_instances_are_callable_on_tensor_likes_and_return_a_tuple() -> None:
    """The signature is from any number of tensor-likes to a tuple of them."""
    assert isinstance(EXP(RawTensor([1.0])), tuple)
    parts = ops.Split(sizes=(1, 2))(RawTensor([1.0, 2.0, 3.0]))
    assert isinstance(parts, tuple)
    assert [np.asarray(part).tolist() for part in parts] == [[1.0], [2.0, 3.0]]


def test_a_call_invokes_the_implementation_for_that_op_and_that_tensor_like(
    register: Register,
) -> None:
    """Both the class of the op and the class of the tensor-like choose."""

    @register
    def apply_elemwise(op: ops.Elemwise, *xs: Mine) -> Mine:
        return Mine("elemwise on mine")

    @register
    def apply_reduce(op: ops.Reduce, *xs: Mine) -> Mine:
        return Mine("reduce on mine")

    assert EXP(Mine())[0].value == "elemwise on mine"
    assert ops.Reduce(mode="sum")(Mine())[0].value == "reduce on mine"
    assert type(EXP(RawTensor([0.0]))[0]) is RawTensor


def test_tensor_likes_are_immutable_and_the_wrapper_replaces_what_it_wraps() -> None:
    """Dataflow below, a mutable layer on top."""
    x = Tensor([1.0, 2.0])
    inner = x.__wrapped__
    x[0] = 5
    assert x.__wrapped__ is not inner
    assert np.asarray(inner).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError) as caught:
        inner[0] = 5  # type: ignore[index]
    assert str(caught.value).endswith(
        "tensor-likes are values and do not change; wrap it in a Tensor to assign"
    )


def test_D1_calling_applying_and_op_base_apply_are_the_same_call_and_give_a_tuple() -> None:
    x = RawTensor([0.0])
    for result in (EXP(x), apply(EXP, x), ops.OpBase.apply(EXP, x)):
        assert isinstance(result, tuple)
        assert [np.asarray(y).tolist() for y in result] == [[1.0]]


def test_D2_a_signature_comes_from_annotations(register: Register) -> None:
    class Other(TensorBase):
        pass

    @apply.register()
    def apply_either(op: ops.OpBase, *args: Mine | Other) -> Mine:
        return Mine(len(args))

    try:
        assert ADD(Mine(), Other())[0].value == 2
    finally:
        apply.unregister(apply_either)

    def apply_wrong(op: ops.OpBase, x: 3) -> None:  # type: ignore[valid-type]
        pass

    with pytest.raises(TypeError) as caught:
        apply.register(apply_wrong)
    if sys.version_info >= (3, 11):  # 3.10 refuses to evaluate it before we see it
        assert str(caught.value) == (
            "register: apply_wrong: the annotation of x must be a class or a union of classes; "
            "got 3"
        )

    def apply_no_op(op: int, x: Mine) -> None:
        pass

    with pytest.raises(TypeError, match="apply_no_op"):
        apply.register(apply_no_op)


def test_D3_the_most_specific_signature_wins_and_an_ambiguity_is_an_error(
    register: Register,
) -> None:
    @register
    def apply_general(op: ops.OpBase, x: Mine, y: Mine) -> Mine:
        return Mine("general")

    @register
    def apply_left(op: ops.OpBase, x: Special, y: Mine) -> Mine:
        return Mine("left")

    def apply_right(op: ops.OpBase, x: Mine, y: Special) -> Mine:
        return Mine("right")

    assert ADD(Mine(), Mine())[0].value == "general"
    assert ADD(Special(), Mine())[0].value == "left"
    with pytest.raises(AmbiguityError) as caught:
        apply.register(apply_right)
    for rule in (apply_left, apply_right):
        assert f"{rule.__name__}(op: OpBase" in str(caught.value)
        assert f"{__file__}:{rule.__code__.co_firstlineno}" in str(caught.value)


def test_D4_newest_rule_first_and_not_implemented_falls_through(register: Register) -> None:
    log: list[str] = []

    @register
    def apply_a(op: ops.OpBase, *xs: Mine) -> Mine:
        log.append("a")
        return Mine()

    @register
    def apply_b(op: ops.OpBase, *xs: Mine) -> Any:
        log.append("b")
        return NotImplemented

    EXP(Mine())
    assert log == ["b", "a"]


def test_D5_super_continues_and_is_refused_at_top_level(register: Register) -> None:
    @register
    def apply_old(op: ops.OpBase, *xs: Mine) -> Mine:
        return Mine("old")

    @register
    def apply_new(op: ops.OpBase, *xs: Mine) -> Any:
        (result,) = apply.super(op, *xs)
        return Mine(["new", result.value])

    assert EXP(Mine())[0].value == ["new", "old"]
    with pytest.raises(RuntimeError) as caught:
        apply.super(EXP, Mine())
    assert str(caught.value) == "super called at top level; call it inside a rule."


def test_D6_disable_and_enable_take_effect_at_once(register: Register) -> None:
    @register
    def apply_old(op: ops.OpBase, *xs: Mine) -> Mine:
        return Mine("old")

    @register
    def apply_new(op: ops.OpBase, *xs: Mine) -> Mine:
        return Mine("new")

    assert EXP(Mine())[0].value == "new"
    apply.disable(apply_new)
    assert EXP(Mine())[0].value == "old"
    apply.enable(apply_new)
    assert EXP(Mine())[0].value == "new"
    with pytest.raises(ValueError) as caught:
        apply.disable(len)
    assert str(caught.value) == f"disable: {len!r} is not a registered rule"


def test_D7_a_miss_names_the_op_the_kinds_and_the_closest_rules(register: Register) -> None:
    @register
    def apply_close(op: ops.Elemwise, x: Mine, y: Mine) -> Mine:
        return Mine()

    with pytest.raises(NotImplementedError) as caught:
        EXP(Mine())
    assert isinstance(caught.value, DispatchError)
    first, *candidates = str(caught.value).splitlines()
    assert first == ("apply: no rule says what Elemwise means on (Mine); closest candidates:")
    assert len(candidates) == 3
    line = apply_close.__code__.co_firstlineno
    assert candidates[0] == f"  apply_close(op: Elemwise, Mine, Mine) ... @ {__file__}:{line}"


def test_D8_virtual_subclasses_take_part(register: Register) -> None:
    class Stranger:
        """No subclass of OpBase."""

    with pytest.raises(DispatchError) as caught:
        apply(Stranger(), Mine())  # type: ignore[arg-type]
    assert str(caught.value) == "apply: op must be an instance of an OpBase; got Stranger."
    ops.OpBase.register(Stranger)

    @register
    def apply_any(op: ops.OpBase, *xs: Mine) -> Mine:
        return Mine(type(op).__name__)

    assert apply(Stranger(), Mine())[0].value == "Stranger"  # type: ignore[arg-type]

    @register
    def apply_stranger(op: Stranger, *xs: Mine) -> Mine:
        return Mine("its own rule")

    assert apply(Stranger(), Mine())[0].value == "its own rule"  # type: ignore[arg-type]


def test_D9_registering_invalidates_and_deep_recursion_is_an_exception(register: Register) -> None:
    @register
    def apply_first(op: ops.OpBase, *xs: Mine) -> Mine:
        return Mine("first")

    assert [EXP(Mine())[0].value for _ in range(2)] == ["first", "first"]

    @register
    def apply_endless(op: ops.OpBase, *xs: Mine) -> Any:
        return op(*xs)

    with pytest.raises((DispatchError, RecursionError)):
        EXP(Mine())
    apply.disable(apply_endless)
    assert EXP(Mine())[0].value == "first"


def test_D10_documentation_source_and_pickling(register: Register) -> None:
    @register
    def apply_documented(op: ops.OpBase, *xs: Mine) -> Mine:
        """What a reader wants to know."""
        return Mine()

    assert "multiple dispatch" in (tl.imperative.dispatch.__doc__ or "")
    assert apply.__doc__ is not None
    assert apply.help(EXP, Mine()) == "What a reader wants to know."
    assert "def apply_documented" in apply.source(EXP, Mine())
    assert "apply_documented" in apply.explain(EXP, Mine())
    assert pickle.loads(pickle.dumps(apply)) is apply


def test_D12_none_in_a_slot_dispatches(register: Register) -> None:
    @register
    def apply_optional(op: ops.OpBase, *xs: Mine | None) -> Mine:
        return Mine([x is None for x in xs])

    assert ADD(None, Mine())[0].value == [True, False]
    assert ADD(None, None)[0].value == [True, True]


def test_C1_const_makes_the_kind_of_its_argument(register: Register) -> None:
    for like in (
        RawTensor([1.0]),
        Tensor([1.0]),
        ShapeTensor((2,)),
        Tracer(RawTensor([1.0])),
        Listing().input("x", (2,)),
        tl.Parameter([1.0]),
    ):
        results = ops.Const(2)(like)
        assert isinstance(results, tuple)
        assert len(results) == 1
        expected = Tensor if isinstance(like, Tensor) else type(like)
        assert type(results[0]) is expected

    @register
    def apply_const(op: ops.Const, *xs: Mine) -> Mine:
        return Mine(op.value)

    assert ops.Const(2.5)(Mine())[0].value == 2.5


def test_C2_const_needs_a_tensor_like_to_know_what_to_make() -> None:
    for given in ((), (3,)):
        with pytest.raises(DispatchError) as caught:
            ops.Const(2)(*given)
        assert "Const: at least one tensor-like must be given" in str(caught.value)


def test_C3_nothing_else_of_the_input_matters_and_no_gradient_flows() -> None:
    x = tl.tensor([[np.nan, 1.0]], requires_grad=True)
    (constant,) = ops.Const(2.0)(x)
    assert constant.shape == ()
    assert constant.item() == 2.0
    assert not constant.requires_grad
    (x * constant).sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0]]
    slope = tl.grad(lambda v: F.sum(v * v) * ops.Const(3.0)(v)[0])(Tensor([2.0]))
    assert slope.tolist() == [12.0]


def test_C4_literals_in_mixed_calls_become_constants_beside_the_tensor() -> None:
    x = Tensor([1.0, 2.0])
    for result, expected in (
        (F.add(x, 2), [3.0, 4.0]),
        (x * 2, [2.0, 4.0]),
        (1 / x, [1.0, 0.5]),
        (F.add(x, [1, 2]), [2.0, 4.0]),
        (np.array([1.0, 2.0], np.float32) + x, [2.0, 4.0]),
        (F.add(True, x), [2.0, 3.0]),
    ):
        assert type(result) is Tensor
        assert result.tolist() == expected
        assert result.dtype is tl.float32
    assert (x + np.array([1.0, 1.0])).dtype is tl.float64


def test_C5_a_constant_is_listed_as_a_literal_and_not_as_an_input() -> None:
    listing = Listing()
    _ = listing.input("x", (2,)) * 3
    assert str(listing).splitlines() == [
        "x: float32(2,)",
        "_1 = Const(value=3, dtype=None, device=None)(x)  # float32()",
        "_2 = Elemwise(mode='multiply')(x, _1)  # float32(2,)",
    ]
