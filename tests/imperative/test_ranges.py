"""Numbers at the ends of their dtypes: held exactly, or refused; nothing wraps around unasked."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

TOP = 2**64 - 1
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_lists_hold_both_ends_and_refuse_what_lies_beyond(dtype: str) -> None:
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    assert tl.tensor([low, high], dtype=dtype).tolist() == [low, high]
    for wrong in (low - 1, high + 1):
        with pytest.raises(OverflowError) as error:
            tl.tensor([[0, 1], [wrong, 0]], dtype=dtype)
        assert f"literal: must fit {dtype}; got " in str(error.value)


@pytest.mark.parametrize("value", [300.0, -1.0, np.nan, np.inf, 1e300])
def test_floats_of_lists_must_fit_as_numbers_must(value: float) -> None:
    for data in (value, [value], [0.5, value]):
        with pytest.raises(OverflowError, match="must fit uint8"):
            tl.tensor(data, dtype=tl.uint8)
    assert tl.tensor([255.9, 0.5], dtype=tl.uint8).tolist() == [255, 0]
    for dtype, beyond in (("int64", 2.0**63), ("uint64", 2.0**64)):
        with pytest.raises(OverflowError, match=f"must fit {dtype}"):
            tl.tensor([beyond], dtype=dtype)


def test_arrays_are_cast_as_astype_does_it() -> None:
    wide = np.array([300, -1])
    assert tl.tensor(wide, dtype=tl.uint8).tolist() == [44, 255]
    assert tl.tensor([np.int64(300), np.int64(-1)], dtype=tl.uint8).tolist() == [44, 255]
    assert tl.tensor(wide).astype(tl.uint8).tolist() == [44, 255]


def test_integers_beyond_64_bits_are_refused() -> None:
    for data in ([2**64], [-(2**63) - 1], [2**63, -1], [2**200]):
        with pytest.raises(OverflowError):
            tl.tensor(data, dtype=tl.uint64)
    with pytest.raises(OverflowError):
        F.full((2,), 2**64, dtype=tl.uint64)
    with pytest.raises(OverflowError):
        F.full((2,), 2**200, dtype=tl.uint64)


def test_full_and_arange_reach_the_top_of_uint64() -> None:
    assert F.full((2,), TOP, dtype=tl.uint64).tolist() == [TOP, TOP]
    assert F.full((), TOP).dtype == tl.uint64
    assert F.full((), 2**63 - 1).dtype == tl.int64
    assert F.full((1,), TOP, dtype=tl.float64).tolist() == [2.0**64]
    last = F.arange(TOP - 3, TOP, dtype=tl.uint64)
    assert last.tolist() == [TOP - 3, TOP - 2, TOP - 1]
    assert F.arange(TOP, TOP - 3, -1).tolist() == [TOP, TOP - 1, TOP - 2]
    low = -(2**63)
    assert F.arange(low, low + 5, 2).tolist() == [low, low + 2, low + 4]
    assert F.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert F.arange(low, TOP, 2**62, dtype=tl.float64).shape == (6,)
    op = tl.ops.Fill(shape=(1,), fill_value=TOP, dtype=tl.uint64)
    assert eval(repr(op.fill_value)) == TOP


@pytest.mark.parametrize(
    ("args", "dtype"),
    [((300,), "uint8"), ((-1, 3), "uint64"), ((0, 1000, 128), "int8"), ((0, 1e300, 1e299), "int64"),
     ((TOP - 1, TOP), "int64"), ((0.0, 600.0, 250.0), "uint8")],
    ids=str,
)  # fmt: skip
def test_ranges_must_fit_their_dtype(args: tuple[Any, ...], dtype: str) -> None:
    with pytest.raises(OverflowError, match=re.escape(f"must fit {dtype}")):
        F.arange(*args, dtype=dtype)


def test_an_empty_range_asks_nothing_of_the_dtype() -> None:
    assert F.arange(300, 0, dtype=tl.uint8).tolist() == []


def test_numbers_beside_uint64_are_exact() -> None:
    x = tl.tensor([0, 1], dtype=tl.uint64)
    assert (x + TOP).tolist() == [TOP, 0]  # arithmetic wraps around, as NumPy's
    assert (x == TOP).tolist() == [False, False]
    assert (tl.tensor([TOP], dtype=tl.uint64) == TOP).tolist() == [True]
    assert (tl.tensor([TOP - 1], dtype=tl.uint64) < TOP).tolist() == [True]
    with pytest.raises(OverflowError, match="must fit int64"):
        tl.tensor([1]) + TOP


def test_floats_beyond_an_integers_range_become_its_lowest_number() -> None:
    """8 and 16 bits keep the low bits of that, uint32 those of int64's."""
    x = tl.tensor([np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**63], dtype=tl.float64)
    assert x.astype(tl.int64).tolist() == [-(2**63)] * 6
    assert x.astype(tl.int32).tolist() == [-(2**31)] * 6
    assert x.astype(tl.uint64).tolist()[5] == 2**63
    assert x.astype(tl.int8).tolist() == [0] * 6
    assert tl.tensor([300.0, -1.0]).astype(tl.uint8).tolist() == [44, 255]
