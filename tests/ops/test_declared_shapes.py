"""Inference, choices and gradient rules as declarations say them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.declarations import OPS, name_of

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.opdecl.compiler.model import DefinedOp, OpEntry

TEXT = """
- op: ShapePicked
  args: [x: floating-point, y: floating-point, "z?: integer"]
  attrs:
    k: {type: int, default: 1, doc: how many.}
    axis: {type: one_axis, default: -1, doc: the axis.}
    how: {type: choice, of: [first, last], default: first, doc: which.}
    counts: {type: bool, default: false, doc: count too.}
  outputs: -1
  shapes:
    - x(n, 3), y(*S) -> (n + k, *S), counts and int64(n // 2) when how == 'last'
    - x(..., n), y(..., n), z <= (..., n) -> resized(x, axis, k), counts and bool(...)
  requires: k <= 4 and k >= ndim(x) - 3
  kernel: {cpu: "shape_kernels:zeros"}
  grad: none
  doc: Zeros of shapes that depend on much.
- op: ShapeNumbers
  args: [x: floating-point, y: floating-point]
  attrs: {counts: {type: bool, default: false}}
  outputs: -1
  shapes:
    - x(n), y(n) -> y, counts and int64(n, unknown)
    - x(), y() -> x, counts and complex()
  kernel: {cpu: "shape_kernels:numbers"}
  grad: none
  doc: Numbers, or vectors.
- op: ShapeSummed
  args: [x: real floating-point]
  attrs: {axis: {type: axis, default: null}, keepdims: {type: bool, default: false}}
  shapes: x -> reduced_some(x, axis, keepdims)
  kernel: {cpu: "shape_kernels:summed"}
  grad: {x: "broadcast_to(dy, shape=shape(x))"}
  doc: A sum.
- op: ShapeHeld
  args: [x: floating-point]
  attrs: {front: {type: shape, doc: sizes.}, back: {type: shape, default: [], doc: sizes.}}
  shapes: x(*S, n) -> int64(*front, n + 1, *back)
  kernel: {cpu: "shape_kernels:held"}
  grad: none
  doc: Zeros of sizes that are held.
- op: ShapeSwapped
  args: [x: floating-point]
  define: transposed(x) + zeros(transposed(x))
  doc: The transpose.
- op: RuleByChoice
  args: [x: real floating-point]
  attrs: {slope: {type: choice, of: [plain, by_input], default: plain}}
  define: x * 1
  grad:
    match: slope
    plain: {x: dy * (size(x) / shape_of_one - 1)}
    by_input: {x: dy * x}
  doc: Itself, with a slope of choice.
""".replace("shape_of_one", "1")
KERNELS = """
import numpy as np

def zeros(x, y, *z, k, axis, how, counts):
    if how == "last" and x.ndim == 2 and x.shape[1] == 3:
        out = (np.zeros((x.shape[0] + k, *y.shape), np.result_type(x, y)),)
        return (*out, np.zeros(x.shape[0] // 2, np.int64)) if counts else out
    shape = list(x.shape)
    shape[axis] = k
    both = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    out = (np.zeros(shape, np.result_type(x, y)),)
    return (*out, np.zeros(both, bool)) if counts else out

def numbers(x, y, *, counts):
    if x.ndim == 1:
        return (y, np.zeros((x.size, 7), np.int64)) if counts else (y,)
    return (x, np.zeros((), np.result_type(x, np.complex64))) if counts else (x,)

def summed(x, *, axis, keepdims):
    return x.sum(axis, keepdims=keepdims, dtype=x.dtype)

def held(x, *, front, back):
    return np.zeros((*front, x.shape[-1] + 1, *back), np.int64)
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "shape_kernels.py").write_text(KERNELS, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield tl.declare(TEXT, imports=True)
    finally:
        sys.path.remove(str(folder))


def ones(*shape: int, dtype: str = "float32") -> Any:
    return tl.tensor(np.ones(shape, dtype))


def specs(found: Any) -> list[tuple[tuple[int, ...], str]]:
    found = found if isinstance(found, tuple) else (found,)
    return [(y.shape, y.dtype.name) for y in found]


def test_cases_are_chosen_by_rank_and_attributes(ops: Any) -> None:
    pick = ops.shape_picked
    assert specs(pick(ones(2, 5), ones(4, 1, 5))) == [((2, 1), "float32")]
    assert specs(pick(ones(2, 5), ones(2, 5), counts=True, axis=0, k=3)) == [
        ((3, 5), "float32"),
        ((2,), "bool"),
    ]
    assert specs(pick(ones(4, 3), ones(7, 1), how="last", counts=True)) == [
        ((5, 7, 1), "float32"),
        ((2,), "int64"),
    ]
    numbers = ops.shape_numbers
    assert specs(numbers(ones(), ones(), counts=True)) == [((), "float32"), ((), "complex64")]
    assert specs(numbers(ones(4), ones(4), counts=True))[1] == ((4, 7), "int64")
    wide = pick(ones(2, 5, dtype="float64"), ones(2, 5))
    assert specs(wide) == [((2, 1), "float64")]


def test_shapes_hold_on_tensors_without_elements(ops: Any) -> None:
    x = tl.ShapeTensor((6, 3), "float32")
    found = ops.shape_picked(x, tl.ShapeTensor((7,), "float64"), how="last", k=2)
    assert specs(found) == [((8, 7), "float64")]


WRONG = {
    "a size": (((2, 5), (2, 6)), {}, r"x.shape\[-1\] must equal y.shape\[-1\]; got x.shape="),
    "a rank": (((), (5,)), {}, r"x must have the shape \(\.\.\., n\)|must be x \(\.\.\., n\), y"),
    "a literal": (((2, 4), (2, 6)), {"how": "last"}, r"x.shape\[1\] must be 3"),
    "a batch": (((2, 5), (3, 5)), {}, "shapes must broadcast"),
    "an axis": (((2, 5), (2, 5)), {"axis": 2}, r"axis must be in \[-2, 1\]"),
    "a condition": (((2, 5), (2, 5)), {"k": 5}, r"k <= 4 and .* must hold; got k=5"),
    "a rank's condition": (((1,) * 5, (1,)), {}, r"must hold; got k=1, ndim\(x\)=5"),
    "a word": (((2, 5), (2, 5)), {"how": "frist"},
               "how must be 'first' or 'last'; got 'frist'; did you mean 'first'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_said_in_one_line(ops: Any, case: str) -> None:
    shapes, attrs, words = WRONG[case]
    with pytest.raises(tl.TensorlikeError, match=words) as caught:
        ops.shape_picked(*(ones(*shape) for shape in shapes), **attrs)
    assert "\n" not in str(caught.value)


def test_an_optional_argument_must_broadcast_to_what_is_declared(ops: Any) -> None:
    x = ones(2, 5)
    assert len(specs(ops.shape_picked(x, x, ones(5, dtype="int64")))) == 1
    with pytest.raises(
        tl.ShapeError, match=r"z must broadcast to \(2, 5\); got z.shape=\(3, 2, 5\)"
    ):
        ops.shape_picked(x, x, ones(3, 2, 5, dtype="int64"))
    with pytest.raises(tl.DTypeError, match="z must be integer"):
        ops.shape_picked(x, x, x)


def test_sizes_may_be_those_that_an_attribute_holds(ops: Any) -> None:
    x = ones(2, 3)
    assert specs(ops.shape_held(x, front=(5, 0))) == [((5, 0, 4), "int64")]
    assert specs(ops.shape_held(x, front=(), back=(2, 6))) == [((4, 2, 6), "int64")]
    for held in [(-1,), (2**40, 2**40)]:
        with pytest.raises(tl.ShapeError):
            ops.shape_held(x, front=held)
    with pytest.raises(tl.ShapeError, match=r"shapes must broadcast; got \(3,\) and \(2, 4\)"):
        F.broadcast_to(ones(3), shape=(2, 4))
    with pytest.raises(tl.ShapeError, match="x must broadcast"):
        F.broadcast_to(ones(2, 3), shape=(3,))


def test_reduced_axes_are_left_out_or_kept_and_must_not_be_empty(ops: Any) -> None:
    x = ones(2, 3, 4)
    assert ops.shape_summed(x).shape == ()
    assert ops.shape_summed(x, axis=(0, -1)).shape == (3,)
    assert ops.shape_summed(x, axis=1, keepdims=True).shape == (2, 1, 4)
    with pytest.raises(tl.ShapeError, match="an empty axis has no"):
        ops.shape_summed(ones(2, 0), axis=1)
    with pytest.raises(tl.ShapeError, match="an axis may be named once"):
        ops.shape_summed(x, axis=(0, 0))


def test_words_of_matrices_stand_for_calls(ops: Any) -> None:
    z = np.arange(6.0).reshape(1, 2, 3) + 1j
    np.testing.assert_array_equal(ops.shape_swapped(tl.tensor(z)), z.swapaxes(-1, -2))


def test_rules_by_choice_and_arithmetic_on_numbers(ops: Any) -> None:
    x = tl.tensor([2.0, 3.0, 5.0])
    plain = tl.grad(lambda x: F.sum(ops.rule_by_choice(x)))(x)
    assert plain.tolist() == [2.0, 2.0, 2.0]
    chosen = tl.grad(lambda x: F.sum(ops.rule_by_choice(x, slope="by_input")))(x)
    assert chosen.tolist() == [2.0, 3.0, 5.0]


DEFINED = [e for e in OPS if isinstance(e, DefinedOp) and e.kernel]


@pytest.mark.parametrize("entry", DEFINED, ids=name_of)
def test_an_op_with_a_body_has_no_inference_in_the_core(entry: OpEntry) -> None:
    """But for gradients of norms, which insist on how weights repeat, and for windows."""
    is_window = entry.name.endswith("QuantizedConvolution") or entry.name in (
        "ConvInteger", "RequantizedConvolution"
    )  # fmt: skip
    assert entry.shapes.cases or is_window or entry.name in ("LayerNormGrad", "RMSNormGrad")


@pytest.mark.parametrize("rows", [1, 3])
def test_many_gathers_of_one_table_add_to_one_total(rows: int) -> None:
    table = np.arange(12.0).reshape(4, 3)
    picks = [np.array([0, 2, 2]), np.array([1, 2, 3]), np.array([2, 0, 0])][:rows]
    wanted = np.zeros_like(table)
    for i, pick in enumerate(picks):
        np.add.at(wanted, pick, i + 1.0)

    def f(x: Any) -> Any:
        return sum(F.sum(x[tl.tensor(pick)] * (i + 1.0)) for i, pick in enumerate(picks))

    np.testing.assert_array_equal(tl.grad(f)(tl.tensor(table)), wanted)
