"""Few elements are moved, and met by numbers, in loops of their own: as many elements are."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
DTYPES = [
    "bool",
    "int8",
    "uint16",
    "int32",
    "float32",
    "int64",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_are_assigned_in_any_layout(dtype: str) -> None:
    rng = random.Random(dtype)
    source = np.random.default_rng(7)
    for _ in range(300):
        shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
        array = source.integers(0, 2 if dtype == "bool" else 99, shape).astype(dtype)
        key = tuple(
            rng.choice([slice(None), slice(None, None, 2), slice(None, None, -1), rng.randrange(n)])
            for n in shape
        )
        part = array[key]
        value = source.integers(0, 2, part.shape).astype(dtype)
        for axis in range(value.ndim):
            if rng.random() < 0.3:
                value = value.take([0], axis)
        value = value.T.copy().T if rng.random() < 0.3 else value
        x = tl.tensor(array)
        given = tl.tensor(value)
        if value.ndim and rng.random() < 0.3:
            given, value = given[..., ::-1], value[..., ::-1]
        for _ in range(3):
            x[key] = given
        array[key] = value
        np.testing.assert_array_equal(x.numpy(), array)


@pytest.mark.parametrize("count", [1, 2, 7, 16, 17, 64, 255, 256, 257, 1000])
def test_choices_beside_numbers_and_rows(count: int) -> None:
    source = np.random.default_rng(count)
    for dtype in ("float32", "float64", "int32", "float16", "bool", "complex64"):
        shape = (2, count)
        x, y = (source.integers(0, 5, shape).astype(dtype) for _ in range(2))
        mask = source.random(shape) < 0.5
        number = np.asarray(1, dtype)[()]
        for m in (mask, mask[0], mask[:, :1], mask[:, ::-1]):
            for a in (x, x[0], x[:, :1], number, x[::-1]):
                for b in (y, number, y.T.copy().T):
                    found = F.where(tl.tensor(m), tl.tensor(a), tl.tensor(b))
                    wanted = np.where(m, a, b)
                    assert found.dtype.name == dtype
                    np.testing.assert_array_equal(found.numpy(), wanted)
