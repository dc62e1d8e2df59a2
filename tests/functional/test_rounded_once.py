"""Wide numbers become halves by one rounding: the nearest, and of two that are as near the even."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tensorlike as tl

WIDE = ["int32", "uint32", "int64", "uint64", "float64"]


def halves(dtype: str) -> np.ndarray:
    """All finite ones that are not negative, as float64, and where the next would be after them."""
    if dtype == "float16":
        finite = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
        return np.append(finite, 65536.0)
    bits = np.arange(0x7F80, dtype=np.uint32) << 16
    return np.append(bits.view(np.float32).astype(np.float64), 2.0**128)


def bits_of(x: tl.Tensor, dtype: str) -> np.ndarray:
    if dtype == "float16":
        return np.asarray(x).view(np.uint16)
    return (np.asarray(x.astype("float32")).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float64_becomes_the_nearest_half(dtype: str, negative: bool) -> None:
    finite = halves(dtype)
    middle = (finite[:-1] + finite[1:]) / 2
    place = np.arange(len(middle))
    cases = {
        "the half itself": (finite[:-1], place),
        "just above it": (np.nextafter(finite[:-1], np.inf), place),
        "below the middle": (np.nextafter(middle, 0), place),
        "the middle": (middle, place + place % 2),
        "above the middle": (np.nextafter(middle, np.inf), place + 1),
        "just below the next": (np.nextafter(finite[1:], 0), place + 1),
    }
    for name, (x, wanted) in cases.items():
        given = tl.tensor(-x if negative else x)
        found = bits_of(given.astype(dtype), dtype)
        np.testing.assert_array_equal(found, wanted + (0x8000 if negative else 0), err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("wide", ["int32", "uint32", "int64", "uint64"])
def test_integers_become_the_nearest_half(wide: str, dtype: str) -> None:
    info = np.iinfo(wide)
    places = {int(h): place for place, h in enumerate(halves(dtype)) if h == int(h)}
    finite = [h for h in places if h <= 2 * int(info.max)]
    wanted: dict[int, int] = {}
    for low, high in itertools.pairwise(finite):
        place = places[low]
        wanted[low] = place
        if high - low > 1:
            middle = (low + high) // 2
            wanted |= {low + 1: place, high - 1: place + 1}
            wanted |= {middle - 1: place, middle + 1: place + 1} if high - low > 2 else {}
            wanted[middle] = place + place % 2
    if dtype == "float16":
        wanted |= dict.fromkeys((2**17, 2**17 + 1, int(info.max)), 0x7C00)
    for sign in (1, -1):
        given = {n: p for n, p in wanted.items() if info.min <= sign * n <= info.max and n != 0}
        x = tl.tensor(np.array([sign * n for n in given], dtype=wide))
        found = bits_of(x.astype(dtype), dtype)
        expected = np.array(list(given.values())) + (0x8000 if sign < 0 else 0)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_is_no_number_or_too_large_stays_so(dtype: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, -1e-300, 0.0, -0.0])
    found = np.asarray(tl.tensor(x).astype(dtype).astype("float64"))
    wanted = np.array([np.inf, -np.inf, np.nan, np.inf, -np.inf, 0.0, -0.0, 0.0, -0.0])
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found)[[0, 1, 5, 6, 7, 8]],
                                  np.signbit(wanted)[[0, 1, 5, 6, 7, 8]])  # fmt: skip
