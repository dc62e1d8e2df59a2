"""Nested lists of Python's numbers to tensors and back, without NumPy: as NumPy has them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.imperative.arrays import as_array

NUMBERS: list[list[Any]] = [
    [0.5, -1.25, 3e38, float("inf"), float("nan"), -0.0, 1e-46],
    [0, 1, -7, 2**62, -(2**63)],
    [True, False],
    [0.5, 3, -2],
    [2.5, 2**53 + 1],
    [1e300, 2.0],
    [1, True, 0],
    [2**64 - 1, 1],
    [1 + 2j, 0.5],
]


def nested(source: random.Random, numbers: list[Any], depth: int) -> Any:
    if depth == 0:
        return source.choice(numbers)
    sizes = [source.randint(0, 3)] * 2

    def at(level: int) -> Any:
        if level == depth:
            return source.choice(numbers)
        kind = source.choice((list, tuple))
        return kind(at(level + 1) for _ in range(sizes[level % 2]))

    return at(0)


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_lists_become_what_numpy_makes_of_them(seed: int) -> None:
    source = random.Random(seed)
    data = nested(source, NUMBERS[seed % len(NUMBERS)], 1 + seed % 4)
    for dtype in (None, tl.float32, tl.float64):
        if dtype is not None and any("j" in repr(x) for x in np.ravel(np.array(data, object))):
            continue
        array = as_array(data, dtype)
        wanted = array if dtype is None else array.astype(dtype.name)
        found = tl.tensor(data, dtype)
        assert found.dtype.name == wanted.dtype.name
        np.testing.assert_array_equal(found.numpy(), wanted)
        assert found.shape == wanted.shape


@pytest.mark.parametrize("data", [[[1, 2], [3]], [[], [1]], [1, [2]], [[1], 2], [[1.0], []]])
def test_ragged_lists_are_refused(data: Any) -> None:
    with pytest.raises(tl.DTypeError, match="must be numbers in a rectangular arrangement"):
        tl.tensor(data)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3), (2, 1, 4)])
def test_tensors_become_lists_as_arrays_do(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).integers(0, 3, shape).astype(dtype)
    x = tl.tensor(array)
    assert x.tolist() == array.tolist()
    assert type(np.ravel(np.array(x.tolist(), object))[:1].tolist()) is list
    if len(shape) > 1:
        assert x.T.tolist() == array.T.tolist()
        assert x[::-1].tolist() == array[::-1].tolist()


def test_lists_of_bfloat16_and_of_traced_tensors() -> None:
    assert tl.tensor([1.5, 2.0], dtype="bfloat16").tolist() == [1.5, 2.0]
    x = tl.tensor([1.5, 2.0], requires_grad=True)
    assert (x * 2).tolist() == [3.0, 4.0]


def test_an_empty_list_is_of_floats() -> None:
    for data in ([], [[], []], ()):
        assert tl.tensor(data).dtype is tl.float32
        assert tl.tensor(data).shape == np.shape(data)


def said(make: Any) -> tuple[Any, ...]:
    try:
        x = make()
    except (tl.TensorlikeError, TypeError, ValueError, OverflowError) as error:
        return (type(error), str(error))
    return (x.dtype, x.shape, x.tolist())


WANTED = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64"),
]
SMALL: list[list[Any]] = [
    [0, 1, 2, 100], [-1, 3], [127, 128], [255, 256, -128], [2**31, 5], [2**63 - 1, 0],
    [True, False], [2**24 + 1, 2**53 - 1], [0.5, 1.0], [1.0, 2], [-(2**63)], [],
]  # fmt: skip


@pytest.mark.parametrize("dtype", WANTED)
def test_lists_of_a_dtype_are_what_the_general_way_makes(dtype: str) -> None:
    """Which is taken where NumPy is asked: of a list with one of its own numbers in it."""
    for numbers in SMALL:
        for data in (numbers, [numbers, numbers], tuple(numbers)):

            def general(data: Any = data) -> Any:
                return tl.RawTensor(as_array(data, tl.tensor(0, dtype=dtype).dtype), dtype)

            found = said(lambda data=data: tl.tensor(data, dtype))
            wanted = said(lambda general=general: tl.Tensor(general()))
            assert found == wanted, (data, dtype)


OF_NUMPY = [name for name in WANTED if name != "bfloat16"]


@pytest.mark.parametrize("name", [*OF_NUMPY, "longlong", "longdouble", "str_", "datetime64"])
def test_numpys_numbers_are_what_their_arrays_are(name: str) -> None:
    kind = getattr(np, {"bool": "bool_"}.get(name, name))
    for number in (0, 1, 3):
        scalar = kind(number, "s") if name == "datetime64" else kind(number)
        of_array = said(lambda scalar=scalar: tl.tensor(np.asarray(scalar)))
        found = said(lambda scalar=scalar: tl.tensor(scalar))
        if isinstance(of_array[0], type):
            assert found[0] is of_array[0]
        else:
            assert found == of_array
        for dtype in ("float32", "int64", "bool"):
            wanted = said(lambda scalar=scalar, dtype=dtype: tl.tensor(np.asarray(scalar), dtype))
            got = said(lambda scalar=scalar, dtype=dtype: tl.tensor(scalar, dtype))
            assert got[0] == wanted[0]
            assert isinstance(got[0], type) or got == wanted


def test_scalars_of_somebodys_own_class() -> None:
    class Mine(np.float32):
        pass

    assert tl.tensor(Mine(2.5)).tolist() == 2.5
    assert tl.tensor([Mine(2.5), np.float32(1)]).tolist() == [2.5, 1.0]


OF_SCALARS: list[list[Any]] = [
    [np.float32(1), np.float32(2.5)], [np.float64(1)] * 3, [np.int8(-1), np.int8(3)],
    [np.bool_(True), np.bool_(False)], [np.float16(0.5)], [np.complex64(1j)] * 2,
    [np.float32(1), np.float64(2)], [np.float32(1), 2.0], [2.0, np.float32(1)], [np.int64(1), True],
    [np.longdouble(1)], [np.str_("a")], [np.datetime64("2020")] * 2,
    [[np.float32(1)], [np.float32(2)]],
    [np.float32(1), [2.0]], [np.uint64(2**63), np.uint64(1)], [np.longlong(5)] * 2,
]  # fmt: skip


@pytest.mark.parametrize("which", range(len(OF_SCALARS)))
def test_lists_of_numpys_numbers_are_what_numpy_makes_of_them(which: int) -> None:
    data = OF_SCALARS[which]
    for given in (data, tuple(data)):
        found = said(lambda given=given: tl.tensor(given))
        wanted = said(lambda given=given: tl.tensor(as_array(given, None)))
        assert found[0] == wanted[0]
        assert isinstance(found[0], type) or found == wanted
