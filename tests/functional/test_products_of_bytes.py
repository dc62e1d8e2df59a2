"""Products of bytes and what goes around them, against their plain meaning, on generated inputs:
zero points at the ends of the range, rows that are all equal, or 0, or not finite, sizes that are
no multiple of anything, and none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import EXACT

import tensorlike as tl
from tensorlike import functional as F

SIZES = (0, 1, 2, 3, 4, 5, 13, 14, 15, 31, 32, 33, 63, 64, 65, 127, 128, 129)
BYTES = ("int8", "uint8")
SEEDS = range(24)


def size(rng: Any) -> int:
    return int(rng.choice(SIZES))


def integers(rng: Any, dtype: str, shape: Any) -> Any:
    """Any, or only the ends of the range."""
    info = np.iinfo(dtype)
    if rng.integers(3) == 0:
        return rng.choice([info.min, info.max], shape).astype(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def numbers(rng: Any, shape: Any, dtype: str = "float32") -> Any:
    """Ordinary ones, with rows that are 0, equal, tiny, huge, or not finite."""
    x = rng.standard_normal(shape).astype(dtype)
    rows = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(0, 1)
    special = [0.0, -0.0, 2.5, 1e-38, -1e38, np.inf, -np.inf, np.nan]
    for row in rows:
        if rng.integers(3) == 0:
            row[:] = rng.choice(special[:5])
        elif rng.integers(4) == 0:
            row[rng.integers(len(row))] = rng.choice(special)
    return x


def laid_out(rng: Any, x: Any) -> Any:
    """The same elements in another order of memory."""
    how = rng.integers(3)
    if how == 0 or x.ndim < 2:
        return tl.tensor(x)
    if how == 1:
        return F.permute_dims(tl.tensor(np.ascontiguousarray(np.swapaxes(x, -1, -2))),
                              axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))  # fmt: skip
    wide = np.concatenate([x, x], axis=-1)
    return tl.tensor(wide)[..., : x.shape[-1]]


@pytest.mark.parametrize("seed", SEEDS)
def test_products_less_their_zero_points_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for left in BYTES:
        for right in BYTES:
            m, k, n = size(rng), size(rng), size(rng)
            batch = () if rng.integers(2) else (2,)
            a, b = integers(rng, left, (*batch, m, k)), integers(rng, right, (k, n))
            a_zero = integers(rng, left, (m, 1) if rng.integers(2) else ())
            b_zero = integers(rng, right, (1, n) if rng.integers(2) else ())
            found = F.matmul_integer(laid_out(rng, a), laid_out(rng, b), a_zero, b_zero)
            wide = [x.astype(np.int64) for x in (a, a_zero, b, b_zero)]
            wanted = (wide[0] - wide[1]) @ (wide[2] - wide[3])
            assert found.dtype == tl.int32
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["quantized_linear", "dynamic_quantized_linear"])
def test_layers_of_bytes_are_their_bodies(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = size(rng), size(rng), size(rng)
    x, weight = numbers(rng, (m, k)), integers(rng, "int8", (k, n))
    if name == "quantized_linear":
        x = np.where(np.isnan(x), 1, x).astype(np.float32)  # an integer of NaN is anything
    scale = rng.uniform(0.001, 0.01, (n,) if rng.integers(2) else ()).astype(np.float32)
    bias = rng.standard_normal((n,) if rng.integers(2) else ()).astype(np.float32)
    steps = rng.uniform(0.01, 0.1, (m, 1) if rng.integers(2) else ()).astype(np.float32)
    given = (x, weight, steps, scale, bias) if name == "quantized_linear" else (
        x, weight, scale, bias)  # fmt: skip
    found = np.asarray(getattr(F, name)(laid_out(rng, x), *given[1:]))
    with np.errstate(all="ignore"):
        wanted = plain_layer(*given) if name == "quantized_linear" else plain_dynamic(*given)
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)


def plain_layer(x: Any, weight: Any, steps: Any, scale: Any, bias: Any) -> Any:
    q = np.clip(np.rint(x * (np.float32(1) / steps)), -127, 127)
    return (q.astype(np.float64) @ weight).astype(np.float32) * (steps * scale) + bias


def plain_dynamic(x: Any, weight: Any, scale: Any, bias: Any) -> Any:
    most = np.max(np.abs(x), axis=-1, keepdims=True, initial=0)
    steps = np.maximum(most, np.float32(1e-30)) / np.float32(127)
    q = np.nan_to_num(np.clip(np.rint(x * (np.float32(1) / steps)), -127, 127))
    return (q.astype(np.float64) @ weight).astype(np.float32) * (steps * scale) + bias


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_of_a_range_are_those_of_the_body(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = numbers(rng, (max(size(rng), 1), max(size(rng), 1)), dtype)
    x = np.where(np.isfinite(x), x, 3).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = EXACT.call("dynamic_quantize_linear", x)
    for found, other in zip(F.dynamic_quantize_linear(laid_out(rng, x)), wanted, strict=True):
        np.testing.assert_array_equal(found, other)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 40000])
def test_bytes_of_what_is_not_finite_stand_for_nothing_that_is(bad: float, count: int) -> None:
    x = np.ones(count, np.float32)
    x[count // 2] = bad
    q, scale, zero = F.dynamic_quantize_linear(x)
    assert not np.isfinite(scale.item())
    with np.errstate(invalid="ignore"):
        back = (np.asarray(q, np.float32) - zero.item()) * scale.item()
    assert np.isnan(back).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_recurrence_of_bytes_is_a_scan_over_its_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps, count = int(rng.integers(0, 6)), int(rng.integers(0, 4))
    width = int(rng.choice([0, 1, 3, 4, 5, 15, 16, 17, 33, 64]))
    dtype = str(rng.choice([*BYTES, "int32"]))
    gates = (4 * width,)
    given = {
        "sums": rng.standard_normal((steps, count, *gates)).astype(np.float32),
        "weight": integers(rng, dtype if dtype != "int32" else "int8", (*gates, width)),
        "weight_scale": rng.uniform(1e-3, 1e-2, gates if rng.integers(2) else ()),
        "weight_zero_point": integers(rng, "int8" if dtype == "int32" else dtype,
                                      gates if rng.integers(2) else ()),
        "hidden": numbers(rng, (count, width)), "cell": numbers(rng, (count, width)),
        "lengths": rng.integers(0, steps + 2, (count,) if rng.integers(2) else ()),
    }  # fmt: skip
    given["weight_scale"] = given["weight_scale"].astype(np.float32)
    given["weight"] = given["weight"].astype(dtype)
    reverse = bool(rng.integers(2))
    found = F.dynamic_quantized_lstm(*given.values(), reverse=reverse)
    with np.errstate(all="ignore"):
        wanted = EXACT.call("dynamic_quantized_lstm", *given.values(), reverse=reverse)
    for ours, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, other, 1e-4, 1e-5)


@pytest.mark.parametrize("count", [1, 4, 40])
def test_a_recurrence_of_bytes_is_the_same_on_any_threads(count: int) -> None:
    rng = np.random.default_rng(count)
    width, steps = 160, 4
    given = (
        rng.standard_normal((steps, count, 4 * width)).astype(np.float32),
        integers(rng, "int8", (4 * width, width)), np.float32(0.002), np.int8(3),
        rng.standard_normal((count, width)).astype(np.float32),
        rng.standard_normal((count, width)).astype(np.float32),
        rng.integers(0, steps + 1, count),
    )  # fmt: skip
    before, found = tl.num_threads(), []
    try:
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            found.append([np.asarray(y) for y in F.dynamic_quantized_lstm(*given)])
    finally:
        tl.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)
