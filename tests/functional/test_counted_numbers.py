"""Tensors that are made of nothing: counted and filled, beside NumPy, at any length and dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

LENGTHS = [0, 1, 2, 7, 64, 1000, 1024, 1025, 4095, 4096, 4097, 16385, 50_001]
WHOLE = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ENDS = [(0, 1), (-2.5, 7.1), (3.0, 3.0), (1, -1), (1e16, 1e16 + 4), (0, 1e-310)]
REAL = ["float16", "bfloat16", "float32", "float64"]


def bits(x: Any) -> Any:
    """The elements as integers, so that signs of zeros count."""
    given = np.ascontiguousarray(x)
    return given.view(f"u{given.dtype.itemsize}")


def in_dtype(x: Any, dtype: str) -> Any:
    """Of float64, rounded once; bfloat16 by our own cast, which other tests hold."""
    return np.asarray(tl.astype(tl.tensor(x), dtype=dtype))


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers_of_any_length_are_counted(dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    for length in LENGTHS:
        for start, step in [(0, 1), (3, 2), (most, -1), (most // 2, 3), (most - 7, -5)]:
            last = start + (length - 1) * step
            stop = start + length * step
            if length and not np.iinfo(dtype).min <= last <= most:
                continue
            if not -(2**63) <= stop < 2**63:
                continue
            made = np.asarray(tl.arange(start, stop, step, dtype=dtype))
            assert made.tolist() == list(range(start, stop, step)), (length, start, step)


@pytest.mark.parametrize("dtype", REAL)
def test_numbers_of_any_length_are_counted_in_double(dtype: str) -> None:
    for length in LENGTHS:
        for start, step in [(0.0, 1.0), (0.1, 0.1), (-3.7, 1e-3), (1e9, -0.7), (2.0, 1 / 3)]:
            stop = start + (length - 0.5) * step
            made = np.asarray(tl.arange(start, stop, step, dtype=dtype))
            expected = in_dtype(start + np.arange(length) * step, dtype)
            assert made.shape == (length,)
            assert np.array_equal(bits(made), bits(expected)), (length, start, step)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("endpoint", [True, False])
def test_evenly_spaced_numbers_end_where_they_should(dtype: str, endpoint: bool) -> None:
    for length in LENGTHS:
        for start, stop in ENDS:
            limits = tl.finfo(getattr(tl, dtype))
            size = max(abs(start), abs(stop))
            if size > limits.max:
                continue
            made = tl.linspace(start, stop, length, dtype=dtype, endpoint=endpoint)
            assert made.shape == (length,) and made.dtype is getattr(tl, dtype)
            expected = np.linspace(start, stop, length, endpoint=endpoint, dtype=np.float64)
            found = np.asarray(tl.astype(made, dtype="float64"))
            apart = float(limits.eps) * size + float(limits.smallest_normal)
            assert np.all(np.abs(found - expected) <= apart), (length, start, stop)
            if endpoint and length > 1:
                assert math.isclose(found[-1], in_dtype(np.float64(stop), dtype), rel_tol=0)


def test_numbers_too_far_apart_are_spaced_too() -> None:
    made = np.asarray(tl.linspace(-1.7e308, 1.7e308, 5, dtype=tl.float64))
    assert np.all(np.isfinite(made))
    assert np.allclose(made, [-1.7e308, -0.85e308, 0, 0.85e308, 1.7e308])
    assert np.asarray(tl.linspace(0, 1e30, 3, dtype=tl.float16)).tolist() == [0.0, np.inf, np.inf]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (4, 4), (3, 7), (33, 65)])
def test_ones_stand_on_any_diagonal(shape: tuple[int, int]) -> None:
    rows, columns = shape
    for k in (-100, -7, -3, -1, 0, 1, 2, 6, 7, 100):
        for dtype in ("float32", "bool", "int8", "complex64", "float16"):
            made = np.asarray(tl.eye(rows, columns, k=k, dtype=dtype))
            assert np.array_equal(made, np.eye(rows, columns, k=k, dtype=dtype)), (shape, k, dtype)


@pytest.mark.parametrize("dtype", ["bool", *WHOLE, *REAL, "complex64", "complex128"])
def test_numbers_fill_any_length(dtype: str) -> None:
    for length in [*range(70), *LENGTHS]:
        made = np.asarray(tl.full(length, 1, dtype=dtype))
        assert made.shape == (length,) and bool(np.all(made == made.dtype.type(1)))


def test_counted_numbers_are_the_same_under_transforms() -> None:
    def f(x: Any) -> Any:
        return x @ tl.eye(4, k=1) + tl.linspace(0, 1, 4)

    x = tl.tensor(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
    expected = np.asarray(f(x))
    assert np.array_equal(np.asarray(tl.vmap(f)(x)), expected)
    assert np.array_equal(np.asarray(tl.jit.trace(f)(x)), expected)
    value, slope = tl.jvp(f, (x,), (x,))
    assert np.array_equal(np.asarray(value), expected)
    assert np.allclose(np.asarray(slope), np.asarray(x @ tl.eye(4, k=1)))
