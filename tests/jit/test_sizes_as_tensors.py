"""Sizes that are not known, as tensors of a program: its numbers, not what stands for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static


def part_set(size: Any) -> tl.Tensor:
    made = tl.tensor([1.0, 2.0])
    made[0] = size
    return made


# No variable beside the size says what kind of tensor is wanted.
USES = {
    "tensor": lambda x: F.sum(x) * tl.tensor(x.shape[0], dtype="float32"),
    "wrapped": lambda x: F.sum(x) * tl.Tensor(x.shape[0]),
    "scaled": lambda x: x * (1.0 / F.sqrt(tl.tensor(x.shape[0], dtype=x.dtype))),
    "call": lambda x: F.sum(x) * F.sqrt(x.shape[0]),
    "op": lambda x: F.sum(x) / F.exp(F.divide(x.shape[0] * 2, 7.0)),
    "alone": lambda x: F.log(x.shape[0] + 1),
    "constant": lambda x: F.sum(x) * (tl.tensor([1.5, 2.0]) * x.shape[0] + 1),
    "set": lambda x: F.sum(x) * part_set(x.shape[0]),
    "within": lambda x: F.cond(F.sum(x) > -100.0, lambda: F.sqrt(x.shape[0]), lambda: F.sum(x)),
}


def given(count: int) -> tl.Tensor:
    return tl.tensor(np.random.default_rng(count).standard_normal((count, 4), np.float32))


@pytest.mark.parametrize("name", sorted(USES))
@pytest.mark.parametrize("way", ["trace", "to_static", "input_spec", "listing", "static"])
def test_a_size_is_that_of_each_run(name: str, way: str) -> None:
    use = USES[name]
    call: Any
    if way == "listing":
        listing = tl.Listing()
        y = use(tl.Tensor(listing.input("x", (None, 4))))
        call = lambda x: listing.run(y, x)  # noqa: E731
    elif way == "static":
        with static.program_guard(static.Program()) as main:
            z = use(tl.Tensor(static.data("x", (None, 4))))
        call = lambda x: static.Executor().run(main, {"x": x}, [z])[0]  # noqa: E731
    else:
        spec = [jit.InputSpec((None, 4))] if way == "input_spec" else None
        call = (jit.to_static if way == "to_static" else jit.trace)(input_spec=spec)(use)
    for count in (3, 5, 300, 1):
        x = given(count)
        np.testing.assert_allclose(np.asarray(call(x)), use(x).numpy(), rtol=1e-6)


def test_what_makes_arrays_only_refuses_a_size() -> None:
    size: Any = tl.Listing().input("x", (None, 4)).shape[0]
    for make in (tl.as_raw_tensor, tl.RawTensor, lambda x: tl.tensor([x, 1])):
        with pytest.raises(tl.TensorlikeError, match="must be"):
            make(size)


def test_arithmetic_that_a_size_does_not_have_says_how_a_tensor_has_it() -> None:
    size: Any = tl.Listing().input("x", (None, 4)).shape[0]
    for use in (float, math.sqrt, math.exp, lambda n: n * 1j, lambda n: 2**n):
        with pytest.raises(tl.ShapeError, match=r"log\(tensor\(x\.shape\[0\], dtype=x\.dtype\)\)"):
            use(size)


@pytest.mark.parametrize(("dtype", "wide"), [("uint8", 300), ("int8", 128), ("uint16", 65_536)])
@pytest.mark.parametrize("level", [0, 2])
def test_a_narrow_integer_holds_the_sizes_that_fit_it(dtype: str, wide: int, level: int) -> None:
    def call(x: Any) -> Any:
        return x[:1] * x.shape[0] + 1

    listing = tl.Listing()
    y = call(tl.Tensor(listing.input("x", (None,), dtype)))
    program = static.CompiledProgram(listing, opt_level=level)
    traced = jit.trace(input_spec=[jit.InputSpec((None,), dtype)])(call)
    for count in (3, 5, 100):
        x = tl.ones((count,), dtype=dtype)
        for found in (listing.run(y, x), program.run(y, x), traced(x)):
            assert found.dtype is x.dtype
            assert found.tolist() == call(x).tolist()
    x = tl.ones((wide,), dtype=dtype)
    for run in (
        call, lambda x: listing.run(y, x), lambda x: program.run(y, x), traced,
    ):  # fmt: skip
        with pytest.raises(tl.LiteralRangeError, match=f"must fit {dtype}"):
            run(x)
    with pytest.raises(tl.LiteralRangeError, match=f"must fit {dtype}"):
        listing.input("z", (None,), dtype) * wide
