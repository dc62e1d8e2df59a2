"""Products of float16 and bfloat16: summed in float32, whatever the shape, the order in memory and
the number of threads, and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

HALVES = ("float16", "bfloat16")
BITS = {"float16": 11, "bfloat16": 8}  # of a significand
SIZES = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 129)


@pytest.fixture
def threads() -> Iterator[None]:
    """The number of threads as it was."""
    before = tl.num_threads()
    yield
    tl.set_num_threads(before)


def half(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> tl.Tensor:
    """Normal numbers, rounded."""
    return F.astype(tl.tensor(rng.standard_normal(shape)), dtype)


def wide(x: tl.Tensor) -> np.ndarray[Any, Any]:
    """The same numbers in float64."""
    return np.array(F.astype(x, "float64"))


def check(
    found: tl.Tensor, a: tl.Tensor, b: tl.Tensor, bias: np.ndarray[Any, Any] | float = 0.0
) -> None:
    """Holds a product to the exact one, rounded."""
    dtype = a.dtype.name
    assert found.dtype.name == dtype
    x, y = wide(a), wide(b)
    exact, size = x @ y + bias, np.abs(x) @ np.abs(y) + np.abs(bias)
    summed = 2.0**-24 * (4 + np.sqrt(x.shape[-1])) * size
    tolerance = summed + 2.0 ** -BITS[dtype] * (np.abs(exact) + summed) + 2.0**-25
    assert np.all(np.abs(wide(found) - exact) <= tolerance)


def operand(
    rng: np.random.Generator, rows: int, columns: int, dtype: str, layout: int
) -> tl.Tensor:
    """A matrix whose elements lie in order, along its columns, with gaps, or backwards."""
    if layout == 0:
        return half(rng, (rows, columns), dtype)
    if layout == 1:
        return F.matrix_transpose(half(rng, (columns, rows), dtype))
    if layout == 2:
        return half(rng, (rows, 2 * columns + 1), dtype)[:, ::2][:, :columns]
    return F.flip(half(rng, (rows, columns), dtype), axis=layout - 3)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("seed", range(6))
def test_half_products_of_any_shape_and_order_are_those_of_the_numbers(
    dtype: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        m, n, k = (int(size) for size in rng.choice(SIZES, 3))
        k = int(rng.integers(500, 1100)) if rng.integers(8) == 0 else k
        a = operand(rng, m, k, dtype, int(rng.integers(5)))
        b = operand(rng, k, n, dtype, int(rng.integers(5)))
        check(F.matmul(a, b), a, b)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(1, 1500, 1030), (3, 1030, 1100), (8, 700, 1027), (40, 9, 3001)])
def test_half_products_of_few_rows_read_weights_in_either_order(
    dtype: str, shape: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(1)
    m, k, n = shape
    for layout in (0, 1):
        a, b = operand(rng, m, k, dtype, layout), operand(rng, k, n, dtype, layout)
        check(F.matmul(a, b), a, b)
        check(F.matmul(a[0], b), a[0], b)
        check(F.matmul(a, b[:, 0]), a, b[:, 0])


@pytest.mark.parametrize("dtype", HALVES)
def test_half_products_of_batches_broadcast(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for left, right in [
        ((5, 1, 7, 33), (4, 33, 17)),
        ((3, 20, 64), (3, 64, 20)),
        ((2, 0, 3), (3, 4)),
    ]:
        a, b = half(rng, left, dtype), half(rng, right, dtype)
        check(F.matmul(a, b), a, b)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.usefixtures("threads")
def test_half_products_have_the_same_bits_on_any_number_of_threads(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for m, k, n in [(300, 301, 150), (1, 2000, 1500), (6, 1001, 2000), (97, 4500, 64)]:
        a, b = half(rng, (m, k), dtype), half(rng, (k, n), dtype)
        found = []
        for count in (1, 2, 3):
            tl.set_num_threads(count)
            found.append(np.array(F.astype(F.matmul(a, b), "float32")))
        assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("activation", ["positive", "relu"])
def test_linear_layers_of_half_products_round_once(dtype: str, activation: str) -> None:
    rng = np.random.default_rng(4)
    x, weight, bias = (half(rng, shape, dtype) for shape in ((2, 37, 65), (65, 50), (50,)))
    found = tl.apply(tl.ops.Linear(activation=activation), x, weight, bias)[0]
    if activation == "positive":
        check(found, x, weight, wide(bias))
        return
    plain = tl.apply(tl.ops.Linear(), x, weight, bias)[0]
    assert np.array_equal(wide(found), np.maximum(wide(plain), 0))


@pytest.mark.parametrize("dtype", HALVES)
def test_programs_keep_weights_of_half_products_packed(dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, weight = half(rng, (70, 130), dtype), half(rng, (130, 90), dtype)
    listing = tl.Listing()
    y = F.matmul(listing.input("x", (70, 130), dtype), weight)
    compiled = static.CompiledProgram(listing)
    for _ in range(2):
        found = compiled.run([y], x)[0]
        assert np.array_equal(wide(found), wide(F.matmul(x, weight)))


def test_products_of_halves_with_other_dtypes_are_those_of_float32() -> None:
    rng = np.random.default_rng(6)
    a = half(rng, (9, 12), "bfloat16")
    counts = tl.tensor(rng.integers(-100, 100, (12, 5)).astype(np.int8))
    found = F.matmul(a, counts)
    assert found.dtype is tl.bfloat16
    wanted = F.astype(F.matmul(F.astype(a, "float32"), F.astype(counts, "float32")), "bfloat16")
    assert np.array_equal(wide(found), wide(wanted))
    mixed = F.matmul(a, half(rng, (12, 5), "float16"))
    assert mixed.dtype is tl.float32


def test_half_products_carry_infinity_and_nan() -> None:
    for dtype in HALVES:
        a = np.ones((20, 30), np.float32)
        a[3, 4], a[5, 6] = np.inf, np.nan
        found = wide(F.matmul(F.astype(tl.tensor(a), dtype), F.astype(tl.ones((30, 40)), dtype)))
        assert np.all(found[3] == np.inf) and np.all(np.isnan(found[5]))
        assert np.all(found[0] == 30)
