"""Results of elementwise calls lie as their operands do, and nobody can tell by their elements:
whatever is done with them gives the bits that it gives on the same numbers in C order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
DTYPES = ("bool", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def order_of(x: tl.Tensor) -> tuple[int, ...]:
    """The axes as they follow each other in memory, outermost first."""
    strides = np.asarray(x).strides
    assert (
        np.prod(x.shape) * np.asarray(x).itemsize
        == sum((n - 1) * s for n, s in zip(x.shape, strides, strict=True)) + np.asarray(x).itemsize
    ), "no gaps, and no axis backwards"
    return tuple(sorted(range(x.ndim), key=lambda axis: -strides[axis]))


def numbers(*shape: int) -> tl.Tensor:
    return tl.tensor(np.random.default_rng(7).random(shape, dtype="float32"))


IMAGE = (0, 2, 3, 1)  # channels last
C_ORDER = (0, 1, 2, 3)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async", "compiled"])
@pytest.mark.parametrize("scale", [1, 9], ids=["small", "large"])
def test_the_order_is_that_of_the_operands_of_the_shape(scale: int, mode: str) -> None:
    plane = (2 * scale, 5 * scale)
    x = F.permute_dims(numbers(3, *plane, 7), (0, 3, 1, 2))
    turned = F.permute_dims(numbers(3, *plane, 14), (0, 3, 1, 2))[:, ::-2]
    plain, other = numbers(*x.shape), F.permute_dims(numbers(7, *plane, 3), (3, 0, 1, 2))
    row, number = numbers(7, 1, 1), tl.tensor(2.0)
    repeated = F.broadcast_to(numbers(7, 1, 1), x.shape)
    calls: list[tuple[tuple[int, ...], Callable[..., tl.Tensor], tuple[tl.Tensor, ...]]] = [
        (IMAGE, F.sqrt, (x,)),
        (IMAGE, F.add, (x, x)),
        (IMAGE, F.multiply, (x, row)),
        (IMAGE, F.subtract, (number, x)),
        (IMAGE, F.add, (repeated, x)),
        (IMAGE, F.add, (x, turned)),
        (IMAGE, F.less, (x, turned)),
        (IMAGE, lambda x, y: F.where(x > 0.5, x, y) * 2 + y, (x, turned)),
        (IMAGE, lambda x: x.astype("float64"), (x,)),
        (IMAGE, lambda x: x.astype("int8"), (turned,)),
        (C_ORDER, F.add, (x, plain)),
        (C_ORDER, F.add, (plain, x)),
        (C_ORDER, F.add, (x, other)),
        (C_ORDER, F.exp, (repeated,)),
        (C_ORDER, F.exp, (plain[:, ::-1],)),
        ((1, 2, 3, 0), F.exp, (other,)),
    ]
    for wanted, call, xs in calls:
        called = tl.jit.trace(call) if mode == "compiled" else call
        for _ in range(3):  # the general way, and by a plan
            with tl.engine.mode("sync" if mode == "compiled" else mode):
                y = called(*xs)
            assert order_of(y) == wanted, call


def drawn(rng: random.Random, shape: tuple[int, ...], axes: list[int], dtype: str) -> tl.Tensor:
    """Axes in this order in memory, or in another one; in steps, backwards, repeated."""
    how = rng.random()
    if how < 0.2:
        axes = rng.sample(axes, len(axes))
    repeats = [how > 0.8 and rng.random() < 0.5 for _ in shape]
    steps = [rng.choice((1, 1, 1, 1, 2, -1)) if how > 0.4 else 1 for _ in shape]
    sizes = [1 if r else n * abs(s) for n, r, s in zip(shape, repeats, steps, strict=True)]
    stored = np.random.default_rng(rng.randrange(1000)).uniform(1, 9, [sizes[a] for a in axes])
    kind = "float32" if dtype == "bfloat16" else dtype
    x = F.permute_dims(tl.tensor(stored.astype(kind)).astype(dtype), np.argsort(axes).tolist())
    x = x[tuple(slice(None, None, 1 if r else s) for r, s in zip(repeats, steps, strict=True))]
    return F.broadcast_to(x, shape) if rng.random() < 0.5 else x


def in_order(x: tl.Tensor) -> tl.Tensor:
    return F.reshape(F.reshape(x, (-1,)), x.shape)


def held(x: tl.Tensor, y: tl.Tensor) -> tl.Tensor:
    """A result in the middle is used twice, and may lie otherwise than the last."""
    middle = x * 2
    last = middle * y - middle
    return last + F.mean(middle) - F.mean(last * 2)


MAKES: dict[str, Callable[..., Any]] = {
    "add": F.add,
    "maximum": lambda x, y: F.maximum(F.real(x), F.real(y)),
    "compare": lambda x, y: F.where(F.equal(x, y), x, y),
    "chain": lambda x, y: (x * y + x) * y,
    "cast": lambda x, y: (x.astype("float64") if x.dtype != tl.complex64 else x) + y * 0,
    "negated": lambda x, _: x * 3 - 1,
    "several": lambda x, y: (x + y) * x + F.square(x),
    "held": held,
}
USES: dict[str, Callable[[tl.Tensor, tl.Tensor, int], Any]] = {
    "nothing": lambda y, _x, _a: y,
    "flat": lambda y, _x, _a: F.reshape(y, (-1,)),
    "permuted and flat": lambda y, _x, a: F.reshape(F.moveaxis(y, a, 0), (-1,)),
    "backwards": lambda y, _x, a: F.flip(y, axis=a) + 1,
    "part": lambda y, _x, _a: y[..., ::2] * 2,
    "sum": lambda y, _x, a: F.sum(y, axis=a),
    "sum of all": lambda y, _x, _a: F.sum(y * 2),
    "any": lambda y, _x, a: F.any(y > 3 if y.dtype != tl.complex64 else y != 3, axis=a),
    "place": lambda y, _x, a: F.argmax(F.real(y), axis=a) if y.shape[a] else y,
    "place among all": lambda y, _x, _a: F.argmin(F.real(y * 2)) if all(y.shape) else y,
    "running": lambda y, _x, a: F.cumulative_sum(y, axis=a),
    "softmax": lambda y, _x, a: F.softmax(F.real(y).astype("float32") * 0.01, axis=a),
    "product": lambda y, x, _a: y @ F.matrix_transpose(y) if y.ndim > 1 else y,
    "joined": lambda y, _x, a: F.concat([y, in_order(y), y], axis=a),
    "sorted": lambda y, _x, a: F.sort(F.real(y), axis=a),
    "picked": lambda y, _x, a: F.take(y, tl.tensor([0, 0]), axis=a) if y.shape[a] else y,
    "again": lambda y, x, _a: y + x * y,
    "rounded": lambda y, _x, _a: (F.real(y).astype("float16") * 2).astype("float32"),
}


def changed(y: tl.Tensor, x: tl.Tensor) -> tl.Tensor:
    """In place, while somebody has the value before."""
    before = y * 1
    y += x
    y[..., :1] = 2
    y *= 3
    return y + before


# What these add up depends in its last bits on how the elements lie.
ADDS_UP = ("sum", "sum of all", "running", "softmax", "product")
NO_SLOPE = (
    "any",
    "place",
    "place among all",
    "sorted",
    "softmax",
)  # or none but what rounding leaves
NO_TRUTH = (
    "backwards", "part", "place", "place among all", "sum of all", "again", "product", "running",
)  # fmt: skip


def run(make: Any, use: Any, xs: list[tl.Tensor], axis: int, way: str) -> list[tl.Tensor]:
    """The results, and where numbers have gradients those of the operands."""
    call = lambda *xs: use(make(*xs), xs[0], axis)  # noqa: E731
    if way == "changed":
        return [changed(make(*xs), xs[0])]
    if way == "gradient":
        loss = lambda *xs: F.sum(call(*xs) * 2)  # noqa: E731
        return [*tl.grad(loss, argnums=(0, 1))(*xs), call(*xs)]
    if way == "compiled":
        compiled = tl.jit.trace(call)
        return [compiled(*xs), compiled(*xs)]  # the call itself, and its program
    return [call(*xs), call(*xs)]


def drawn_shape(rng: random.Random) -> tuple[int, ...]:
    ndim = rng.choice((1, 2, 2, 3, 3, 4))
    shape = [rng.choice((1, 2, 3, 5, 16, 17, 40, 65, 600)) for _ in range(ndim)]
    while np.prod(shape) > 60_000:
        shape[rng.randrange(ndim)] = rng.choice((1, 2, 3))
    if rng.random() < 0.05:
        shape[rng.randrange(ndim)] = 0
    return tuple(shape)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_done_with_a_result_does_not_depend_on_how_it_lies(dtype: str, mode: str) -> None:
    rng = random.Random(f"{dtype} {mode}")
    before = tl.num_threads()
    for _ in range(60):
        shape = drawn_shape(rng)
        axes = rng.sample(range(len(shape)), len(shape))
        xs = [drawn(rng, shape, axes, dtype) for _ in range(2)]
        xs[0] = F.broadcast_to(xs[0], shape)
        axis = rng.randrange(len(shape))
        ways = ["plain", "compiled"] + ["changed"] * (dtype != "bool")
        way = rng.choice(ways + ["gradient"] * (dtype in ("float32", "float64")))
        make = rng.choice([m for m in MAKES if dtype != "bool" or m == "compare"])
        fits = [u for u in USES if dtype != "bool" or u not in NO_TRUTH]
        use = rng.choice([u for u in fits if way != "gradient" or u not in NO_SLOPE])
        said = f"{make}, {use}, {way} of {shape} along {axis}, {axes}"
        plain = run(MAKES[make], USES[use], [in_order(x) for x in xs], axis, way)
        same = run(MAKES[make], USES[use], xs, axis, way)
        tl.set_num_threads(rng.choice((1, 2, 5)))
        try:
            with tl.engine.mode(mode, threshold=rng.choice((1, 5000))):
                found = run(MAKES[make], USES[use], xs, axis, way)
                for y, again, wanted in zip(found, same, plain, strict=True):
                    assert (y.dtype, y.shape) == (wanted.dtype, wanted.shape)
                    values, bits, others = (
                        np.asarray(v.astype("complex128")) for v in (y, again, wanted)
                    )
                    np.testing.assert_array_equal(values, bits, err_msg=said)
                    if way == "gradient" or use in ADDS_UP or make == "held":
                        is_coarse = use == "rounded" or dtype in ("float16", "bfloat16")
                        rtol = 0.02 if is_coarse else 1e-5
                        least = rtol * float(np.abs(others[np.isfinite(others)]).max(initial=0))
                        np.testing.assert_allclose(values, others, rtol, least, err_msg=said)
                    else:
                        np.testing.assert_array_equal(values, others, err_msg=said)
        finally:
            tl.set_num_threads(before)
