"""Elementwise calls over so much memory that results are written past the caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F = tl.functional
ROWS, COLUMNS = 4600, 5003  # 92 MB of float32; rows are no whole number of cache lines
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, COLUMNS)).astype("float32")
ROW = RNG.normal(size=COLUMNS).astype("float32")

CALLS = {
    "same": (lambda x, row: x + x, lambda x, row: x + x),
    "shifted": (lambda x, row: x[:, 1:] + x[:, :-1], lambda x, row: x[:, 1:] + x[:, :-1]),
    "broadcast": (lambda x, row: x * row, lambda x, row: x * row),
    "narrow": (lambda x, row: x > row, lambda x, row: x > row),
    "transposed": (lambda x, row: x.T + row[:, None], lambda x, row: x.T + row[:, None]),
    "wide": (lambda x, row: F.astype(x, dtype="float64"), lambda x, row: x.astype("float64")),
}


@pytest.fixture(scope="module")
def inputs() -> tuple[Any, Any]:
    return tl.tensor(X), tl.tensor(ROW)


@pytest.mark.parametrize("mode", ["sync", "lazy"])
@pytest.mark.parametrize("name", CALLS)
def test_large_results_are_complete(name: str, mode: str, inputs: tuple[Any, Any]) -> None:
    call, wanted = CALLS[name]
    with tl.engine.mode(mode):
        np.testing.assert_array_equal(np.asarray(call(*inputs)), wanted(X, ROW))


def test_large_tensors_change_in_place() -> None:
    x = tl.tensor(X)
    held = x + 0.0
    x *= 2.0
    x += x
    np.testing.assert_array_equal(np.asarray(x), X * 4)
    np.testing.assert_array_equal(np.asarray(held), X)


def test_large_results_do_not_depend_on_the_number_of_threads(inputs: tuple[Any, Any]) -> None:
    before = tl.num_threads()
    try:
        for threads in (1, 3):
            tl.set_num_threads(threads)
            np.testing.assert_array_equal(np.asarray(inputs[0] - inputs[1]), X - ROW)
    finally:
        tl.set_num_threads(before)
