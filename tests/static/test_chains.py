"""The pass "chains": elementwise steps of one shape run as one tile program, to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

FLOATS = ("float16", "bfloat16", "float32", "float64")
UNARY: tuple[Callable[[Any], Any], ...] = (
    F.tanh, F.exp, F.sin, F.abs, F.square, lambda x: -x, lambda x: x * 0.3, lambda x: 1 - x,
    lambda x: x > 0, lambda x: x.astype("int32"), lambda x: x.astype("float16"),
    lambda x: x.astype("float64"), lambda x: F.where(x > 0.1, x, x * 2), F.floor,
)  # fmt: skip
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y, F.maximum,
    lambda x, y: F.where(x < y, x, y),
)  # fmt: skip
MOVING: tuple[Callable[[Any], Any], ...] = (
    lambda x: F.sum(x, axis=-1, keepdims=True), lambda x: F.flip(x, axis=0),
    lambda x: F.cumulative_sum(x, axis=-1), lambda x: x,
)  # fmt: skip


def same_bits(a: Any, b: Any) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def recorded(f: Callable[..., Any], *shapes: Any, dtype: str = "float32") -> tuple[Any, Any, Any]:
    """The listing, with the pass, and what it is asked for."""
    listing = tl.Listing()
    xs = [tl.Tensor(listing.input(f"x{i}", s, getattr(tl, dtype))) for i, s in enumerate(shapes)]
    results = f(*xs)
    return listing, static.CompiledProgram(listing, ["chains"]), results


def chains_in(compiled: Any, results: Any) -> list[int]:
    """How many steps each chain has."""
    found: dict[str, int] = {}
    for line in compiled.text(results).split("\n"):
        _, is_in, chain = line.partition(", chain ")
        if is_in:
            found[chain] = found.get(chain, 0) + 1
    return list(found.values())


@np.errstate(all="ignore")
def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    return tl.tensor(rng.normal(size=shape) * 2).astype(dtype)


@pytest.mark.parametrize("seed", range(120))
def test_random_calls_have_the_same_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = FLOATS[seed % 4]
    shapes = [(3, 5), (1, 5), (3, 1), (5,), ()] if seed % 3 else [(40, 700), (700,), (40, 1)]
    if seed % 7 == 0:
        shapes = [(0, 4), (4,), (0, 1)]
    lines = [(rng.integers(0, 10), *rng.random(3)) for _ in range(int(rng.integers(3, 30)))]

    def f(*xs: Any) -> Any:
        values = list(xs)
        for kind, a, b, c in lines:
            x, y = values[int(a * len(values))], values[int(b * len(values))]
            if kind < 4:
                values.append(UNARY[int(c * len(UNARY))](x.astype(dtype)))
            elif kind < 9:
                values.append(BINARY[int(c * len(BINARY))](x.astype(dtype), y.astype(dtype)))
            elif x.ndim > 0:
                values.append(MOVING[int(c * len(MOVING))](x))
        return values[-3:]

    given = [draw(rng, shape, dtype) for shape in shapes]
    listing, compiled, results = recorded(f, *shapes, dtype=dtype)
    wanted = listing.run(results, *given)
    for _ in range(2):
        for x, y in zip(compiled.run(results, *given), wanted, strict=True):
            assert same_bits(x, y)


def waves(x: Any, y: Any) -> Any:
    z = F.tanh(x * 2.0 + y) * (1.0 - y)
    return z, F.exp(-z) + x


def test_one_chain_has_all_that_follows_from_each_other() -> None:
    listing, compiled, results = recorded(waves, (4, 3), (3,))
    assert chains_in(compiled, results) == [7]
    x, y = draw(np.random.default_rng(0), (4, 3), "float32"), tl.tensor([1.0, 2.0, 3.0])
    with tl.profile() as profile:
        compiled.run(results, x, y)
    assert any(len(event.ops) == 7 for event in profile.events)
    del listing


def test_what_is_not_elementwise_parts_chains() -> None:
    def f(x: Any) -> Any:
        y = F.exp(x * 2)
        return (y + 1) / F.sum(y, axis=-1, keepdims=True) * 3

    _, compiled, results = recorded(f, (4, 3))
    assert sorted(chains_in(compiled, results)) == [2, 3]  # the sum reads what others read, too


REDUCTIONS: tuple[Callable[..., Any], ...] = (
    F.sum,
    F.mean,
    F.max,
    F.min,
    F.prod,
    F.any,
    F.count_nonzero,
)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda f: f.__name__)
def test_a_reduction_reads_what_a_chain_makes(reduction: Any, axis: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        return reduction(F.square(x - y) * 0.5 - 0.1, axis=axis, keepdims=axis == 0)

    for dtype in FLOATS:
        listing, compiled, result = recorded(f, ("n", 40, 30), (40, 1), dtype=dtype)
        lines = [line for line in compiled.text(result).split("\n") if "Reduce" in line]
        for n in (1, 3, 17):
            rng = np.random.default_rng(n)
            x, y = draw(rng, (n, 40, 30), dtype), draw(rng, (40, 1), dtype)
            assert same_bits(compiled.run(result, x, y), listing.run(result, x, y))
        assert all(", chain 0" in line for line in lines)
        assert lines


def test_a_reduction_of_what_somebody_else_reads_runs_by_itself() -> None:
    def f(x: Any) -> Any:
        y = F.exp(x) * 2
        z = F.tanh(x) - 1
        return F.sum(y * z), y, F.max(F.exp(z)), F.sum(z, axis=0)

    listing, compiled, results = recorded(f, (30, 50))
    x = draw(np.random.default_rng(0), (30, 50), "float32")
    for a, b in zip(compiled.run(results, x), listing.run(results, x), strict=True):
        assert same_bits(a, b)
    for one in results:
        assert same_bits(compiled.run(one, x), listing.run(one, x))


def test_an_empty_reduction_is_refused_as_ever() -> None:
    listing, compiled, result = recorded(lambda x: F.max(F.exp(x) * 2), ("n", 3))
    x = tl.zeros((0, 3))
    with pytest.raises(tl.TensorlikeError) as wanted:
        listing.run(result, x)
    with pytest.raises(type(wanted.value)) as found:
        compiled.run(result, x)
    assert str(found.value) == str(wanted.value)


def test_sizes_that_are_not_known() -> None:
    listing, compiled, results = recorded(waves, ("n", 3), (3,))
    assert len(chains_in(compiled, results)) == 1
    y = tl.tensor([1.0, 2.0, 3.0])
    for n in (0, 1, 2, 50, 3):
        x = draw(np.random.default_rng(n), (n, 3), "float32")
        for a, b in zip(compiled.run(results, x, y), listing.run(results, x, y), strict=True):
            assert same_bits(a, b)


def test_tensor_likes_of_other_kinds_run_step_by_step() -> None:
    listing, compiled, results = recorded(waves, (4, 3), (4, 3))
    rng = np.random.default_rng(0)
    x, y = draw(rng, (4, 3), "float64"), draw(rng, (4, 3), "float64")
    x, y = x.astype("float32"), y.astype("float32")
    xs = F.stack([x, y, x + y])
    many = tl.vmap(lambda x: compiled.run(results, x, y))(xs)
    for a, b in zip(many, tl.vmap(lambda x: waves(x, y))(xs), strict=True):
        assert same_bits(a, b)
    found = tl.grad(lambda x: F.sum(compiled.run(results, x, y)[1]))(x)
    assert same_bits(found, tl.grad(lambda x: F.sum(waves(x, y)[1]))(x))
    del listing


@pytest.mark.parametrize("mode", ["async", "lazy"])
def test_modes_of_the_engine(mode: str) -> None:
    _, compiled, results = recorded(waves, (40, 30), (30,))
    rng = np.random.default_rng(0)
    x, y = draw(rng, (40, 30), "float32"), draw(rng, (30,), "float32")
    wanted = [np.asarray(z) for z in waves(x, y)]
    with tl.engine.mode(mode, threshold=1):
        for a, b in zip(compiled.run(results, x, y), wanted, strict=True):
            assert same_bits(a, b)


def test_memory_of_what_is_done_is_written_over_and_of_what_is_held_is_not() -> None:
    def f(x: Any) -> Any:
        rows = F.cumulative_sum(x, axis=0)
        return F.exp(rows * 2.0) + rows

    _, compiled, results = recorded(f, (1000, 1000))
    start = tl.memory.stats()["allocated"]
    x = tl.ones((1000, 1000))
    size = tl.memory.stats()["allocated"] - start
    before = np.asarray(x).copy()
    compiled.run(results, x)
    tl.memory.reset_peak()
    found = compiled.run(results, x)
    assert tl.memory.stats()["peak"] - start < 2.2 * size  # x and one more
    assert same_bits(found, f(x))
    assert same_bits(x, before)


def test_a_state_that_moves_keeps_what_was_fetched() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter(np.zeros((3,), np.float32))
        x = static.data("x", (3,))
        y = w * 2 + x
        with tl.no_grad():
            w.set_value(F.tanh(y) + w)
    compiled, scope = static.CompiledProgram(main), static.Scope()
    executor, other = static.Executor(), static.Scope()
    executor.run(startup, scope=scope)
    executor.run(startup, scope=other)
    for i in range(4):
        feed = {"x": np.full(3, 0.1 * i, np.float32)}
        (a, b), (c, d) = (
            executor.run(program, feed, [y, "parameter_0"], where)
            for program, where in ((compiled, scope), (main, other))
        )
        assert same_bits(a, c)
        assert same_bits(b, d)
    assert "chain" in compiled.text([y])


def test_the_pass_may_run_twice() -> None:
    listing, _, results = recorded(
        lambda x: (F.exp(x * 2), F.sum(F.tanh(x) + 1, axis=0) * 2 - 1), (3, 4)
    )
    twice = static.CompiledProgram(listing, ["chains", "cse", "chains"])
    program, numbers = twice.optimised(list(results))
    tl._C.verify_program(program, numbers)
    x = draw(np.random.default_rng(0), (3, 4), "float32")
    for a, b in zip(twice.run(results, x), listing.run(results, x), strict=True):
        assert same_bits(a, b)


def test_a_chain_that_is_wrong_is_caught() -> None:
    """One that exchanges the operands of a subtraction, as a pass of Python."""

    def wrong(graph: Any) -> None:
        for place, step in enumerate(graph.steps()):
            if str(step.op) == "Elemwise(mode='subtract')":
                (made,) = graph.insert(place, step.op, step.inputs[::-1])
                graph.replace(step.outputs[0], made)
                return

    listing, _, results = recorded(waves, (4, 3), (3,))
    x, y = draw(np.random.default_rng(0), (4, 3), "float32"), tl.tensor([1.0, 2.0, 3.0])
    compiled = static.CompiledProgram(listing, [wrong, "chains"])
    pairs = zip(compiled.run(results, x, y), listing.run(results, x, y), strict=True)
    assert not all(same_bits(a, b) for a, b in pairs)


def test_conversions_are_part_of_chains() -> None:
    """Sums of integers that become bytes of other steps, and reals again."""
    factor, zero, low, step = (tl.tensor(np.float32(x)) for x in (0.37, 5, 0, 0.5))

    def requantised(x: Any) -> Any:
        steps = F.round(F.astype(x + 3, "float32") * factor) + zero
        return F.astype(F.astype(F.maximum(steps, low), "uint8"), "float32") * step

    listing, compiled, y = recorded(requantised, (40, 50), dtype="int32")
    assert chains_in(compiled, [y]) == [9]
    x = tl.tensor(np.random.default_rng(0).integers(-400, 400, (40, 50)).astype(np.int32))
    assert same_bits(compiled.run([y], x)[0], listing.run([y], x)[0])
