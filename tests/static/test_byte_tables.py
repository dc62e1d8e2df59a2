"""Elementwise steps from bytes to bytes: a table of 256 results, with the bits of the steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

SCALE, OTHER, ZERO = (tl.tensor(np.float32(x)) for x in (0.043, 0.031, 7))


def real(x: Any) -> Any:
    return (F.astype(x, "float32") - ZERO) * SCALE


def in_bytes(y: Any, dtype: str) -> Any:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    steps = F.round(y / OTHER) + ZERO
    return F.astype(
        F.minimum(F.maximum(steps, tl.tensor(np.float32(low))), tl.tensor(np.float32(high))), dtype
    )


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: in_bytes(F.relu(real(x)), "uint8"),
    "silu": lambda x: in_bytes(F.silu(real(x)), "int8"),
    "hard": lambda x: in_bytes(real(x) * F.clip_between(real(x) + ZERO, ZERO, SCALE), "uint8"),
    "above": lambda x: F.exp(real(x)) > F.abs(real(x)) + SCALE,
}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("count", [8191, 8192, 70001, 600000])
def test_tables_have_the_bits_of_the_steps(name: str, dtype: str, count: int) -> None:
    x = np.random.default_rng(count).integers(0, 256, count).astype(np.uint8).view(dtype)
    listing = tl.Listing()
    y = FUNCTIONS[name](tl.Tensor(listing.input("x", (count,), dtype)))
    compiled = static.CompiledProgram(listing)
    found = np.asarray(compiled.run([y], tl.tensor(x))[0])
    every = np.arange(256).astype(np.uint8).view(dtype)
    singly = np.asarray(FUNCTIONS[name](tl.tensor(every)))  # too few elements for a table
    assert np.array_equal(found, singly[x.view(np.uint8)])


def test_other_operands_than_numbers_take_no_table() -> None:
    rng = np.random.default_rng(0)
    x = tl.tensor(rng.integers(0, 256, (200, 100)).astype(np.uint8))
    row = tl.tensor(rng.uniform(0, 2, 100).astype(np.float32))
    listing = tl.Listing()
    given = tl.Tensor(listing.input("x", (200, 100), "uint8"))
    y = in_bytes(real(given) * row, "uint8")
    found = static.CompiledProgram(listing).run([y], x)[0]
    assert np.array_equal(found, in_bytes(real(x) * row, "uint8"))
