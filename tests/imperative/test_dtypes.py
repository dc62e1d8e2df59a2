"""Tensors of every dtype: made of Python's numbers and of arrays, given back, kept and sent."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from support.declarations import ALL_DTYPES, COMPLEX, HALVES, INTEGERS, SIGNED, UNSIGNED

import tensorlike as tl

MOST = 2**64 - 1


def numbers(dtype: str) -> list[Any]:
    if dtype == "bool":
        return [True, False]
    return [1 + 2j, -0.5j] if dtype in COMPLEX else [1, 0, 3]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_numbers_come_back_as_they_went_in(dtype: str) -> None:
    x = tl.tensor(numbers(dtype), dtype=dtype)
    public = tl.bool_ if dtype == "bool" else getattr(tl, dtype)
    assert x.dtype is public
    assert x.tolist() == numbers(dtype)
    assert x[0].item() == numbers(dtype)[0]
    assert tl.tensor(numbers(dtype)[0], dtype=dtype).dtype is public
    assert (f"dtype={dtype}" in repr(x)) == (dtype not in ("bool", "int64", "float32"))
    for kept in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert kept.dtype is public
        assert kept.tolist() == x.tolist()
    raw = pickle.loads(pickle.dumps(tl.RawTensor(x)))
    assert tl.Tensor(raw).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "bfloat16"])
def test_numpy_sees_the_same_memory(dtype: str) -> None:
    x = tl.tensor(numbers(dtype), dtype=dtype)
    array = np.asarray(x)
    assert array.dtype.name == dtype
    assert not array.flags.writeable
    assert array.tolist() == x.tolist()
    assert tl.tensor(array).dtype is x.dtype
    assert np.from_dlpack(x).dtype.name == dtype
    assert tl.from_dlpack(array).tolist() == x.tolist()


def test_bfloat16_arrays_come_and_go() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(-3, 3, 0.5).astype(ml_dtypes.bfloat16).reshape(3, 4).T
    x = tl.tensor(array)
    assert x.dtype is tl.bfloat16
    assert np.asarray(x).dtype == array.dtype
    np.testing.assert_array_equal(np.asarray(x).astype(float), array.astype(float))
    np.testing.assert_array_equal(np.asarray(x, dtype="float64"), array.astype(float))
    assert np.asarray(tl.RawTensor(x)).dtype == array.dtype
    again = tl.from_dlpack(x)
    assert again.dtype is tl.bfloat16
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(tl.RawTensor(x))  # type: ignore[arg-type]


def test_torch_tensors_come_and_go() -> None:
    torch = pytest.importorskip("torch")
    for dtype in ALL_DTYPES:
        x = tl.tensor(numbers(dtype), dtype=dtype)
        theirs = torch.from_dlpack(x)
        assert str(theirs.dtype) == f"torch.{dtype}"
        assert tl.from_dlpack(theirs).tolist() == x.tolist()


def test_literals_go_straight_to_the_dtype_that_is_asked_for() -> None:
    assert tl.tensor(0.1, dtype=tl.float64).item() == 0.1
    assert tl.tensor([0.1], dtype=tl.float64).tolist() == [0.1]
    assert tl.tensor([0.1j], dtype=tl.complex128).tolist() == [0.1j]
    assert tl.tensor([1j]).dtype is tl.complex64
    assert tl.tensor([0.1]).dtype is tl.float32
    for value in (1e300, 2**200):
        assert tl.tensor(value, dtype=tl.float64).item() == float(value)


def test_the_largest_unsigned_integers_are_whole() -> None:
    assert tl.tensor([MOST], dtype=tl.uint64).tolist() == [MOST]
    assert tl.tensor(MOST, dtype=tl.uint64).item() == MOST
    x = tl.tensor([0, 1], dtype=tl.uint64)
    assert (x + MOST).tolist() == [MOST, 0]
    assert (MOST - x).tolist() == [MOST, MOST - 1]
    assert (x < MOST).tolist() == [True, True]
    with pytest.raises(OverflowError, match="uint64"):
        x + (MOST + 1)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_literals_that_do_not_fit_are_refused(dtype: str) -> None:
    x = tl.tensor([1, 2], dtype=dtype)
    info = np.iinfo(dtype)
    for literal in (int(info.max) + 1, int(info.min) - 1):
        calls = [lambda: x + literal, lambda: literal * x, lambda: x == literal]  # noqa: B023
        for call in calls:
            with pytest.raises(OverflowError, match="literal: must fit"):
                call()
        with pytest.raises(OverflowError):
            tl.tensor(literal, dtype=dtype)
    fits = [int(info.max), int(info.min)]
    assert [(x * 0 + literal).tolist()[0] for literal in fits] == fits


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED, *HALVES])
def test_literals_do_not_widen(dtype: str) -> None:
    x = tl.tensor([1, 2], dtype=dtype)
    assert (x + 1).dtype is x.dtype
    assert (x + 1.5).dtype is (x.dtype if dtype in HALVES else tl.float32)
    assert (x + 1j).dtype is tl.complex64


def test_a_complex_literal_is_as_wide_as_the_tensor() -> None:
    assert (tl.tensor([1.0], "float64") + 1j).dtype is tl.complex128
    assert (tl.tensor([1.0], "complex128") * 1j).tolist() == [1j]
    with pytest.raises(tl.DTypeError, match="must be real for float32"):
        tl.tensor(1j, dtype="float32")


def test_complex_attributes_are_serialised() -> None:
    op = tl.ops.Fill(shape=(2,), fill_value=1 - 2j)
    assert tl.ops.deserialize(tl.ops.serialize(op)) == op
    assert pickle.loads(pickle.dumps(op)) == op


def test_what_numpy_has_and_we_have_not_is_refused() -> None:
    with pytest.raises(tl.DTypeError, match="bitcast: the dtype must be a number as wide"):
        tl._C.bitcast(tl.RawTensor([1.0]), tl.float64)
    with pytest.raises(tl.DTypeError, match="data must be"):
        tl.tensor(np.zeros(2, "datetime64[s]"))
