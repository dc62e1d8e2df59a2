"""Every declared function in every mode of the engine, against `sync`: the same bits.

On its example, in mixed dtypes, laid out oddly, and with sums over what it gives, which walk
memory as it lies.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.declarations import BUILT_IN
from support.layouts import LAYOUTS

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F
from tensorlike.testing.corpus import Example, examples

EXAMPLES = {example.entry.function: example for example in examples(BUILT_IN)}
FLOATS = ("float32", "float64", "float16")


def laid_out(array: Any, layout: str) -> Any:
    """The same elements as a tensor with other strides: made by views of ours."""
    if array.ndim == 0 or layout == "in_order":
        return tl.tensor(array)
    if layout == "transposed":
        return tl.tensor(np.ascontiguousarray(array.T)).T if array.ndim == 2 else tl.tensor(array)
    if layout == "reversed":
        flip = (slice(None, None, -1),) * array.ndim
        return tl.tensor(np.ascontiguousarray(array[flip]))[flip]
    spread = np.zeros(tuple(2 * size for size in array.shape), dtype=array.dtype)
    every_second = (slice(None, None, 2),) * array.ndim
    spread[every_second] = array
    return tl.tensor(spread)[every_second]


def inputs_of(example: Example) -> Iterator[list[Any]]:
    """Its arguments: floating-point ones in dtypes that differ, each in the layouts in turn."""
    layouts = itertools.cycle(("in_order", "transposed", "reversed", "every_second"))
    for first, others in (("float32", "float32"), *itertools.permutations(FLOATS, 2)):
        dtypes = itertools.chain([first], itertools.repeat(others))
        yield [
            laid_out(x.astype(next(dtypes)) if x.dtype.kind == "f" else x, next(layouts))
            for _, x in example.arrays
        ]


def run(example: Example, xs: list[Any]) -> list[Any]:
    """What it gives, and sums of that; an error's name and text where it refuses."""
    tl.manual_seed(3)
    try:
        outputs = [y for y in example(*xs) if isinstance(y, tl.Tensor)]
        more = []
        for y in outputs:
            wide = y if y.dtype.kind in ("floating", "complex") else y.astype(tl.float32)
            if 0 in y.shape:
                continue
            more += [F.sum(wide), F.mean(wide * 1.5)]
            more += [F.sum(wide, axis=axis) for axis in range(y.ndim)]
            if wide.dtype.kind == "floating":
                more += [F.logsumexp(wide, axis=axis) for axis in range(y.ndim)]
                more += [F.var(wide, axis=axis) for axis in range(y.ndim)]
        return [(y.dtype.name, y.shape, bits(y)) for y in (*outputs, *more)]
    except tl.TensorlikeError as error:
        return [(type(error).__name__, str(error).split("; applied at")[0].rstrip("."))]


def bits(y: Any) -> bytes:
    y = y if y.dtype.name != "bfloat16" else y.astype(tl.float32)
    return np.ascontiguousarray(y.numpy()).tobytes()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_bits_are_those_of_sync_in_every_mode(name: str) -> None:
    example = EXAMPLES[name]
    for xs in inputs_of(example):
        want = run(example, xs)
        for mode in ("async", "lazy"):
            with tl.engine.mode(mode, threshold=1):
                assert run(example, xs) == want, (mode, [(x.dtype, x.shape) for x in xs])


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_results_do_not_depend_on_what_memory_held_before(name: str, mode: str) -> None:
    example = EXAMPLES[name]
    for xs in inputs_of(example):
        want = run(example, xs)
        _C.poison_memory(True)
        try:
            with tl.engine.mode(mode, threshold=1):
                assert run(example, xs) == want, [(x.dtype, x.shape) for x in xs]
        finally:
            _C.poison_memory(False)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_over_what_was_sorted_or_pooled_have_the_bits_of_sync(layout: str) -> None:
    array = np.random.default_rng(0).standard_normal((2, 3, 40, 50)).astype("float32")
    x = tl.tensor(LAYOUTS[layout](array))

    def sums() -> list[bytes]:
        made = [
            F.sort(x, axis=0),
            F.sort(x, axis=2),
            F.argsort(x, axis=1).astype(tl.float32),
            F.max_pool2d(x, 2),
            F.avg_pool2d(x, 3),
            F.flip(x, axis=1),
            F.permute_dims(F.exp(x), (2, 0, 3, 1)),
        ]
        found = [
            reduce(y, axis=axis)
            for y in made
            for reduce in (F.sum, F.mean, F.var, F.logsumexp)
            for axis in (0, 1, 2, 3, None)
        ]
        return [bits(y) for y in found]

    want = sums()
    for mode in ("async", "lazy"):
        with tl.engine.mode(mode, threshold=1):
            assert sums() == want, mode


def test_everything_of_a_value_that_fails_later_is_an_error_or_known_at_once() -> None:
    with tl.engine.mode("async", threshold=1):
        names = [name for name in dir(tl.RawTensor) if not name.startswith("_")]
        assert "is_contiguous" in names
        for name in [*names, "__len__", "__bool__", "__float__", "__repr__", "__array__"]:
            pending = F.exp(tl.linalg.cholesky(tl.zeros((2, 2)) - 1.0)).__wrapped__
            try:
                found = getattr(pending, name)
                if callable(found) and name != "item":
                    found()
            except (tl.TensorlikeError, TypeError, ValueError):
                pass
            with pytest.raises(tl.MatrixError, match="Cholesky"):
                pending.item()
        with pytest.raises(tl.MatrixError, match="Cholesky"):
            _ = F.exp(tl.linalg.cholesky(tl.zeros((2, 2)) - 1.0)).__wrapped__.is_contiguous


def test_an_error_that_was_caught_is_not_raised_again_at_the_end() -> None:
    with tl.engine.mode("async", threshold=1):
        bad = tl.tensor(np.full((4, 4), np.nan, np.float32))
        with pytest.raises(tl.TensorlikeError):
            tl.linalg.matrix_rank(bad * 1).item()
        kept = F.exp(tl.linalg.cholesky(tl.zeros((2, 2)) - 1.0)) + 1
        other = kept * 2
        with pytest.raises(tl.MatrixError):
            kept.tolist()
    del other
    x = tl.ones((300, 300))
    with tl.engine.mode("lazy", threshold=1):
        kept = F.exp(x) + 1
        other = kept * 2
        tl.memory.set_limit(tl.memory.stats()["allocated"] + 1000)
        try:
            with pytest.raises(tl.OutOfMemoryError):
                other.tolist()
            tl.engine.mode("sync")  # runs what waits, and fails as quietly
        finally:
            tl.memory.set_limit(None)
        assert other[0, 0].item() == pytest.approx(2 * (np.e + 1))


def test_async_ops_appear_in_a_profile_and_profiles_nest() -> None:
    x = tl.ones((300, 300))
    with tl.profile() as outer:
        F.exp(x).tolist()
        with tl.engine.mode("async", threshold=1), tl.profile() as inner:
            y = F.sum(F.sort(x * 2, axis=0))
            y.item()
        F.log(x).tolist()
    names = [event.name for event in outer.events]
    assert [event.name for event in inner.events] == ["multiply", "Sort", "sum"]
    assert names[0] == "exp"
    assert names[-1] == "log"
    assert all(name in names for name in ("multiply", "Sort", "sum"))
    assert all(event.duration > 0 and event.bytes > 0 for event in inner.events)
