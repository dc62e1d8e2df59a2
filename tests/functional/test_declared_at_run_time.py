"""Reductions declared at run time: the same values, gradients and errors as the built-in ones."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.opdecl import DeclarationError

DECLARED = tl.declare("""
- reduction: norm2
  args: ["x: real floating-point"]
  map: x * x
  combine: a + b
  init: 0
  finish: sqrt(acc)
  doc: The length of a vector.
- reduction: mean_square
  args: ["x: floating-point"]
  map: x * x
  combine: a + b
  init: 0
  finish: acc / n
  doc: The mean of the squares.
- reduction: largest_size
  args: ["x: real numeric"]
  map: abs(x)
  combine: maximum(a, b)
  init: lowest
  identity: false
  doc: The largest absolute value.
- reduction: log_add
  args: ["x: real floating-point"]
  map: x
  combine: logaddexp(a, b)
  init: lowest
  grad: {x: dy * exp(x - y)}
  doc: The logarithm of the sum of the exponentials.
- reduction: how_many_above_one
  args: ["x: real numeric"]
  map: x > 1
  combine: a + b
  init: 0
  result: int64
  doc: How many elements are above one.
- reduction: none_negative
  args: ["x: real numeric"]
  map: x >= 0
  combine: a & b
  init: true
  result: bool
  doc: Whether no element is negative.
- reduction: oddly
  args: ["x: integer"]
  map: x
  combine: a ^ b
  init: 0
  doc: The exclusive or of all.
- reduction: total
  args: ["x: all"]
  map: x
  combine: a + b
  init: 0
  result: sum
  doc: The sum.
- reduction: untaught
  args: ["x: real floating-point"]
  map: exp(x)
  combine: a * b
  init: 1
  grad: none
  doc: A product without a gradient.
""")

MEANINGS: dict[str, Any] = {
    "norm2": lambda x, **k: np.sqrt(np.sum(np.square(x, dtype=np.float64), **k)),
    "mean_square": lambda x, **k: np.mean(np.square(x, dtype=np.float64), **k),
    "largest_size": lambda x, **k: np.max(np.abs(x), **k),
    "log_add": lambda x, **k: np.logaddexp.reduce(np.asarray(x, np.float64), **{"axis": None, **k}),
    "how_many_above_one": lambda x, **k: np.sum(x > 1, **k),
    "none_negative": lambda x, **k: np.all(x >= 0, **k),
    "total": np.sum,
}
SHAPES = [
    ((7,), {}),
    ((3, 4, 5), {"axis": 1}),
    ((3, 4, 5), {"axis": (0, 2), "keepdims": True}),
    ((40, 3000), {"axis": 0}),
    ((5, 2500), {"axis": -1}),
    ((300_000,), {}),
    ((), {}),
]


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    drawn = np.random.default_rng(5).normal(size=shape) * 3
    return np.asarray(drawn).astype(dtype)


@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.parametrize(("shape", "attrs"), SHAPES, ids=str)
def test_values_are_those_of_numpy(name: str, shape: tuple[int, ...], attrs: Any) -> None:
    for dtype in ("float32", "float64", "int32", "int8"):
        x = numbers(shape, dtype)
        found = np.asarray(DECLARED[name](tl.tensor(x), **attrs))
        wanted = np.asarray(MEANINGS[name](x.astype(np.float64), **attrs))
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=2e-6)


def test_views_and_empty_tensors_reduce_as_others_do() -> None:
    x = numbers((6, 8, 10), "float64")
    view = tl.tensor(x)[::2, ::-1, 3:]
    for axis in (0, 1, 2, (0, 2), None):
        found = np.asarray(DECLARED.norm2(F.permute_dims(view, axes=(2, 0, 1)), axis=axis))
        wanted = np.sqrt(np.sum(x[::2, ::-1, 3:].transpose(2, 0, 1) ** 2, axis=axis))
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert DECLARED.norm2(tl.tensor(np.zeros((0, 3))), axis=0).tolist() == [0.0, 0.0, 0.0]
    assert DECLARED.norm2(tl.tensor(np.zeros((3, 0))), axis=0).shape == (0,)
    with pytest.raises(tl.ShapeError, match="largest_size"):
        DECLARED.largest_size(tl.tensor(np.zeros((0, 3))), axis=0)
    assert DECLARED.oddly(tl.tensor([5, 3, 6])).item() == 5 ^ 3 ^ 6
    with pytest.raises(tl.DTypeError, match="oddly: x must be integer"):
        DECLARED.oddly(tl.tensor([0.5]))


def test_dtypes_of_results_follow_the_declaration() -> None:
    for dtype in ("int8", "uint8", "float16", "float32", "complex64"):
        x = tl.tensor([1, 2, 3], dtype=dtype)
        assert DECLARED.total(x).dtype == F.sum(x).dtype
        assert DECLARED.total(x).item() == 6
    assert DECLARED.largest_size(tl.tensor([1, -3], dtype="int16")).dtype == tl.int16
    assert DECLARED.norm2(tl.tensor([3, 4])).dtype == tl.float32


@pytest.mark.parametrize("mode", ["lazy", "async"])
def test_engines_give_the_same_bits(mode: str) -> None:
    x = tl.tensor(numbers((64, 900), "float32"))
    wanted = [np.asarray(DECLARED[name](x * 2 + 1, axis=1)) for name in MEANINGS]
    with tl.engine.mode(mode, threshold=1):
        found = [np.asarray(DECLARED[name](x * 2 + 1, axis=1)) for name in MEANINGS]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["norm2", "mean_square", "largest_size", "log_add", "total"])
@pytest.mark.parametrize("attrs", [{}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}], ids=str)
def test_gradients_are_derived_to_second_order(name: str, attrs: Any) -> None:
    x = numbers((3, 4), "float64")
    u, v = numbers((4, 3), "float64").T, np.flip(numbers((3, 4), "float64"))

    def loss(x: Any) -> Any:
        y = DECLARED[name](x, **attrs)
        return F.sum(y * y * 0.5 + y)

    def slope(x: Any) -> Any:
        return F.sum(tl.grad(loss)(x) * tl.tensor(np.ascontiguousarray(u)))

    for function in (loss, slope):
        h = 1e-6 * v
        wanted = (function(tl.tensor(x + h)) - function(tl.tensor(x - h))).item() / 2e-6
        found = np.sum(np.asarray(tl.grad(function)(tl.tensor(x))) * v)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_equal_ones_share_the_gradient_of_the_largest() -> None:
    x = tl.tensor([1.0, -2.0, 2.0])
    assert tl.grad(DECLARED.largest_size)(x).tolist() == [0.0, -0.5, 0.5]


def test_gradients_of_complex_numbers_are_derived() -> None:
    z = np.array([0.4 + 0.7j, -0.8 + 0.3j])
    gradient = tl.grad(lambda z: F.real(DECLARED.mean_square(z)))(tl.tensor(z))
    np.testing.assert_allclose(np.asarray(gradient), np.conj(z), rtol=1e-12)


def test_a_reduction_without_a_gradient_cuts_the_tape_by_name() -> None:
    with pytest.raises(
        tl.AutodiffError, match=r"untaught .*is not differentiable and cut the tape"
    ):
        tl.grad(DECLARED.untaught)(tl.tensor([1.0, 2.0]))


BAD = """
- reduction: bad
  args: ["x: real floating-point"]
  map: {map}
  combine: {combine}
  init: {init}
  {more}
  doc: It is wrong.
"""


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"combine": "a - b"}, "combine: must be associative; got "),
        ({"combine": "2 * (a + b)"}, "combine: must be associative; got "),
        ({"combine": "where(a == a, a, b)"}, "combine: must be commutative; got "),
        ({"init": "1"}, "combine: must leave a as it is where b is init, 1; got "),
        ({"combine": "a + c"}, "combine: unknown name 'c'"),
        ({"map": "sum(x)"}, "map: sum is of kind 'reduction'; only scalar functions fit here"),
        ({"map": "x + ) y"}, "map: "),
        ({"init": "7"}, "init: 0, 1, lowest, highest, false or true is expected"),
        ({"combine": "a * b", "init": "1"}, "has no gradient; write `grad:` with a rule"),
        ({"more": "finish: acc * acc"}, "has no gradient; write `grad:` with a rule"),
        ({"more": "native: true"}, "a native reduction has no 'map'"),
    ],
    ids=str,
)
def test_bad_reductions_are_refused_by_line_and_name(parts: dict[str, str], message: str) -> None:
    given = {"map": "x", "combine": "a + b", "init": "0", "more": "see: https://example.org"}
    with pytest.raises(DeclarationError, match=re.escape(message)) as error:
        tl.declare(BAD.format(**(given | parts)))
    assert re.match(r"<string>:\d+: bad: ", str(error.value))


def test_a_largest_complex_number_is_refused() -> None:
    with pytest.raises(DeclarationError, match="complex numbers have no lowest one"):
        tl.declare("""
- reduction: bad
  args: ["x: numeric"]
  map: x
  combine: a + b
  init: lowest
  doc: It is wrong.
""")
