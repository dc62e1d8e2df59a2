"""Convolutions and products of bytes: exact on every level, and layers of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import EXACT

import tensorlike as tl
from tensorlike import functional as F

BYTES = ("int8", "uint8")


def geometry(seed: int, extreme: bool = False) -> tuple[Any, Any, dict[str, Any]]:
    """Images and weights of any integers that are bytes, and attributes."""
    rng = np.random.default_rng(seed)
    spatial = int(rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 5]))
    channels, out = int(rng.integers(1, 10)), int(rng.integers(1, 20))
    kernel = rng.integers(1, 4, spatial)
    dilation, stride = rng.integers(1, 4, spatial), rng.integers(1, 4, spatial)
    padding = rng.integers(0, 4, spatial)
    sizes = np.maximum((kernel - 1) * dilation + 1 - 2 * padding, 1) + rng.integers(0, 25, spatial)
    x = rng.integers(-128, 128, (int(rng.integers(1, 4)), groups * channels, *sizes))
    weight = rng.integers(-128, 128, (groups * out, channels, *kernel))
    if extreme:
        x, weight = np.where(x > 0, 127, -128), np.where(weight > 0, 127, -128)
        weight[0] = x[0] = 127
        weight[-1] = -128
    attrs = {"stride": stride, "padding": padding, "dilation": dilation}
    return x, weight, {k: tuple(map(int, v)) for k, v in attrs.items()} | {"groups": groups}


def as_bytes(x: Any, dtype: str) -> Any:
    return (x + 128 if dtype == "uint8" else x).astype(dtype)


def convolved(x: Any, weight: Any, attrs: dict[str, Any]) -> Any:
    return EXACT.call("convolution", x.astype(np.float64), weight.astype(np.float64), **attrs)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_convolutions_of_products_of_bytes_are_exact(seed: int, extreme: bool) -> None:
    x, weight, attrs = geometry(seed, extreme)
    rng = np.random.default_rng(seed)
    for x_dtype, weight_dtype in [(a, b) for a in BYTES for b in BYTES]:
        given, of_bytes = as_bytes(x, x_dtype), as_bytes(weight, weight_dtype)
        x_zero = rng.integers(np.iinfo(x_dtype).min, np.iinfo(x_dtype).max + 1)
        zero = as_bytes(rng.integers(-128, 128, len(weight)), weight_dtype)
        for x_off, off in [(0, 0), (x_zero, 0), (0, zero), (x_zero, zero), (x_zero, zero[0])]:
            found = F.conv_integer(given, of_bytes, x_off, off, **attrs)
            column = np.reshape(off, (-1, *[1] * (weight.ndim - 1))).astype(np.int64)
            wanted = convolved(given.astype(np.int64) - x_off, of_bytes - column, attrs)
            assert found.dtype == tl.int32
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(1, 64, 56, 56), (3, 32, 7, 7), (1, 3, 40, 150)], ids=str)
@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("groups", [1, 32])
def test_large_convolutions_of_products_of_bytes_are_exact(
    shape: Any, kernel: int, groups: int
) -> None:
    """Many strips, threads and tiles; depthwise too."""
    rng = np.random.default_rng(1)
    groups = 1 if shape[1] % groups else groups
    x = rng.integers(0, 256, shape).astype(np.uint8)
    weight = rng.integers(-128, 128, (64, shape[1] // groups, kernel, kernel)).astype(np.int8)
    attrs = {"stride": 1, "padding": kernel // 2, "dilation": 1, "groups": groups}
    wanted = np.asarray(
        F.convolution(x.astype(np.float64) - 100, weight.astype(np.float64), **attrs)
    )
    np.testing.assert_array_equal(F.conv_integer(x, weight, 100, 0, **attrs), wanted)


@pytest.mark.parametrize("size", [(1, 1, 1), (3, 5, 7), (15, 384, 33), (71, 130, 65)], ids=str)
@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_products_of_bytes_less_zero_points_are_exact(size: Any, left: str, right: str) -> None:
    m, k, n = size
    rng = np.random.default_rng(3)
    a, b = (
        as_bytes(rng.integers(-128, 128, s), d) for s, d in (((2, m, k), left), ((k, n), right))
    )
    a[0, 0], b[:, 0] = np.iinfo(left).max, np.iinfo(right).max
    rows, columns = as_bytes(rng.integers(-128, 128, (2, m, 1)), left), b[:1]
    batch = np.stack([b, b[::-1]])
    for off, one in [(0, 0), (rows, 0), (rows[0], columns), (rows[0, 0, 0], columns[0, 0])]:
        for other in (b, np.ascontiguousarray(b.T).T, batch):
            wanted = (a.astype(np.int64) - off) @ (other.astype(np.int64) - one)
            np.testing.assert_array_equal(F.matmul_integer(a, other, off, one), wanted)


def test_products_of_integers_of_any_width_wrap() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(-(2**31), 2**31, (2, 5, 6)).astype(np.int32)
    wanted = (a.astype(np.int64) - 3) @ (b.T.astype(np.int64) - 5)
    found = F.matmul_integer(a, b.T, 3, 5)
    np.testing.assert_array_equal(found, wanted.astype(np.uint64).astype(np.uint32).view(np.int32))
    assert F.matmul_integer(a[:0], b.T, 0, 0).shape == (0, 5)
    np.testing.assert_array_equal(F.matmul_integer(a[:, :0], b.T[:0], 0, 0), np.zeros((5, 5)))


@pytest.mark.parametrize("activation", ["positive", "relu", "gelu", "leaky_relu", "isfinite"])
@pytest.mark.parametrize("seed", range(8))
def test_layers_of_products_of_bytes_are_what_wide_integers_give(
    seed: int, activation: str
) -> None:
    """int8 takes the packed product, int32 that of the body."""
    shape, weight, attrs = geometry(seed)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape.shape, np.float32)
    scale, bias = rng.uniform(0.001, 0.01, (2, len(weight))).astype(np.float32)
    how = attrs | {"activation": activation}
    small, wide = weight.astype(np.int8), weight.astype(np.int32)
    for scales in (0.02, rng.uniform(0.01, 0.03, len(x)).astype(np.float32), None):
        call: Any = F.dynamic_quantized_convolution if scales is None else F.quantized_convolution
        more = () if scales is None else (scales,)
        found = call(x, small, *more, scale, bias, **how)
        wanted = call(x, wide, *more, scale, bias, **how)
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-5, strict=True)


def test_a_quantised_convolution_of_each_image_does_not_see_the_others() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3, 6, 9, 9), np.float32)
    weight = rng.integers(-127, 128, (5, 6, 3, 3)).astype(np.int8)
    whole = np.asarray(F.dynamic_quantized_convolution(x, weight, 0.01, 0.0))
    x[2] *= 1000
    again = np.asarray(F.dynamic_quantized_convolution(x, weight, 0.01, 0.0))
    np.testing.assert_array_equal(whole[:2], again[:2])
    x[1, 0, 0, 0] = np.nan
    odd = np.asarray(F.dynamic_quantized_convolution(x, weight, 0.01, 0.0))
    assert np.isnan(odd[1]).all() and np.isfinite(odd[[0, 2]]).all()


def test_halves_and_doubles_go_through_a_quantised_convolution() -> None:
    rng = np.random.default_rng(6)
    x, weight = rng.standard_normal((2, 4, 9)), rng.integers(-127, 128, (3, 4, 3)).astype(np.int8)
    (exact,) = (F.dynamic_quantized_convolution(x, weight, np.full(3, 0.01), np.zeros(3)),)
    assert exact.dtype == tl.float64
    half = F.dynamic_quantized_convolution(
        x.astype(np.float16), weight, np.full(3, 0.01, np.float16), np.zeros(3, np.float16)
    )
    assert half.dtype == tl.float16
    np.testing.assert_allclose(half, exact, atol=0.1)


def test_convolutions_of_bytes_with_empty_sizes_are_empty_or_the_bias() -> None:
    weight = np.zeros((3, 0, 2), np.int8)
    y = F.quantized_convolution(np.zeros((2, 0, 4), np.float32), weight, 1.0, 1.0, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(y, np.broadcast_to([[[1], [2], [3]]], (2, 3, 3)))
    none = np.zeros((0, 4, 5), np.float32)
    assert F.dynamic_quantized_convolution(none, np.zeros((3, 4, 2), np.int8), 1.0, 0.0).shape == (
        0, 3, 4,
    )  # fmt: skip
    assert (
        F.conv_integer(np.zeros((2, 4, 5), np.int8), np.zeros((0, 4, 2), np.int8), 0, 0).size == 0
    )


def test_wrong_operands_of_convolutions_of_bytes_are_refused() -> None:
    x, weight = np.ones((2, 4, 9), np.float32), np.ones((3, 4, 2), np.int8)
    with pytest.raises(tl.DTypeError):
        F.dynamic_quantized_convolution(x, weight.astype(np.float32), 1.0, 0.0)
    with pytest.raises(tl.DTypeError):
        F.conv_integer(x, weight, 0, 0)
    with pytest.raises(tl.ShapeError):
        F.dynamic_quantized_convolution(x, weight[:, 1:], 1.0, 0.0)
    with pytest.raises(tl.ShapeError, match="x_scale"):
        F.quantized_convolution(x, weight, np.ones(3), 1.0, 0.0)
    with pytest.raises(tl.ShapeError, match="weight_scale"):
        F.quantized_convolution(x, weight, 1.0, np.ones((3, 1)), 0.0)
    with pytest.raises(tl.ShapeError, match="131072"):
        F.dynamic_quantized_convolution(
            np.ones((1, 131073, 1)), np.ones((1, 131073, 1), np.int8), 1.0, 0.0
        )


def test_weights_that_are_kept_give_the_same_bits() -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(0, 256, (2, 6, 20, 20)).astype(np.uint8)
    weight = rng.integers(0, 256, (9, 6, 3, 3)).astype(np.uint8)
    listing = tl.Listing()
    given = listing.input("x", x.shape, tl.uint8)
    y = F.conv_integer(given, tl.tensor(weight), 7, tl.tensor(100, tl.uint8), padding=1)
    compiled = tl.static.CompiledProgram(listing)
    for _ in range(2):
        (found,) = compiled.run([y], tl.tensor(x))
        np.testing.assert_array_equal(found, F.conv_integer(x, weight, 7, 100, padding=1))


@pytest.mark.parametrize("seed", range(12))
def test_convolutions_of_products_of_bytes_become_bytes_in_one_step(seed: int) -> None:
    """Bytes from the packed product, and wide integers from the body's sums."""
    x, weight, attrs = geometry(seed)
    rng = np.random.default_rng(seed)
    channels = len(weight)
    column = (-1, *[1] * (weight.ndim - 2))
    for size in ((), (channels,)):
        bias = rng.integers(-5000, 5000, size).astype(np.int32)
        factor = rng.uniform(1e-4, 4e-3, size).astype(np.float32)
        for dtype in BYTES:
            x_zero, zero = int(rng.integers(0, 256)), int(rng.integers(-20, 21))
            given = as_bytes(x, "uint8")
            sums = np.asarray(F.conv_integer(given, weight.astype(np.int8), x_zero, 0, **attrs))
            sums = sums + (bias.reshape(column) if size else bias)
            real = sums.astype(np.float32) * (factor.reshape(column) if size else factor)
            limits = np.iinfo(dtype)
            wanted = np.clip(np.rint(real) + zero, limits.min, limits.max).astype(dtype)
            for kind in (np.int8, np.int32):
                found = F.requantized_convolution(
                    given, weight.astype(kind), x_zero, 0, bias, factor, zero,
                    is_signed=dtype == "int8", **attrs,
                )  # fmt: skip
                np.testing.assert_array_equal(found, wanted, strict=True)
