"""Elementwise calls on operands of every layout give the bits that they give on copies in order:
axes permuted, turned round, in steps, repeated; in every engine mode and number of threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128")  # fmt: skip
# Sides about those of blocks, tiles and short rows; most shapes are large enough for blocks.
SIDES = (1, 2, 3, 5, 16, 17, 49, 63, 64, 65, 127, 129, 196, 255, 257, 300, 1023, 1030, 2100)


def drawn_shape(rng: random.Random) -> tuple[int, ...]:
    shape = [rng.choice(SIDES) for _ in range(rng.choice((1, 2, 2, 2, 3, 3, 4)))]
    while np.prod(shape) > 150_000:
        shape[rng.randrange(len(shape))] = rng.choice((1, 2, 3, 5, 16))
    if rng.random() < 0.05:
        shape[rng.randrange(len(shape))] = 0
    return tuple(shape)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> tl.Tensor:
    x = np.random.default_rng(seed).integers(0, 100, shape)
    return tl.tensor(x.astype("float32" if dtype == "bfloat16" else dtype)).astype(dtype)


def drawn_operand(rng: random.Random, shape: tuple[int, ...], dtype: str) -> tl.Tensor:
    """A view of this shape, or of one that broadcasts to it."""
    axes = rng.sample(range(len(shape)), len(shape))
    if rng.random() < 0.3:
        axes.sort()
    repeats = [rng.random() < 0.25 for _ in shape]
    steps = [rng.choice((1, 1, 1, 2, -1)) for _ in shape]
    sizes = [1 if r else n * abs(s) for n, r, s in zip(shape, repeats, steps, strict=True)]
    stored = numbers(tuple(sizes[a] for a in axes), dtype, rng.randrange(1000))
    x = F.permute_dims(stored, axes=tuple(np.argsort(axes).tolist()))
    key = tuple(slice(None, None, 1 if r else s) for r, s in zip(repeats, steps, strict=True))
    return x[key] if shape else x


def in_order(x: tl.Tensor, shape: tuple[int, ...]) -> tl.Tensor:
    """The same numbers in C order of the whole shape."""
    return F.reshape(F.reshape(F.broadcast_to(x, shape), (-1,)), shape)


CALLS: dict[str, tuple[int, Callable[..., tl.Tensor]]] = {
    "add": (2, F.add),
    "square": (1, F.square),
    "equal": (2, F.equal),
    "where": (3, lambda a, b, c: F.where(a.astype("bool"), b, c)),
    "chain": (3, lambda a, b, c: a * b + c),
    "several": (3, lambda a, b, c: (a + b) * (b + c) + a),
}


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts_change_no_bits(dtype: str, mode: str) -> None:
    rng = random.Random(f"{dtype} {mode}")
    before = tl.num_threads()
    for _ in range(40):
        shape = drawn_shape(rng)
        name = rng.choice([n for n in CALLS if dtype != "bool" or n in ("equal", "where")])
        count, call = CALLS[name]
        xs = [drawn_operand(rng, shape, dtype) for _ in range(count)]
        xs[0] = xs[0] if xs[0].shape == shape else F.broadcast_to(xs[0], shape)
        wanted = np.asarray(call(*(in_order(x, shape) for x in xs)).astype("complex128"))
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            try:
                with tl.engine.mode(mode):
                    found = np.asarray(call(*xs).astype("complex128"))
            finally:
                tl.set_num_threads(before)
            np.testing.assert_array_equal(found, wanted, strict=True, err_msg=f"{name} {shape}")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("plane", [(1, 1), (3, 3), (7, 7), (14, 14), (28, 28), (37, 41), (56, 56)])
def test_numbers_of_channels_repeat_along_planes(plane: tuple[int, int], threads: int) -> None:
    rng = np.random.default_rng(plane[0])
    x = rng.standard_normal((3, 10, *plane)).astype("float32")
    scale, shift = (rng.standard_normal((10, 1, 1)).astype("float32") for _ in range(2))
    before = tl.num_threads()
    tl.set_num_threads(threads)
    try:
        for mode in ("sync", "lazy"):
            with tl.engine.mode(mode):
                found = np.asarray(tl.tensor(x) * tl.tensor(scale) + tl.tensor(shift))
            np.testing.assert_array_equal(found, x * scale + shift)
    finally:
        tl.set_num_threads(before)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_operands_that_begin_again_change_no_bits(dtype: str, mode: str) -> None:
    """Channels of examples, whose numbers are the same for each example."""
    rng = random.Random(f"{dtype} {mode} again")
    before = tl.num_threads()
    for _ in range(12):
        examples, channels = rng.choice((2, 7, 8, 9, 16, 33)), rng.choice((1, 3, 16, 33, 130))
        plane = (rng.choice((1, 7, 14)), rng.choice((1, 2, 7, 9, 14, 17)))
        shape = (examples, channels, *plane)
        x = drawn_operand(rng, shape, dtype)
        x = x if x.shape == shape else F.broadcast_to(x, shape)
        kept = rng.choice(((channels, 1, 1), (channels, plane[0], 1), (channels, 1, plane[1])))
        scale, shift = numbers(kept, dtype, 1), numbers(kept, dtype, 2)
        name = rng.choice(("chain", "add", "several"))
        xs = (x, scale, shift)[: CALLS[name][0]]
        wanted = np.asarray(CALLS[name][1](*(in_order(y, shape) for y in xs)).astype("complex128"))
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            try:
                with tl.engine.mode(mode):
                    found = np.asarray(CALLS[name][1](*xs).astype("complex128"))
            finally:
                tl.set_num_threads(before)
            assert found.tobytes() == wanted.tobytes(), (name, shape, kept, threads)
