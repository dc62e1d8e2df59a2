"""Sums, extremes, their places, and whether any or all are true, of every real dtype: what NumPy
gives, for lengths around those of vectors and blocks, any layout and any number of threads."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

Array = np.ndarray[Any, Any]
WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("bool", *WHOLE, "float32", "float64")
SIZES = (1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129, 200, 1000)
LONG = (1023, 1024, 1025, 2050, 3000, 33000, 70001, 140000)


def drawn(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Array:
    """Any numbers; few different ones; zeros of both signs, NaN and the dtype's ends among them."""
    numpy = np.random.default_rng(rng.randrange(1 << 30))
    how = rng.choice(("any", "few", "rare", "same"))
    if dtype == "bool":
        share = {"any": 0.5, "few": 0.9, "rare": 1e-4, "same": 0.0}[how]
        return (numpy.random(shape) < share) ^ (rng.random() < 0.5)
    if dtype in WHOLE:
        info = np.iinfo(dtype)
        if how == "any":
            return numpy.integers(info.min, info.max, shape, dtype, endpoint=True)
        if how == "few":
            return numpy.integers(0, 5, shape).astype(dtype)
        x = np.full(shape, rng.choice((0, info.min, info.max)), dtype)
        if how == "rare":
            x[numpy.random(shape) < 0.01] = rng.choice((1, info.min, info.max))
        return x
    x = numpy.normal(size=shape).astype(dtype)
    if how == "few":
        return np.round(x)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    if how == "rare":
        return np.where(numpy.random(shape) < 0.01, numpy.choice(special, shape), x)
    return numpy.choice(special[3:], shape) if how == "same" else x


def laid_out(rng: random.Random, x: Array) -> tuple[tl.Tensor, Array]:
    """A view, ours and NumPy's."""
    match rng.randrange(5):
        case 1:
            return tl.tensor(x).T if x.ndim == 2 else tl.tensor(x), x.T if x.ndim == 2 else x
        case 2:
            return tl.tensor(x)[::-1], x[::-1]
        case 3:
            return tl.tensor(x)[..., ::-2], x[..., ::-2]
        case 4 if len(x) > 1:
            return tl.tensor(x)[1:], x[1:]
    return tl.tensor(x), x


def equal(found: Any, wanted: Any) -> None:
    found = np.asarray(found)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_are_those_of_numpy(dtype: str, seed: int) -> None:
    rng = random.Random(f"{dtype} {seed}")
    threads = tl.num_threads()
    try:
        for _ in range(40):
            ndim = rng.choice((1, 2, 2, 3))
            shape = [rng.choice(SIZES) for _ in range(ndim)]
            if rng.random() < 0.3:
                shape = [rng.choice(LONG), *([rng.choice((1, 2, 3))] * (ndim - 1))]
                rng.shuffle(shape)
            while np.prod(shape) > 300_000:
                shape[rng.randrange(ndim)] = 1
            ours, x = laid_out(rng, drawn(rng, tuple(shape), dtype))
            axis = rng.randrange(x.ndim)
            tl.set_num_threads(rng.choice((1, 2, 5)))
            for name in ("any", "all"):
                equal(getattr(F, name)(ours, axis=axis), getattr(np, name)(x, axis=axis))
            if dtype == "bool":
                equal(F.sum(ours, axis=axis), np.sum(x, axis=axis, dtype=np.int64))
                continue
            for name in ("max", "min", "argmax", "argmin"):
                equal(getattr(F, name)(ours, axis=axis), getattr(np, name)(x, axis=axis))
            if dtype in WHOLE:
                equal(F.sum(ours, axis=axis), np.sum(x, axis=axis))
    finally:
        tl.set_num_threads(threads)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "argmax"])
def test_halves_reduce_as_the_same_numbers_in_float32(name: str, dtype: str) -> None:
    for shape, axis in [((7, 700), 1), ((3, 5000), 1), ((150_000,), 0), ((500, 13), 1),
                        ((300, 65), 0), ((0, 4), 1), ((5, 1030, 3), 1)]:  # fmt: skip
        x = tl.tensor(np.random.default_rng(3).normal(size=shape).astype("float32")).astype(dtype)
        found = getattr(F, name)(x, axis=axis)
        wide = getattr(F, name)(x.astype("float32"), axis=axis)
        wanted = wide if name == "argmax" else wide.astype(dtype).astype("float32")
        np.testing.assert_array_equal(
            np.asarray(found if name == "argmax" else found.astype("float32")), np.asarray(wanted)
        )
