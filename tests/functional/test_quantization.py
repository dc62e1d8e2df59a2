"""Integers of 8 and 16 bits, what they stand for, and layers of their products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

RNG = np.random.default_rng(8)
SIZES = [(1, 1, 1), (3, 5, 7), (14, 4, 32), (15, 384, 33), (71, 127, 65), (150, 1000, 130)]


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_of_bytes_are_exact(size: Any, extreme: bool) -> None:
    """Nothing saturates on the way: not even where all products are the largest."""
    m, k, n = size
    x, weight = RNG.integers(-127, 128, (m, k)), RNG.integers(-128, 128, (k, n))
    if extreme:
        x, weight = np.where(x > 0, 127, -127), np.where(weight > 0, 127, -128)
        x[0], weight[:, 0] = 127, -128
    given = tl.tensor(x.astype(np.float32)), tl.tensor(weight.astype(np.int8))
    found = F.quantized_linear(*given, 1.0, 1.0, 0.0)
    np.testing.assert_array_equal(found, (x @ weight).astype(np.float32))
    np.testing.assert_array_equal(F.matmul_integer(x.astype(np.int8), given[1], 0, 0), x @ weight)


@pytest.mark.parametrize("activation", ["positive", "relu", "gelu", "leaky_relu", "isfinite"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_of_bytes_are_what_wide_integers_give(size: Any, activation: str) -> None:
    """int8 takes the packed product, int32 that of the body."""
    m, k, n = size
    x, bias = RNG.standard_normal((2, m, k), np.float32), RNG.standard_normal(n, np.float32)
    weight = RNG.integers(-128, 128, (k, n)).astype(np.int8)
    scale = RNG.uniform(0.001, 0.01, n).astype(np.float32)
    columns = np.ascontiguousarray(weight.T).T
    for bytes_ in (weight, columns):
        found = F.dynamic_quantized_linear(x, bytes_, scale, bias, activation)
        wanted = F.dynamic_quantized_linear(x, weight.astype(np.int32), scale, bias, activation)
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-5, strict=True)


def test_products_of_bytes_with_empty_sizes_are_the_bias() -> None:
    weight = np.zeros((0, 3), np.int8)
    y = F.quantized_linear(np.zeros((2, 0), np.float32), weight, 1.0, 1.0, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(y, [[1, 2, 3]] * 2)
    assert F.dynamic_quantized_linear(
        np.zeros((0, 4)), np.zeros((4, 3), np.int8), 1.0, 0.0
    ).shape == (
        0,
        3,
    )


def test_products_of_bytes_with_rows_of_nan_are_nan() -> None:
    x = np.ones((3, 40), np.float32)
    x[1, 7] = np.nan
    y = np.asarray(F.dynamic_quantized_linear(x, np.ones((40, 20), np.int8), 1.0, 0.0))
    assert np.isnan(y[1]).all() and np.isfinite(y[[0, 2]]).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_numbers_become_the_nearest_integers_or_the_last_ones(dtype: Any) -> None:
    x = np.concatenate([RNG.uniform(-1e5, 1e5, 200), np.arange(-20, 20) / 2]).astype(np.float32)
    info = np.iinfo(dtype)
    found = F.quantize_linear(x, 1.0, 3, dtype)
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found, np.clip(np.rint(x) + 3, info.min, info.max))
    with pytest.raises(tl.DTypeError):
        F.quantize_linear(x, 1.0, 0, "int32")  # type: ignore[arg-type]


def test_halves_become_integers_of_sixteen_bits() -> None:
    x = tl.tensor(np.arange(0, 2000, 100), tl.float16)
    assert F.quantize_linear(x, tl.tensor(0.0625, tl.float16), 1, "int16").tolist() == [
        1600 * i + 1 for i in range(20)
    ]


def test_channels_have_scales_of_their_own() -> None:
    x = RNG.standard_normal((2, 3, 5), np.float32)
    scale, zero = np.array([[0.1], [0.01], [1.0]], np.float32), np.array([[1], [2], [3]], np.int8)
    back = F.dequantize_linear(F.quantize_linear(x * 0.5, scale, zero), scale, zero)
    wide = zero.astype(np.int32)
    clipped = np.clip(x * 0.5, (-128 - wide) * scale, (127 - wide) * scale)
    assert (np.abs(back - clipped) <= scale / 2 + 1e-6).all()


@pytest.mark.parametrize("x", [[0.0, 0.0], [1.0, 2.0], [-3.0, -1.0], [-1.5, 2.5]], ids=str)
def test_dynamic_integers_contain_zero(x: Any) -> None:
    q, scale, zero_point = F.dynamic_quantize_linear(x)
    assert q.dtype == tl.uint8 and zero_point.dtype == tl.uint8
    back = F.dequantize_linear(q, scale, zero_point)
    np.testing.assert_allclose(back, x, atol=scale.item() / 2 + 1e-6)


def test_wrong_operands_are_refused() -> None:
    x, weight = np.ones((2, 4), np.float32), np.ones((4, 3), np.int8)
    with pytest.raises(tl.DTypeError):
        F.dynamic_quantized_linear(x, weight.astype(np.float32), 1.0, 0.0)
    with pytest.raises(tl.ShapeError):
        F.dynamic_quantized_linear(x, weight[1:], 1.0, 0.0)
    with pytest.raises(tl.ShapeError):
        F.quantized_linear(x, weight, np.ones(4), 1.0, 0.0)
    with pytest.raises(tl.ShapeError, match="131072"):
        F.dynamic_quantized_linear(np.ones((1, 131073)), np.ones((131073, 1), np.int8), 1.0, 0.0)
