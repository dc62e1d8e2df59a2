"""Floor division and remainders of integers: Python's, for every pair of bytes and at all edges of
wider ones; 0 divides to 0, and the smallest integer over -1 wraps around."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def edges(dtype: str) -> list[int]:
    """All numbers of one byte; of wider ones those around powers of two, squares, and the ends."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        return list(range(int(info.min), int(info.max) + 1))
    random = Random(dtype)
    near = [2**k + d for k in range(info.bits) for d in (-2, -1, 0, 1, 2)]
    near += [3 * 2**k + d for k in range(info.bits - 2) for d in (-1, 0, 1)]
    near += [10**k for k in range(20)] + [random.randrange(2**info.bits) for _ in range(40)]
    near += [random.randrange(2**k) for k in range(1, info.bits)]
    signed = {s * n for n in near for s in (-1, 1)} | {int(info.max), int(info.min), 0}
    return sorted(n for n in signed if info.min <= n <= info.max)


def wrapped(value: int, dtype: str) -> int:
    info = np.iinfo(dtype)
    return (value - int(info.min)) % 2**info.bits + int(info.min)


def divided(a: int, b: int, dtype: str) -> tuple[int, int]:
    """Python's quotient and remainder; 0 has neither."""
    return (wrapped(a // b, dtype), a % b) if b != 0 else (0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_pair_divides_as_in_python(dtype: str) -> None:
    numbers = edges(dtype)
    for start in range(0, len(numbers), 64):
        some = numbers[start : start + 64]
        a = np.array([a for a in numbers for _ in some], dtype)
        b = np.array([b for _ in numbers for b in some], dtype)
        wanted = [divided(int(p), int(q), dtype) for p, q in zip(a, b, strict=True)]
        x, y = tl.tensor(a), tl.tensor(b)
        np.testing.assert_array_equal(
            np.asarray(F.floor_divide(x, y)), np.array([w[0] for w in wanted], dtype)
        )
        np.testing.assert_array_equal(
            np.asarray(F.remainder(x, y)), np.array([w[1] for w in wanted], dtype)
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_divisor_and_one_dividend_give_the_same(dtype: str) -> None:
    numbers = edges(dtype)
    many = tl.tensor(np.array(numbers, dtype))
    ones = numbers if np.iinfo(dtype).bits == 8 else numbers[:: max(1, len(numbers) // 60)]
    for number in [*ones, *{0, 1, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)}]:
        one = tl.tensor(np.array(number, dtype))
        for function in (F.floor_divide, F.remainder):
            repeated = F.broadcast_to(one, many.shape).copy()
            for found, wanted in (
                (function(many, one), function(many, repeated)),
                (function(one, many), function(repeated, many)),
            ):
                np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_every_number_of_two_bytes_by_one(dtype: str) -> None:
    info = np.iinfo(dtype)
    every = np.arange(int(info.min), int(info.max) + 1).astype(dtype)
    x = tl.tensor(every)
    for number in [n for n in edges(dtype)[::9] if n != 0]:
        one = np.array(number, dtype)
        wide = every.astype("int64")
        down = (wide // number).astype(dtype)  # the smallest over -1 wraps around
        np.testing.assert_array_equal(np.asarray(F.floor_divide(x, tl.tensor(one))), down)
        rest = np.asarray(F.remainder(x, tl.tensor(one)))
        np.testing.assert_array_equal(rest, (wide % number).astype(dtype))
