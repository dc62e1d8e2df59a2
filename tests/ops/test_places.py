"""What a scalar function gives does not depend on an element's place, nor on how many there are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from support.oracle import DECLARED

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.opdecl.compiler.model import ScalarEntry

DTYPES = ("float16", "float32", "float64", "complex64", "complex128")
LENGTHS = (1, 5, 7, 33, 1025, 2099)  # loops and what is left at their ends
SIZE = 2100
SCALARS = [
    name
    for name, e in DECLARED.functions.items()
    if isinstance(e, ScalarEntry) and hasattr(F, name)
]


@functools.cache
def numbers(dtype: str, count: int) -> list[Any]:
    """Arguments of this dtype."""
    generator = np.random.default_rng(0)
    made = generator.standard_normal((count, 2, SIZE)) * 2
    parts = made[:, 0] + 1j * made[:, 1] if dtype.startswith("complex") else made[:, 0]
    return list(parts.astype(dtype))


def results(name: str, args: list[Any]) -> list[Any]:
    """Everything that the function gives, as arrays."""
    found = getattr(F, name)(*(tl.tensor(x) for x in args))
    return [y.numpy() for y in (found if isinstance(found, tuple | list) else [found])]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCALARS)
def test_an_elements_place_does_not_matter(name: str, dtype: str) -> None:
    args = numbers(dtype, sum(arg.default is None for arg in DECLARED.functions[name].args))
    try:
        whole = results(name, args)
    except tl.DTypeError:
        pytest.skip(f"{name} takes no {dtype}")
    for n in LENGTHS:
        for some, all_ in zip(results(name, [x[:n] for x in args]), whole, strict=True):
            np.testing.assert_array_equal(some, all_[:n])
