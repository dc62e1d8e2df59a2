"""Operands in steps, forwards and backwards, that are long enough to be read in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import Array

import tensorlike as tl

F: Any = tl.functional
DTYPES = ["int8", "float16", "float32", "int64", "complex128"]
# Bytes from the first element to the last: from beyond the second cache, and from memory.
FAR, MEMORY = 6 << 20, 17 << 20


def filled(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Numbers that small types can tell apart."""
    numbers = np.random.default_rng(seed).integers(-50, 50, shape, dtype=np.int8)
    return numbers.astype(dtype)


def length_of(size: int, dtype: str) -> int:
    """How many elements so many bytes are; no multiple of a vector."""
    return size // np.dtype(dtype).itemsize // 64 * 64 + 37


@pytest.mark.parametrize("size", [FAR, MEMORY])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [-9, -4, -3, -2, -1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_one_long_row_in_steps(step: int, dtype: str, size: int) -> None:
    x = filled((length_of(size, dtype),), dtype)
    found = -tl.tensor(x)[::step]
    np.testing.assert_array_equal(np.asarray(found), -x[::step], strict=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [70, 500, 1500, 7000])
@pytest.mark.parametrize("steps", [(2, -1), (-1, 1), (-3, 2), (1, 2)])
def test_rows_in_steps_beside_others(steps: tuple[int, int], columns: int, dtype: str) -> None:
    first, second = steps
    rows = length_of(MEMORY, dtype) // columns // 2
    x = filled((rows, columns * abs(first)), dtype)
    y = filled((rows, columns * abs(second)), dtype, 1)
    column = filled((rows, 1), dtype, 2)
    wanted = x[:, ::first] + y[:, ::second]
    before = tl.num_threads()
    for threads in (1, 2):
        tl.set_num_threads(threads)
        try:
            a, b, c = tl.tensor(x)[:, ::first], tl.tensor(y)[:, ::second], tl.tensor(column)
            np.testing.assert_array_equal(np.asarray(a + b), wanted, strict=True)
            np.testing.assert_array_equal(np.asarray(a + c), x[:, ::first] + column, strict=True)
        finally:
            tl.set_num_threads(before)


@pytest.mark.parametrize("size", [FAR, MEMORY])
def test_truths_of_steps(size: int) -> None:
    x, y = (filled((length_of(size, "float32"),), "float32", seed) for seed in (0, 1))
    found = F.less(tl.tensor(x)[::-1], tl.tensor(y)[::-1])
    np.testing.assert_array_equal(np.asarray(found), x[::-1] < y[::-1], strict=True)
