"""Declared ops, and wrapping an op by hand: the how-to of the seed, and rows O."""

from __future__ import annotations

import copy
import pickle
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import ParameterError, RawTensor, ShapeTensor, Tensor, Tracer, ops
from tensorlike import functional as F
from tensorlike.ops import builtin

ROOT = Path(__file__).resolve().parent.parent.parent
SCALAR = """
- scalar: seed3_{name}
  args: ["x: real floating-point"]
  expr: {expr}
  doc: A test.
"""


@pytest.fixture
def clean() -> Iterator[None]:
    """Takes away the ops that a test registered in ops.builtin."""
    before = list(builtin.__all__)
    yield
    for name in builtin.__all__[len(before) :]:
        delattr(builtin, name)
    builtin.__all__[:] = before


def make_whatever() -> type[ops.OpDef]:
    """The op of the seed's how-to: an affine map with two parameters."""

    class WhateverDef(ops.OpDef):
        name = "Whatever"
        param_names = ("param", "other")

        class Param:
            def __init__(self, value: float) -> None:
                self.value = value

            def serialize(self) -> bytes:
                c_struct_memory = struct.pack("<d", self.value)
                return b"\x00" * 4 + c_struct_memory

        def __init__(self, factor: float, offset: float = 0.0) -> None:
            self.param = self.Param(factor)
            self.other = self.Param(offset)

        def define(self, x: Any) -> Any:
            return x * self.param.value + self.other.value

    return WhateverDef


def test_most_ops_are_generated_and_found_in_builtin() -> None:
    """What the declarations declare is there without writing anything."""
    for name in ("Elemwise", "Reduce", "MatMul", "Softmax", "Concat", "Const"):
        assert name in builtin.__all__
        assert getattr(builtin, name) is getattr(ops, name)


def test_an_op_wrapped_by_hand_shows_up_in_builtin_without_def(clean: None) -> None:
    """Subclassing OpDef with a name and the names of the parameters is enough."""
    cls = make_whatever()
    assert builtin.Whatever is cls  # type: ignore[attr-defined]
    assert "Whatever" in builtin.__all__


def test_the_class_must_end_with_def(clean: None) -> None:
    """The ending says that the class defines an op."""
    with pytest.raises(TypeError) as caught:

        class Whatever(ops.OpDef):
            name = "Whatever"
            param_names = ()

    assert str(caught.value) == "Whatever: the class of a wrapped op must end with 'Def'"
    assert not hasattr(builtin, "Whatever")


def test_the_name_and_the_names_of_the_parameters_are_needed(clean: None) -> None:
    """The registered name, and where the parameters are."""
    with pytest.raises(TypeError) as caught:

        class NamelessDef(ops.OpDef):
            param_names = ()

    assert str(caught.value) == "NamelessDef: `name` is missing"


def test_parameters_serialise_to_four_leading_bytes_and_the_memory_of_a_struct(
    clean: None,
) -> None:
    """Each gives a tag of four bytes and then its own; the op joins the latter, in order."""
    op = make_whatever()(2.0, 1.0)
    assert op.param.serialize() == bytes(4) + struct.pack("<d", 2.0)
    assert op.serialize() == struct.pack("<dd", 2.0, 1.0)
    assert op == type(op)(2.0, 1.0)
    assert hash(op) == hash(type(op)(2.0, 1.0))
    assert op != type(op)(2.0, 3.0)


def test_parameters_are_assigned_to_the_attributes_that_are_named(clean: None) -> None:
    """The constructor stores each of them under its name."""
    cls = make_whatever()
    op = cls(2.0)
    assert [getattr(op, name).value for name in cls.param_names] == [2.0, 0.0]


def test_an_op_has_to_be_constructed_before_it_is_applied() -> None:
    """A class of ops is no op."""
    with pytest.raises(tl.DispatchError) as caught:
        tl.apply(ops.Elemwise, RawTensor([1.0]))  # type: ignore[arg-type]
    assert str(caught.value) == "apply: op must be an instance of an OpBase; got type."


def test_a_wrapped_op_is_applied_by_calling_it_on_any_tensor_like(clean: None) -> None:
    """Inputs are of any kind, and the result is always a tuple."""
    op = make_whatever()(2.0, 1.0)
    (result,) = op(Tensor([1.0, 2.0]))
    assert result.tolist() == [3.0, 5.0]
    assert op(ShapeTensor((2, 3)))[0].shape == (2, 3)
    assert type(op(RawTensor([1.0]))[0]) is RawTensor
    assert type(op(Tracer(RawTensor([1.0])))[0]) is Tracer
    assert tl.grad(lambda x: op(x)[0].sum())(Tensor([1.0, 2.0])).tolist() == [2.0, 2.0]


def test_a_convenience_function_constructs_the_op_and_unpacks_the_tuple(clean: None) -> None:
    """As the calls of `functional` do."""
    whatever = make_whatever()

    def scale(x: Any, factor: float) -> Any:
        op = whatever(factor)
        outputs = op(x)
        (result,) = outputs
        return result

    assert scale(Tensor([1.0]), 3.0).tolist() == [3.0]


def test_O1_ops_are_constructed_with_their_parameters_by_name() -> None:
    op = ops.Reduce(mode="sum", axis=0)
    assert (op.mode, op.axis, op.keepdims) == ("sum", 0, False)
    (result,) = op(RawTensor([[1.0, 2.0], [3.0, 4.0]]))
    assert np.asarray(result).tolist() == [4.0, 6.0]
    with pytest.raises(ParameterError) as caught:
        ops.Elemwise(mode="add", foo=3, bar="x")
    assert str(caught.value) == "Elemwise: extra kwargs: {'foo': 3, 'bar': 'x'}."
    with pytest.raises(ParameterError) as caught:
        ops.Elemwise(mode="ad")
    assert str(caught.value) == (
        "Elemwise: mode must be a declared scalar function; got 'ad'; did you mean 'add'?."
    )
    with pytest.raises(ParameterError) as caught:
        ops.Elemwise("add")  # type: ignore[misc]
    assert str(caught.value) == ("Elemwise: parameters are given by name; got 1 positional ones.")
    with pytest.raises(ParameterError) as caught:
        ops.Reduce(mode="sum", axis="x")  # type: ignore[arg-type]
    assert str(caught.value) == "Reduce: axis must be of type axis; got str."


def test_O1_an_op_written_in_python_has_fields_with_defaults() -> None:
    class Scale(ops.OpBase):
        factor: float = 2.0

        def define(self, x: Any) -> Any:
            return x * self.factor

    assert Scale()(Tensor([1.0]))[0].tolist() == [2.0]
    assert Scale(factor=3.0)(Tensor([1.0]))[0].tolist() == [3.0]
    assert Scale(factor=3.0) == Scale(factor=3.0) != Scale()
    assert hash(Scale()) == hash(Scale(factor=2.0))
    assert repr(Scale(factor=3.0)).endswith("Scale(factor=3.0)")
    with pytest.raises(AttributeError):
        Scale().factor = 3.0  # type: ignore[misc]
    with pytest.raises(TypeError, match="foo"):
        Scale(foo=1)


def test_O2_ops_are_values() -> None:
    op = ops.Reduce(mode="SUM", axis=(0, 1))
    assert op == ops.Reduce(mode="sum", axis=[0, 1])
    assert hash(op) == hash(ops.Reduce(mode="Sum", axis=(0, 1)))
    assert op != ops.Reduce(mode="sum")
    assert op != ops.Elemwise(mode="add")
    assert repr(op) == "Reduce(mode='sum', axis=(0, 1), keepdims=False, dtype=None)"
    for change in (lambda: setattr(op, "mode", "max"), lambda: delattr(op, "mode")):
        with pytest.raises(AttributeError) as caught:
            change()
        assert str(caught.value) == "Reduce: ops are values and do not change; make another one"
    assert pickle.loads(pickle.dumps(op)) == op
    assert copy.deepcopy(op) == op
    assert ops.Const([1.0, 2.0]) == ops.Const([1.0, 2.0])


def test_O3_a_declaration_gives_class_signature_documentation_and_function() -> None:
    assert "Softmax" in builtin.__all__
    assert "softmax" in F.__all__
    assert ops.Softmax().axis == -1
    assert (ops.Softmax.__doc__ or "").startswith("Exponentials divided by their sum")
    assert "axis" in (F.softmax.__doc__ or "")
    generated = ROOT / "ops" / "generated" / "nn.py"
    header = generated.read_text(encoding="utf-8").splitlines()[:2]
    assert header == [
        "# Generated by opdecl/compiler/emit_ops.py from opdecl/nn.yaml.",
        "# Do not edit.",
    ]


def test_O4_declarations_say_variadic_inputs_documentation_and_several_outputs() -> None:
    joined = ops.Concat(axis=0)(RawTensor([1]), RawTensor([2, 3]), RawTensor([4]))[0]
    assert np.asarray(joined).tolist() == [1, 2, 3, 4]
    assert len(F.split(Tensor([1, 2, 3]), (1, 1, 1))) == 3
    declared = tl.declare(
        """
- op: Seed3Joined
  args: ["*xs: all"]
  attrs:
    axis: {type: int, default: 0, doc: the axis of both.}
    keepdims: {type: bool, default: false, doc: whether it stays.}
  define: sum(concat(xs, axis=axis), axis=axis, keepdims=keepdims)
  doc: The sum of everything along an axis.
"""
    )
    (function,) = declared.values()
    assert function(Tensor([1.0]), Tensor([2.0, 3.0])).item() == 6.0
    assert function([Tensor([1.0]), Tensor([2.0])], keepdims=True).tolist() == [3.0]


def test_O5_an_op_comes_back_from_its_bytes() -> None:
    for op in (
        ops.Elemwise(mode="exp"),
        ops.Reduce(mode="max", axis=(0, -1), keepdims=True),
        ops.Cast(dtype="int32"),
        ops.Split(sizes=(1, 2), axis=1),
        ops.Softmax(),
        ops.Const(2.5),
        ops.Const(True, dtype="float64"),
    ):
        again = ops.deserialize(ops.serialize(op))
        assert again == op
        assert type(again) is type(op)
        assert again.params() == op.params()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[1",
        b"{}",
        b'{"op": "Elemwise", "params": []}',
        b'{"op": "Elemwise", "params": {"mode": "no such"}}',
        b'{"op": "Elemwise", "params": {"mode": "exp", "more": 1}}',
        b'{"op": "Cast", "params": {"dtype": {"dtype": "apply"}}}',
        b'{"op": "OpBase", "params": {}}',
        b'{"op": "register", "params": {"name": "Evil", "cls": 3}}',
        b'{"op": "sys", "params": {}}',
        b'{"op": "__name__", "params": {}}',
        b"\xff\xfe",
    ],
)
def test_O5_bytes_that_are_no_op_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="deserialize"):
        ops.deserialize(data)
    assert not hasattr(builtin, "Evil")


def test_O6_a_file_of_a_user_gives_a_working_op(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SCALAR.format(name="swish", expr="x * sigmoid(x)"), encoding="utf-8")
    swish = tl.declare(path).seed3_swish
    array = np.linspace(-3.0, 3.0, 7)
    x = Tensor(array)
    sigmoid = 1 / (1 + np.exp(-array))
    np.testing.assert_allclose(swish(x).numpy(), array * sigmoid, rtol=1e-12)
    assert swish(Tensor(ShapeTensor((2, 3)))).shape == (2, 3)
    slope = tl.grad(lambda v: swish(v).sum())(x)
    np.testing.assert_allclose(slope.numpy(), sigmoid * (1 + array * (1 - sigmoid)), rtol=1e-10)
    second = tl.grad(lambda v: tl.grad(lambda w: swish(w))(v))(0.5).item()
    step = 1e-3
    centre = [
        float(
            tl.grad(swish)(
                0.5 + d,
            ).item()
        )
        for d in (-step, step)
    ]
    assert second == pytest.approx((centre[1] - centre[0]) / (2 * step), rel=1e-2)


def test_O6_the_same_declaration_made_at_run_time_gives_the_built_in_op() -> None:
    again = tl.declare(SCALAR.format(name="silu", expr="x * sigmoid(x)")).seed3_silu
    x = Tensor(np.random.default_rng(0).standard_normal((30, 40)))
    np.testing.assert_allclose(again(x).numpy(), F.silu(x).numpy(), rtol=1e-14)
    ours = tl.grad(lambda v: again(v).sum())(x).numpy()
    theirs = tl.grad(lambda v: F.silu(v).sum())(x).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_O7_a_duplicate_name_warns_and_replaces_nothing(clean: None) -> None:
    with pytest.warns(UserWarning) as caught:

        class ElemwiseDef(ops.OpDef):
            name = "Elemwise"
            param_names = ()

    assert str(caught[0].message) == "Multiple subclasses for builtin op Elemwise"
    assert builtin.Elemwise is ops.Elemwise
    tl.declare(SCALAR.format(name="twice", expr="x + 1"))
    with pytest.raises(ValueError, match="'seed3_twice' is declared already"):
        tl.declare(SCALAR.format(name="twice", expr="x + 2"))


def test_O8_op_def_registers_what_the_how_to_says(clean: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls = make_whatever()
    assert builtin.Whatever(2.0) == cls(2.0)  # type: ignore[attr-defined]
    assert repr(cls(2.0)).startswith("Whatever(param=")


def test_O9_config_is_visible_on_the_op_and_in_graphs() -> None:
    config = {"name": "first layer", "dtype": "float32", "device": "cpu"}
    op = ops.Elemwise(mode="add", config=config)
    assert op.config == {"name": "first layer", "dtype": tl.float32, "device": "cpu"}
    assert op == ops.Elemwise(mode="add")
    (result,) = op(Tracer(RawTensor([1.0])), RawTensor([2.0]))
    assert result.op.config["name"] == "first layer"
    listing = tl.Listing()
    op(listing.input("x", (1,)), listing.input("y", (1,)))
    assert listing.ops[0].config["name"] == "first layer"


def test_O10_an_op_with_its_function_is_at_most_ten_lines_of_text() -> None:
    text = """
- op: Seed3Centred
  args: ["x: real floating-point"]
  attrs: {axis: {type: int, default: -1, doc: the axis of the mean.}}
  define: x - mean(x, axis=axis, keepdims=True)
  doc: What is left without the mean.
"""
    assert len(text.strip().splitlines()) <= 10
    (centred,) = tl.declare(text).values()
    assert centred(Tensor([[1.0, 3.0]])).tolist() == [[-1.0, 1.0]]
    assert centred(Tensor([[1.0], [3.0]]), axis=0).tolist() == [[-1.0], [1.0]]
    slope = tl.grad(lambda x: (centred(x) * Tensor([1.0, 0.0])).sum())(Tensor([1.0, 3.0]))
    assert slope.tolist() == [0.5, -0.5]
