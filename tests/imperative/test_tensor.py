"""Tensor: operators, promotion, conversions, printing, and what Python refuses."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import RawTensor, Tensor
from tensorlike import functional as F

DTYPES = ["bool", "int32", "int64", "float32", "float64"]

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
INTEGER = [operator.floordiv, operator.mod]
BITS = [operator.and_, operator.or_, operator.xor]
SHIFTS = [operator.lshift, operator.rshift]
COMPARISONS = [
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
]
IN_PLACE = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.ipow: operator.pow,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.ixor: operator.xor,
    operator.ilshift: operator.lshift,
    operator.irshift: operator.rshift,
    operator.imatmul: operator.matmul,
}


def numbers(dtype: str, shape: tuple[int, ...] = (3, 4), low: int = 1) -> np.ndarray[Any, Any]:
    """Small numbers, none of them zero unless `low` says so."""
    return np.random.default_rng(7).integers(low, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("function", ARITHMETIC + INTEGER + COMPARISONS)
def test_an_operator_agrees_with_numpy(function: Callable[..., Any], dtype: str) -> None:
    a, b = numbers(dtype), numbers(dtype)[::-1, ::-1]
    result = function(Tensor(a), Tensor(b))
    assert type(result) is Tensor
    np.testing.assert_allclose(result.numpy(), function(a, b), rtol=1e-6)


@pytest.mark.parametrize("function", ARITHMETIC + INTEGER + COMPARISONS)
def test_a_number_on_either_side_is_an_operand(function: Callable[..., Any]) -> None:
    array = numbers("float32")
    x = Tensor(array)
    np.testing.assert_allclose(function(x, 3).numpy(), function(array, 3), rtol=1e-6)
    np.testing.assert_allclose(function(3, x).numpy(), function(3, array), rtol=1e-6)
    np.testing.assert_allclose(function(x, 2.5).numpy(), function(array, 2.5), rtol=1e-6)
    np.testing.assert_allclose(function(2.5, x).numpy(), function(2.5, array), rtol=1e-6)


@pytest.mark.parametrize("function", BITS)
def test_bitwise_operators_work_on_booleans_and_integers(function: Callable[..., Any]) -> None:
    for dtype in ("bool", "int32", "int64"):
        a, b = numbers(dtype, low=0), numbers(dtype, low=0)[::-1]
        result = function(Tensor(a), Tensor(b))
        assert result.dtype.name == dtype
        assert np.array_equal(result.numpy(), function(a, b))


@pytest.mark.parametrize("function", SHIFTS)
def test_shifts_work_on_integers(function: Callable[..., Any]) -> None:
    a = numbers("int64")
    assert np.array_equal(function(Tensor(a), 2).numpy(), function(a, 2))
    assert np.array_equal(function(2, Tensor(a)).numpy(), function(2, a))


def test_bitwise_operators_refuse_floats() -> None:
    with pytest.raises(tl.DTypeError) as caught:
        Tensor([1.0]) & Tensor([2.0])
    assert "bitwise_and" in str(caught.value)
    assert "float32" in str(caught.value)


@pytest.mark.parametrize("function", IN_PLACE)
def test_an_in_place_operator_keeps_the_object(function: Callable[..., Any]) -> None:
    bits = function in (operator.iand, operator.ior, operator.ixor)
    shifts = function in (operator.ilshift, operator.irshift)
    array = numbers("int64" if bits or shifts else "float32", (3, 3))
    x = Tensor(array)
    other = Tensor(numbers("int64" if bits or shifts else "float32", (3, 3))[::-1] % 4 + 1)
    same = function(x, other)
    assert same is x
    np.testing.assert_allclose(x.numpy(), IN_PLACE[function](array, other.numpy()), rtol=1e-5)


def test_unary_operators_agree_with_python() -> None:
    x = Tensor([-1.5, 0.5, 2.5])
    assert (-x).tolist() == [1.5, -0.5, -2.5]
    assert (+x).tolist() == [-1.5, 0.5, 2.5]
    assert abs(x).tolist() == [1.5, 0.5, 2.5]
    assert round(x).tolist() == [-2.0, 0.0, 2.0]
    assert math.floor(x).tolist() == [-2.0, 0.0, 2.0]
    assert math.ceil(x).tolist() == [-1.0, 1.0, 3.0]
    assert math.trunc(x).tolist() == [-1.0, 0.0, 2.0]
    assert (~Tensor([True, False])).tolist() == [False, True]
    assert (~Tensor([0, 5])).tolist() == [-1, -6]


def test_matmul_works_by_operator_from_either_side() -> None:
    a, b = numbers("float32", (2, 3)), numbers("float32", (3, 4))
    assert np.array_equal((Tensor(a) @ Tensor(b)).numpy(), a @ b)
    assert np.array_equal((Tensor(a) @ b).numpy(), a @ b)
    assert np.array_equal((a @ Tensor(b)).numpy(), a @ b)


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_tensors_promote_among_themselves(left: str, right: str) -> None:
    order = {name: i for i, name in enumerate(DTYPES)}
    expected = max(left, right, key=order.__getitem__)
    result = F.where(Tensor([True]), Tensor([1], dtype=left), Tensor([0], dtype=right))
    assert result.dtype.name == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars_raise_the_category_and_never_the_width(dtype: str) -> None:
    x = Tensor([1], dtype=dtype)
    is_float, is_bool = dtype.startswith("float"), dtype == "bool"
    assert F.where(Tensor([True]), x, True).dtype.name == dtype
    assert F.where(Tensor([True]), x, 1).dtype.name == ("int64" if is_bool else dtype)
    assert F.where(Tensor([True]), x, 1.0).dtype.name == (dtype if is_float else "float32")
    assert (1 + x).dtype.name == ("int64" if is_bool else dtype)
    assert (1.0 + x).dtype.name == (dtype if is_float else "float32")


def test_division_and_means_of_integers_are_float32() -> None:
    x = Tensor([1, 2])
    assert (x / 2).dtype is tl.float32
    assert (x / x).tolist() == [1.0, 1.0]
    assert x.mean().item() == 1.5
    assert x.mean().dtype is tl.float32
    assert Tensor([True, True]).sum().dtype is tl.int64
    assert Tensor([True, True]).sum().item() == 2


def test_python_literals_have_the_default_dtypes_and_arrays_keep_theirs() -> None:
    assert [Tensor(value).dtype.name for value in (True, 1, 1.0)] == ["bool", "int64", "float32"]
    assert Tensor([[1.0], [2.0]]).dtype is tl.float32
    assert Tensor([1, 2]).dtype is tl.int64
    assert Tensor([True, 1]).dtype is tl.int64
    for name in DTYPES:
        assert Tensor(np.ones(2, name)).dtype.name == name
    assert Tensor([np.float64(1.0)]).dtype is tl.float64
    assert Tensor([1.0], dtype="float64").dtype is tl.float64
    assert Tensor([1.0], dtype=tl.float64).dtype is tl.float64


def test_one_element_converts_to_each_python_number() -> None:
    assert float(Tensor([[2.5]])) == 2.5
    assert int(Tensor(2.5)) == 2
    assert complex(Tensor(2.5)) == 2.5 + 0j
    assert bool(Tensor([0.0])) is False
    assert [10, 20, 30][Tensor(1)] == 20
    assert Tensor(3).item() == 3
    assert type(Tensor(True).item()) is bool
    assert range(5)[Tensor([2])] == 2


@pytest.mark.parametrize("convert", [bool, float, int, complex, Tensor.item])
@pytest.mark.parametrize("shape", [(2,), (0,), (2, 0)])
def test_no_other_number_of_elements_converts(
    convert: Callable[[Tensor], Any], shape: tuple[int, ...]
) -> None:
    with pytest.raises(tl.ShapeError) as caught:
        convert(Tensor(np.zeros(shape, np.float32)))
    text = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    assert str(caught.value) == f"item: the tensor must have one element; got shape ({text})."


def test_a_float_is_no_index() -> None:
    with pytest.raises(TypeError) as caught:
        operator.index(Tensor(1.0))
    assert str(caught.value) == "only an integer tensor can be an index"


def test_length_and_iteration_are_over_the_first_dimension() -> None:
    x = Tensor([[1, 2], [3, 4], [5, 6]])
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    assert [row.tolist() for row in reversed(x)] == [[5, 6], [3, 4], [1, 2]]
    assert list(Tensor([])) == []
    with pytest.raises(TypeError) as caught:
        len(Tensor(1.0))
    assert str(caught.value) == "len() of a zero-dimensional tensor"
    with pytest.raises(TypeError) as caught:
        iter(Tensor(1.0))
    assert str(caught.value) == "iteration over a zero-dimensional tensor"


def test_equality_is_elementwise_and_the_hash_is_by_identity() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([1.0, 3.0])
    assert (x == y).tolist() == [True, False]
    assert (x != y).tolist() == [False, True]
    assert len({x, y, x}) == 2
    assert x in {x: 1}
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "text") is False


def test_what_is_no_operand_is_refused_by_python() -> None:
    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and 'str'"
    ):
        _ = Tensor([1.0]) + "text"
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = None - Tensor([1.0])
    with pytest.raises(TypeError, match="not supported between instances"):
        _ = Tensor([1.0]) < "text"


def test_elements_cannot_be_deleted() -> None:
    x = Tensor([1.0])
    with pytest.raises(TypeError) as caught:
        del x[0]
    assert str(caught.value) == "elements of a tensor cannot be deleted"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Tensor([[1.0, 2.5], [3.0, 4.0]]), "tensor([[1. , 2.5],\n        [3. , 4. ]])"),
        (lambda: Tensor([1, 2]), "tensor([1, 2])"),
        (lambda: Tensor(True), "tensor(True)"),
        (lambda: Tensor(2.0), "tensor(2.)"),
        (lambda: Tensor([1, 2], dtype="int32"), "tensor([1, 2], dtype=int32)"),
        (lambda: Tensor([0.5], dtype="float64"), "tensor([0.5], dtype=float64)"),
        (lambda: Tensor([]), "tensor([], shape=(0,))"),
        (lambda: Tensor(np.zeros((2, 0), np.float32)), "tensor([], shape=(2, 0))"),
        (lambda: tl.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
        (
            lambda: tl.tensor([1.0], requires_grad=True) * 2,
            "tensor([2.], grad_op=Elemwise(mode='multiply'))",
        ),
        (lambda: RawTensor([1.0]), "RawTensor([1.], device='cpu')"),
        (lambda: tl.Tracer(RawTensor([1.0])), "Tracer([1.])"),
        (lambda: tl.ShapeTensor((2, 3)), "ShapeTensor((2, 3), float32)"),
        (lambda: Tensor(tl.ShapeTensor((2, 3))), "tensor(ShapeTensor((2, 3), float32))"),
    ],
)
def test_the_repr_shows_elements_and_what_is_special(make: Callable[[], Any], text: str) -> None:
    assert repr(make()) == text
    assert str(make()) == text


def test_a_long_repr_is_summarised() -> None:
    assert repr(Tensor(np.zeros(2000, np.float32))) == (
        "tensor([0., 0., 0., ..., 0., 0., 0.], shape=(2000,))"
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "got NoneType"),
        ("abc", "got str"),
        ([1, "a"], "got list"),
        ([None], "got list"),
        (object(), "got object"),
        ([[1], [1, 2]], "got list"),
    ],
)
def test_data_that_are_no_numbers_are_refused(data: Any, text: str) -> None:
    with pytest.raises((tl.DTypeError, tl.ShapeError)) as caught:
        Tensor(data)
    assert str(caught.value) == (
        f"tensor: data must be numbers in a rectangular arrangement; {text}"
    )


@pytest.mark.parametrize(
    "value", [np.ones(2, np.longdouble), np.ones(2, ">f4"), np.ones(2, "f4,f4")]
)
def test_dtypes_that_we_lack_are_refused_by_name(value: Any) -> None:
    with pytest.raises(tl.DTypeError, match="data must be"):
        Tensor(value)


def test_the_constructor_takes_requires_grad_and_no_unknown_name() -> None:
    x = tl.Tensor(np.ones(3, np.float32), requires_grad=True)
    assert x.requires_grad
    assert not tl.Tensor(np.ones(3, np.float32), requires_grad=False).requires_grad
    with pytest.raises(TypeError, match=r"takes data, dtype and requires_grad; got 'grad'"):
        tl.Tensor([1.0], grad=True)


def test_in_asks_whether_an_element_is_equal() -> None:
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert 3.0 in x
    assert 5.0 not in x
    assert np.float32(4) in x
    assert tl.tensor(2) in x
    assert "a" not in x
    assert None not in x
    assert 1.0 not in tl.zeros((0, 3))
