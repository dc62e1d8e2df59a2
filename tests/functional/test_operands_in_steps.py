"""Operands in steps of any size, forwards and backwards, beside others that lie as they like: the
bits are those of the same numbers in C order, by calls, in expressions, programs and threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
DTYPES = ("bool", "uint8", "int16", "float16", "int32", "float32", "int64", "float64", "complex64")
STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, -8, -9)
WIDTHS = (1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 257, 300, 511, 1025)
CALLS: tuple[tuple[Callable[..., Any], int], ...] = (
    (lambda x: F.abs(x), 1),
    (lambda x: F.where(x == x, x, x), 1),
    (lambda x, y: F.equal(x, y), 2),
    (lambda x, y: F.add(x, y), 2),
    (lambda x, y: F.where(F.not_equal(x, y), x, F.add(x, y)), 2),
    (lambda x, y, z: F.where(F.equal(x, y), z, x), 3),
    (lambda x, y, z: F.add(F.multiply(x, y), z), 3),
)


def stored(rng: random.Random, size: list[int], dtype: str) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(rng.randrange(2**32))
    numbers = generator.integers(0, 2 if dtype == "bool" else 40, size)
    return numbers.astype(dtype)


def drawn(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    """A view of the shape: in steps along some axes, turned, a row, a column, a part of more."""
    how = rng.choice(("steps", "steps", "steps", "row", "column", "turned", "part", "plain"))
    along = rng.choice(STEPS) if how in ("steps", "turned", "part") else 1
    across = rng.choice((1, 1, 1, 2, -1, 3)) if how == "steps" else 1
    steps = [across] * (len(shape) - 1) + [along]
    size = [n * abs(s) for n, s in zip(shape, steps, strict=True)]
    if how == "row":
        size[:-1] = [1] * (len(shape) - 1)
    if how == "column":
        size[-1] = 1
    if how == "part":
        size[-1] += 5
    x = tl.tensor(stored(rng, size[::-1] if how == "turned" else size, dtype))
    if how == "turned":
        x = F.permute_dims(x, tuple(range(len(shape)))[::-1])
    if how == "part":
        x = x[..., 2:-3]
    return x[tuple(slice(None, None, s) for s in steps)]


def in_order(x: Any) -> Any:
    """The same numbers where nothing lies in steps."""
    return tl.tensor(np.ascontiguousarray(np.asarray(x)))


def same_bits(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype
    found, wanted = (np.ascontiguousarray(np.asarray(a)) for a in (found, wanted))
    np.testing.assert_array_equal(found.view("uint8"), wanted.view("uint8"), strict=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(3))
def test_bits_are_those_of_operands_in_order(dtype: str, seed: int) -> None:
    rng = random.Random(f"{dtype} {seed}")
    for _ in range(40):
        width = rng.choice(WIDTHS)
        shape = rng.choice(((width,), (rng.choice((0, 1, 2, 5, 33)), width), (3, 2, width)))
        call, count = rng.choice(CALLS)
        xs = [drawn(rng, shape, dtype) for _ in range(count)]
        wanted = call(*(in_order(x) for x in xs))
        same_bits(call(*xs), wanted)
        with tl.engine.mode("lazy", threshold=1):
            same_bits(call(*xs), wanted)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_large_operands_and_threads(dtype: str, threads: int) -> None:
    rng = random.Random(f"{dtype} {threads}")
    before = tl.num_threads()
    tl.set_num_threads(threads)
    try:
        for shape in ((60_001,), (37, 2_001), (2_001, 37), (5, 70, 300)):
            for call, count in CALLS:
                xs = [drawn(rng, shape, dtype) for _ in range(count)]
                wanted = call(*(in_order(x) for x in xs))
                same_bits(call(*xs), wanted)
                traced = tl.jit.trace(call)
                same_bits(traced(*xs), wanted)
                same_bits(traced(*xs), wanted)
    finally:
        tl.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_copies_of_every_step_and_length(dtype: str) -> None:
    base = np.random.default_rng(3).integers(0, 100, 1200).astype(dtype)
    x = tl.tensor(base)
    for step in STEPS:
        for width in (*range(1, 20), *range(30, 36), *range(62, 68), *range(126, 131)):
            end = base[::step][:width]
            np.testing.assert_array_equal(np.asarray(x[::step][:width].copy()), end)
            np.testing.assert_array_equal(np.asarray(F.abs(x[::step][:width])), end)


@pytest.mark.parametrize("step", [2, -1, -3])
def test_a_view_is_added_to_what_it_sees(step: int) -> None:
    base = np.arange(9000, dtype="float32")
    x = tl.tensor(base)
    view = x[::step]
    x[: len(view)] += view
    wanted = base.copy()
    wanted[: len(base[::step])] += base[::step]
    np.testing.assert_array_equal(np.asarray(x), wanted)
    np.testing.assert_array_equal(np.asarray(view), base[::step])
