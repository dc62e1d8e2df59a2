"""Programs of one loop and of several over rows of any length: numbers for each row, rows that are
the same everywhere, parts of longer ones, steps. The bits are those of operands in order."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
DTYPES = (
    "bool",
    "int8",
    "int16",
    "float16",
    "bfloat16",
    "int32",
    "float32",
    "float64",
    "complex64",
)
WIDTHS = (1, 2, 3, 5, 7, 8, 11, 12, 15, 16, 17, 24, 31, 33, 49, 63, 64, 65, 100, 127, 129, 196, 700)
PROGRAMS: tuple[tuple[Callable[..., Any], int], ...] = (
    (lambda x, a: F.add(x, a), 2),
    (lambda x, a: F.equal(a, x), 2),
    (lambda x, a, b: F.add(F.multiply(x, a), b), 3),
    (lambda x, a, b: F.multiply(F.add(x, a), F.add(b, x)), 3),
    (lambda x, a, b: F.where(F.equal(x, a), F.add(x, b), a), 3),
    (lambda x, a, b: F.add(F.where(F.not_equal(a, b), F.multiply(x, b), x), F.multiply(x, 2)), 3),
    (lambda x, a: F.add(F.multiply(F.add(x.copy(), a), a), x), 2),
)


def numbers(rng: random.Random, size: list[int], dtype: str) -> Any:
    generator = np.random.default_rng(rng.randrange(2**32))
    return tl.tensor(generator.integers(0, 2 if dtype == "bool" else 9, size)).astype(dtype)


def operand(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers for each row, for some dimensions, one row, a part of longer rows, or steps."""
    how = rng.choice(("plain", "numbers", "numbers", "row", "part", "steps", "backwards", "some"))
    size = list(shape)
    if how == "numbers":
        size[-1] = 1
        if rng.random() < 0.5:
            size[0] = 1
    if how == "row":
        size[:-1] = [1] * (len(shape) - 1)
    if how == "some":
        size = [n if rng.random() < 0.5 else 1 for n in size]
    if how == "part":
        size[-1] += 3
    if how == "steps":
        size[-1] *= 3
    x = numbers(rng, size, dtype)
    views = {
        "part": slice(3, None),
        "steps": slice(None, None, 3),
        "backwards": slice(None, None, -1),
    }
    return x[..., views[how]] if how in views else x


def in_order(x: Any, shape: tuple[int, ...]) -> Any:
    """All numbers, side by side."""
    return F.broadcast_to(x, shape).copy()


def bits(x: Any) -> Any:
    x = x.astype("float32") if x.dtype == tl.bfloat16 else x
    return np.ascontiguousarray(np.asarray(x)).view("uint8")


def same_bits(found: Any, wanted: Any) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(bits(found), bits(wanted), strict=True)


def shape_of(rng: random.Random) -> tuple[int, ...]:
    few = lambda: rng.choice((0, 1, 2, 3, 5, 20, 41))  # noqa: E731
    shape = (
        *(max(few(), rng.choice((0, 1, 1, 1))) for _ in range(rng.choice((1, 2, 3)))),
        rng.choice(WIDTHS),
    )
    return shape if math.prod(shape) <= 300_000 else shape_of(rng)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(4))
def test_programs_over_rows_of_any_width(dtype: str, seed: int) -> None:
    rng = random.Random(f"{dtype} {seed}")
    for _ in range(30):
        shape = shape_of(rng)
        program, count = rng.choice(PROGRAMS)
        xs = [
            numbers(rng, list(shape), dtype),
            *(operand(rng, shape, dtype) for _ in range(count - 1)),
        ]
        if rng.random() < 0.3:
            xs[0] = F.broadcast_to(operand(rng, shape, dtype), shape)
        wanted = program(*(in_order(x, shape) for x in xs))
        same_bits(program(*xs), wanted)
        with tl.engine.mode("lazy", threshold=1):
            same_bits(program(*xs), wanted)
        same_bits(tl.jit.trace(program)(*xs), wanted)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_many_rows_and_threads(dtype: str, threads: int) -> None:
    rng = random.Random(f"{dtype} {threads}")
    before = tl.num_threads()
    tl.set_num_threads(threads)
    try:
        for shape in ((30_001, 3), (5_003, 17), (2_001, 52), (9, 70, 130), (3, 40_001)):
            for program, count in PROGRAMS:
                xs = [
                    numbers(rng, list(shape), dtype),
                    *(operand(rng, shape, dtype) for _ in range(count - 1)),
                ]
                wanted = program(*(in_order(x, shape) for x in xs))
                same_bits(program(*xs), wanted)
                same_bits(tl.jit.trace(program)(*xs), wanted)
    finally:
        tl.set_num_threads(before)


@pytest.mark.parametrize(("rows", "width"), [(2, 600_001), (30_000, 40), (900, 1_300)])
@pytest.mark.parametrize("step", [2, -3])
def test_what_comes_from_memory(rows: int, width: int, step: int) -> None:
    generator = np.random.default_rng(rows)
    stored = generator.integers(0, 99, (rows, width * abs(step))).astype("float64")
    column = generator.integers(0, 99, (rows, 1)).astype("float64")
    x, a = tl.tensor(stored), tl.tensor(column)
    wanted = stored[:, ::step]
    np.testing.assert_array_equal(np.asarray(x[:, ::step] + a), wanted + column)
    np.testing.assert_array_equal(
        np.asarray(x[:, ::step] * a + x[:, :width]), wanted * column + stored[:, :width]
    )
