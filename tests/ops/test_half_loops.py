"""Scalar functions of halves: the bits of a call in float32, rounded once, whatever way they go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import SCALARS, accepts, function_of, name_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Category, ScalarEntry

F: Any = tl.functional
HALVES = ("float16", "bfloat16")
SIZES = (0, 1, 15, 16, 17, 31, 33, 200, 1023, 1040, 9001)


def patterns(count: int, seed: int) -> np.ndarray:
    """Any bits: NaN, infinities, zeros of both signs and denormals are among them."""
    rng = np.random.default_rng(seed)
    special = np.array([0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x7F80, 0xFF80, 0x7FC0, 1, 0x8001])
    bits = rng.integers(0, 1 << 16, count)
    return np.where(rng.random(count) < 0.2, rng.choice(special, count), bits).astype("uint16")


def half(bits: np.ndarray, dtype: str) -> tl.Tensor:
    """The numbers that these bits are."""
    if dtype == "float16":
        return tl.tensor(bits.view("float16"))
    wide = (bits.astype("uint32") << 16).view("float32")
    return tl.tensor(wide).astype("bfloat16")


def operands(entry: ScalarEntry, count: int, dtype: str) -> list[tl.Tensor]:
    bits = [patterns(count, seed) for seed in range(len(entry.args))]
    return [
        tl.tensor(each % 3 > 0) if arg.category is Category.BOOLEAN else half(each, dtype)
        for arg, each in zip(entry.args, bits, strict=True)
    ]


def results(entry: ScalarEntry, xs: list[tl.Tensor]) -> list[tl.Tensor]:
    found = function_of(entry)(*xs)
    return list(found) if isinstance(found, tuple) else [found]


def seen(x: tl.Tensor) -> np.ndarray:
    """Bits that tell zeros apart; one NaN is like another."""
    wide = np.asarray(x.astype("float32") if x.dtype.name in HALVES else x)
    if wide.dtype != np.float32:
        return wide
    return np.where(np.isnan(wide), np.uint32(0x7FC00000), wide.view("uint32"))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    "entry",
    [e for e in SCALARS if all(
        a.category is Category.BOOLEAN or accepts(a.category, "float16") for a in e.args)],
    ids=name_of,
)  # fmt: skip
def test_halves_are_computed_in_float32_and_rounded_once(entry: ScalarEntry, dtype: str) -> None:
    for count in SIZES:
        xs = operands(entry, count, dtype)
        wide = [x.astype("float32") if x.dtype.name == dtype else x for x in xs]
        for found, wanted in zip(results(entry, xs), results(entry, wide), strict=True):
            rounded = wanted.astype(found.dtype) if found.dtype.name == dtype else wanted
            np.testing.assert_array_equal(seen(found), seen(rounded), strict=True)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("dtype", HALVES)
def test_chains_round_at_every_step(dtype: str, mode: str) -> None:
    x, y = (half(patterns(7001, seed), dtype) for seed in (1, 2))
    once = F.maximum(x * y, x)
    wide = (x.astype("float32") * y.astype("float32")).astype(dtype).astype("float32")
    wanted = seen(F.maximum(wide, x.astype("float32")).astype(dtype))
    np.testing.assert_array_equal(seen(once), wanted)
    with tl.engine.mode(mode):
        for threads in (1, 2, 5):
            before = tl.num_threads()
            tl.set_num_threads(threads)
            try:
                np.testing.assert_array_equal(seen(F.maximum(x * y, x)), wanted)
                turned = F.reshape(x[:7000], (70, 100)).T
                found = seen(turned * F.reshape(y[:7000], (100, 70)))
            finally:
                tl.set_num_threads(before)
            copied = tl.tensor(np.asarray(turned.astype("float32"))).astype(dtype)
            again = seen(copied * F.reshape(y[:7000], (100, 70)))
            np.testing.assert_array_equal(found, again)


def test_literals_of_bodies_keep_their_bits() -> None:
    call = tl.declare("""
- scalar: scaled_by_a_third
  args: [x: real floating-point]
  expr: x * 0.333333333 + 1.1
  doc: A number that halves do not have.
""").scaled_by_a_third
    for dtype in HALVES:
        x = half(patterns(999, 3), dtype)
        wanted = call(x.astype("float32")).astype(dtype)
        np.testing.assert_array_equal(seen(call(x)), seen(wanted))
