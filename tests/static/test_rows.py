"""The pass "rows": what is reduced along rows and read again runs some rows at a time, to the same
bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

FLOATS = ("float16", "bfloat16", "float32", "float64")


def same_bits(a: Any, b: Any) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def softmax(x: Any) -> Any:
    e = F.exp(x - F.max(x, axis=-1, keepdims=True))
    return e / F.sum(e, axis=-1, keepdims=True)


def norm(x: Any) -> Any:
    d = x - F.mean(x, axis=-1, keepdims=True)
    return d / F.sqrt(F.mean(d * d, axis=-1, keepdims=True) + 1e-5)


def peak(x: Any) -> Any:
    """No body is this: elements by the largest one, with rows that are read in two more ways."""
    largest = F.max(F.abs(x), axis=-1, keepdims=True)
    scaled = F.tanh(x / (largest + 0.5))
    spread = F.sum(F.square(scaled), axis=-1, keepdims=True)
    return scaled * F.rsqrt(spread + 1.0) + x, F.sum(scaled * x, axis=-1)


def pairs(x: Any) -> Any:
    """Two axes are reduced, and rows are counted by two more."""
    total = F.sum(x * 0.5, axis=(-2, -1), keepdims=True)
    rows = F.max(x - total, axis=-1, keepdims=True)
    return (x - rows) * F.tanh(total)


def recorded(
    f: Callable[..., Any], *shapes: Any, dtype: str = "float32", passes: Any = ("chains", "rows")
) -> tuple[Any, Any, Any]:
    listing = tl.Listing()
    xs = [tl.Tensor(listing.input(f"x{i}", s, getattr(tl, dtype))) for i, s in enumerate(shapes)]
    results = f(*xs)
    results = list(results) if isinstance(results, tuple) else [results]
    return listing, static.CompiledProgram(listing, list(passes)), results


@np.errstate(all="ignore")
def draw(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return tl.tensor(rng.normal(size=shape)).astype(dtype)


def events_of(compiled: Any, results: Any, *xs: Any) -> list[int]:
    """How many ops each launch is."""
    compiled.run(results, *xs)
    with tl.profile() as profile:
        compiled.run(results, *xs)
    return [len(event.ops) for event in profile.events]


def check(listing: Any, compiled: Any, results: Any, *xs: Any) -> None:
    program, numbers = compiled.optimised(results)
    tl._C.verify_program(program, numbers)
    for a, b in zip(compiled.run(results, *xs), listing.run(results, *xs), strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize("f", [softmax, norm, peak], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_are_read_again_to_the_same_bits(f: Any, dtype: str) -> None:
    listing, compiled, results = recorded(f, ("n", "m"), dtype=dtype)
    for shape in (
        (1100, 256),
        (5001, 64),
        (31, 9001),
        (3, 100000),
        (1, 300000),
        (40001, 7),
        (300000, 1),
    ):
        check(listing, compiled, results, draw(shape, dtype))


@pytest.mark.parametrize("f", [softmax, norm, peak], ids=lambda f: f.__name__)
def test_all_of_it_is_one_launch(f: Any) -> None:
    listing, compiled, results = recorded(f, (1100, 256))
    x = draw((1100, 256))
    assert events_of(compiled, results, x) == [len(listing_ops(compiled, results))]
    assert events_of(compiled.without("rows"), results, x) != events_of(compiled, results, x)
    assert len(events_of(compiled, results, x)) == 1
    del listing


def listing_ops(compiled: Any, results: Any) -> list[str]:
    """The steps of the band."""
    return [line for line in compiled.text(results).split("\n") if ", band 0" in line]


def test_few_rows_and_long_ones_run_step_by_step() -> None:
    _, compiled, results = recorded(softmax, ("n", "m"))
    for shape in ((4, 8), (4, 100000)):
        assert len(events_of(compiled, results, draw(shape))) > 1
    assert len(events_of(compiled, results, draw((1500, 200)))) == 1


@pytest.mark.parametrize(
    "shape", [(6, 25, 40, 60), (2, 300, 20, 25), (270, 1, 30, 40), (1, 60, 70, 80)]
)
def test_rows_may_be_counted_by_several_axes(shape: tuple[int, ...]) -> None:
    listing, compiled, results = recorded(pairs, shape)
    check(listing, compiled, results, draw(shape))
    assert len(events_of(compiled, results, draw(shape))) == 1


def test_operands_may_be_views_and_may_broadcast() -> None:
    def f(x: Any, scale: Any, shift: Any, offset: Any) -> Any:
        y = norm(x * offset) * scale + shift
        return y, F.sum(y, axis=-1)

    shapes = ((1500, 3, 64), (64,), (3, 1), (1500, 1, 1))
    listing, compiled, results = recorded(f, *shapes)
    xs = [draw(shape, seed=i) for i, shape in enumerate(shapes)]
    check(listing, compiled, results, *xs)
    turned = F.permute_dims(draw((64, 3, 1500)), (2, 1, 0))
    flipped = F.flip(draw((128,)), axis=0)[::2]
    check(listing, compiled, results, turned, flipped, xs[2], F.flip(xs[3], axis=0))
    apart = draw((1500, 6, 128))[:, ::2, ::-2]  # what is turned makes turned results, call by call
    check(listing, compiled, results, apart, flipped, xs[2], F.flip(xs[3], axis=0))
    assert len(events_of(compiled, results, apart, flipped, *xs[2:])) == 1


@pytest.mark.parametrize("f", [softmax, norm, peak], ids=lambda f: f.__name__)
def test_rows_that_do_not_lie_in_order_have_the_same_bits(f: Any) -> None:
    listing, compiled, results = recorded(f, ("n", "m"), dtype="float64")
    rng = np.random.default_rng(0)
    x = tl.tensor(rng.normal(size=(200, 3000)))  # of all digits: sums depend on their order
    for one in (F.permute_dims(x, (1, 0)), x[:, ::3], F.flip(x, axis=1), x[::2]):
        check(listing, compiled, results, one)
    for one in (tl.tensor(rng.normal(size=(1, 200))), tl.tensor(rng.normal(size=(3000, 1)))):
        check(listing, compiled, results, F.broadcast_to(one, (3000, 200)))


def test_a_vector_of_rows_that_meets_columns_is_no_row() -> None:
    """Its one axis is that of the rows when it is made, that of the columns when it is read."""

    def f(x: Any) -> Any:
        total = F.sum(x * 2, axis=-1)
        return F.exp(x - total) * F.max(x, axis=-1, keepdims=True)

    listing, compiled, results = recorded(f, (600, 600))
    check(listing, compiled, results, draw((600, 600)))


def test_a_reduction_along_rows_parts_bands() -> None:
    def f(x: Any) -> Any:
        y = softmax(x)
        return norm(y - F.mean(y, axis=0, keepdims=True))

    listing, compiled, results = recorded(f, (1500, 200))
    check(listing, compiled, results, draw((1500, 200)))
    assert "band 1" in compiled.text(results)


def test_what_is_read_outside_is_written() -> None:
    def f(x: Any) -> Any:
        largest = F.max(x, axis=-1, keepdims=True)
        e = F.exp(x - largest)
        total = F.sum(e, axis=-1, keepdims=True)
        return e / total, e, F.cumulative_sum(total, axis=0), largest

    listing, compiled, results = recorded(f, (1500, 200))
    check(listing, compiled, results, draw((1500, 200)))
    for one in results:
        check(listing, compiled, [one], draw((1500, 200)))


def test_gradients_written_out_are_bands_too() -> None:
    def f(x: Any) -> Any:
        return tl.grad(lambda x: F.sum(F.square(peak(x)[0])))(x)

    listing, compiled, results = recorded(f, (2700, 100))
    check(listing, compiled, results, draw((2700, 100)))
    assert "band 0" in compiled.text(results)


def test_intermediate_results_need_no_memory_of_their_own() -> None:
    _, compiled, results = recorded(peak, (4000, 1000))
    x, before = draw((4000, 1000)), tl.num_threads()
    peaks = []
    tl.set_num_threads(1)  # each has memory for its rows
    try:
        for program in (compiled, compiled.without("rows")):
            program.run(results, x)
            tl.memory.reset_peak()
            program.run(results, x)
            peaks.append(tl.memory.stats()["peak"])
    finally:
        tl.set_num_threads(before)
    assert peaks[1] - peaks[0] > 0.9 * 4000 * 1000 * 4


def test_tensor_likes_of_other_kinds_and_modes_run_step_by_step() -> None:
    listing, compiled, results = recorded(peak, (600, 600))
    x = draw((600, 600))
    many = tl.vmap(lambda x: compiled.run(results, x)[0])(F.stack([x, x + 1]))
    for a, b in zip(many, tl.vmap(lambda x: peak(x)[0])(F.stack([x, x + 1])), strict=True):
        assert same_bits(a, b)
    found = tl.grad(lambda x: F.sum(compiled.run(results, x)[0]))(x)
    assert same_bits(found, tl.grad(lambda x: F.sum(peak(x)[0]))(x))
    wanted = [np.asarray(y) for y in peak(x)]
    for mode in ("async", "lazy"):
        with tl.engine.mode(mode, threshold=1):
            for a, b in zip(compiled.run(results, x), wanted, strict=True):
                assert same_bits(a, b)
    del listing


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(threads: int) -> None:
    listing, compiled, results = recorded(peak, (3000, 100))
    x, before = draw((3000, 100)), tl.num_threads()
    wanted = listing.run(results, x)
    try:
        tl.set_num_threads(threads)
        for a, b in zip(compiled.run(results, x), wanted, strict=True):
            assert same_bits(a, b)
    finally:
        tl.set_num_threads(before)


LINES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: F.tanh(x) + y, lambda x, y: x * 0.5 - y, lambda x, y: F.maximum(x, y),
    lambda x, y: x - F.mean(y, axis=-1, keepdims=True),
    lambda x, y: F.max(x, axis=-1, keepdims=True),
    lambda x, y: F.sum(x * y, axis=-1, keepdims=True) * y, lambda x, y: F.abs(x - y) + 0.25,
    lambda x, y: F.sum(x, axis=(-2, -1), keepdims=True) + y, lambda x, y: F.flip(x, axis=1) + y,
    lambda x, y: F.cumulative_sum(x, axis=0) * 0.01, lambda x, y: F.where(x > y, x, y),
    lambda x, y: F.mean(x, axis=0, keepdims=True) * y,
    lambda x, y: F.var(x, axis=-1, keepdims=True),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_calls_have_the_same_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = FLOATS[seed % 4]
    shapes = [(80, 24, 160), (80, 1, 160), (24, 1), (80, 24, 1)]
    lines = [(int(rng.integers(len(LINES))), *rng.random(2)) for _ in range(14)]

    def f(*xs: Any) -> Any:
        values = list(xs)
        for kind, a, b in lines:
            x, y = values[int(a * len(values))], values[int(b * len(values))]
            values.append(LINES[kind](x.astype(dtype), y.astype(dtype)))
        return tuple(values[-3:])

    order = ["chains", "rows"] if seed % 3 else ["rows", "cse", "chains", "rows", "chains"]
    listing, compiled, results = recorded(f, *shapes, dtype=dtype, passes=order)
    check(listing, compiled, results, *[draw(s, dtype, seed + i) for i, s in enumerate(shapes)])


def test_a_band_that_is_wrong_is_caught() -> None:
    """One whose sum goes along another axis, as a pass of Python."""

    def wrong(graph: Any) -> None:
        for place, step in enumerate(graph.steps()):
            if "mode='sum'" in str(step.op):
                op = tl.ops.Reduce(mode="max", axis=(-1,), keepdims=True)
                (made,) = graph.insert(place, op, step.inputs)
                graph.replace(step.outputs[0], made)
                return

    listing, _, results = recorded(softmax, (1100, 256))
    x = draw((1100, 256))
    compiled = static.CompiledProgram(listing, [wrong, "chains", "rows"])
    assert not same_bits(compiled.run(results, x)[0], listing.run(results, x)[0])
