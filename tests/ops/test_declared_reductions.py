"""Every declared reduction: axes, empty axes, strides, NaN, and how exactly it accumulates."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.declarations import DTYPES, FLOATS, REDUCTIONS, Array, function_of, name_of
from support.layouts import LAYOUTS
from support.oracle import EXACT, widened

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Category, ReductionEntry

SHAPES = [(), (1,), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 3, 1, 2)]
# Rows and columns around the width of vectors, of tiles, and of what one thread takes.
LARGE = [(1000, 3), (3, 1030), (17, 19, 23), (2, 20500), (20500, 2), (41001,)]


def values(entry: ReductionEntry, shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Around 1 for products of floats, so that large ones neither vanish nor overflow."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.7)
    if dtype.startswith("int"):
        return np.asarray(rng.integers(-4, 5, shape), dtype=dtype)
    drawn = rng.normal(size=shape)
    spread = 0.01 if entry.init == "1" else 3.0
    return np.asarray(drawn * spread + (entry.init == "1"), dtype=dtype)


def every_axis(ndim: int) -> list[Any]:
    several = [
        axes
        for count in (2, 3)
        for axes in itertools.permutations(range(-ndim, ndim), count)
        if len({axis % ndim for axis in axes}) == count
    ]
    return [None, (), *range(-ndim, ndim), *several[::3]]


def takes_several_axes(entry: ReductionEntry) -> bool:
    return not entry.is_native


def reduced(axis: Any, ndim: int) -> list[int]:
    if axis is None:
        return list(range(ndim))
    return [a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))]


def oracle(entry: ReductionEntry, x: Array, axis: Any, keepdims: bool) -> Array:
    """The declared fold, in a wider dtype; booleans count as numbers where they are averaged."""
    floating = (Category.REAL_FLOATING, Category.FLOATING)
    if entry.args[0].category in floating and x.dtype.kind != "f":
        x = x.astype(np.float32)
    if x.dtype == bool and entry.result in ("sum", "same"):
        x = x.astype(np.int64)
    with np.errstate(all="ignore"):
        return np.asarray(EXACT.call(entry.name, widened(x), axis=axis, keepdims=keepdims))


def assert_reduces(entry: ReductionEntry, x: Array, axis: Any, keepdims: bool) -> None:
    call = {"axis": axis, "keepdims": keepdims}
    count = math.prod(x.shape[a] for a in reduced(axis, x.ndim))
    is_refused = isinstance(axis, tuple) and not takes_several_axes(entry)
    if is_refused or (count == 0 and not entry.has_identity):
        with pytest.raises(tl.ShapeError, match=f"^{entry.name}: "):
            function_of(entry)(tl.RawTensor(x), **call)
        return
    output = np.asarray(function_of(entry)(tl.RawTensor(x), **call))
    wanted = oracle(entry, x, axis, keepdims)
    assert output.shape == wanted.shape
    if output.dtype.kind != "f":
        np.testing.assert_array_equal(output, wanted, err_msg=f"{x.shape} {call}")
        return
    # Blocked sums of n elements are off by a few log2(n) units of the sum of magnitudes.
    unit = np.finfo(output.dtype).eps * (2 + math.log2(count + 1))
    if entry.init == "1":
        size = np.abs(wanted) * count
    else:
        size = oracle_of_magnitudes(entry, x, axis, keepdims)
    with np.errstate(all="ignore"):
        is_same = (output == wanted) | (np.isnan(output) & np.isnan(wanted))
        is_close = np.abs(output - wanted) <= unit * size
    assert (is_same | is_close).all(), (x.shape, call, output, wanted)


def oracle_of_magnitudes(entry: ReductionEntry, x: Array, axis: Any, keepdims: bool) -> Array:
    return oracle(entry, np.abs(x) if x.dtype != bool else x, axis, keepdims)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_every_axis_of_small_shapes(entry: ReductionEntry, dtype: str) -> None:
    for shape in SHAPES:
        x = values(entry, shape, dtype, 1)
        for axis, keepdims in itertools.product(every_axis(x.ndim), (False, True)):
            assert_reduces(entry, x, axis, keepdims)


@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_strides_do_not_change_reductions(entry: ReductionEntry) -> None:
    for shape, (name, layout) in itertools.product([(3, 5), (4, 3, 2)], LAYOUTS.items()):
        view = layout(values(entry, shape, "float64", 2))
        axes = [None, *range(len(shape))] + ([(0, 1)] if takes_several_axes(entry) else [])
        for axis in axes:
            output = np.asarray(function_of(entry)(tl.RawTensor(view), axis=axis))
            plain = tl.tensor(np.ascontiguousarray(view))
            wanted = np.asarray(function_of(entry)(plain, axis=axis))
            np.testing.assert_allclose(output, wanted, 1e-13, 1e-13, err_msg=name, strict=True)


@pytest.mark.parametrize("dtype", ("bool", "int64", "float32"))
@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_large_shapes_are_reduced_as_their_pieces(entry: ReductionEntry, dtype: str) -> None:
    """Beyond tiles and threads: against the fold over pieces that are held to the oracle above."""
    for shape in LARGE:
        x = values(entry, shape, dtype, 3)
        for axis in (None, *range(x.ndim)):
            output = np.asarray(function_of(entry)(tl.tensor(x), axis=axis))
            wanted = fold_of_pieces(entry, x, axis)
            assert output.shape == wanted.shape
            if output.dtype.kind != "f":
                np.testing.assert_array_equal(output, wanted)
                continue
            count = x.size if axis is None else x.shape[axis]
            bound = 4e-7 * (np.abs(wanted) * (count if entry.init == "1" else 1) ** 0.5 + 3 * count)
            assert (np.abs(output - wanted) <= bound).all(), (shape, axis)


def fold_of_pieces(entry: ReductionEntry, x: Array, axis: int | None) -> Array:
    """Reduces in float64 or int64 with halves first; argmax and their like by NumPy."""
    if entry.map is None:
        return np.asarray(getattr(np, entry.name)(x, axis=axis))
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    if axis is None:
        wide, axis = wide.reshape(-1), 0
    if entry.finish is not None:
        wide = wide.astype(np.float64)
    assert entry.combine is not None
    mapped = np.asarray(EXACT.evaluate(entry.map.results, {entry.args[0].name: wide})[0])
    if entry.result in ("sum", "int64") and mapped.dtype.kind != "f":
        mapped = mapped.astype(np.int64)
    mapped = np.moveaxis(mapped, axis, 0)
    count = mapped.shape[0]
    while mapped.shape[0] > 1:
        even = mapped.shape[0] // 2 * 2
        halves = {"a": mapped[0:even:2], "b": mapped[1:even:2]}
        folded = np.asarray(EXACT.evaluate(entry.combine.results, halves)[0])
        mapped = np.concatenate([folded, mapped[even:]])
    accumulated = mapped[0]
    if entry.finish is not None:
        names = {"acc": accumulated, "n": np.asarray(count)}
        accumulated = EXACT.evaluate(entry.finish.results, names)[0]
    return np.asarray(accumulated)


# Relative and absolute, for up to 3000 numbers of size 3.
CLOSE = {"float32": (2e-5, 1e-3), "float64": (1e-12, 1e-9)}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_nan_and_infinities_come_through(entry: ReductionEntry, dtype: str) -> None:
    for special in ([np.nan], [np.inf], [-np.inf], [np.inf, np.nan], [np.inf, -np.inf], [0.0]):
        for size, place in itertools.product((3, 40, 3000), (0, 1, -2)):
            x = values(entry, (size,), dtype, 4)
            x[place] = special[0]
            x[place - 1] = special[-1]
            output = np.asarray(function_of(entry)(tl.tensor(x)))
            wanted = fold_of_pieces(entry, x, None)
            assert output.shape == ()
            with np.errstate(all="ignore"):
                if output.dtype.kind == "f" and np.isfinite(wanted):
                    np.testing.assert_allclose(output, wanted, *CLOSE[dtype])
                else:
                    np.testing.assert_array_equal(output, wanted.astype(output.dtype))


@pytest.mark.parametrize("layout", ["whole", "rows", "columns", "strided"])
def test_a_million_float32_sum_to_what_float64_says(layout: str) -> None:
    x = np.full(1_000_000, 0.1, np.float32)
    wanted = float(x.astype(np.float64).sum())
    if layout == "whole":
        total = tl.functional.sum(tl.tensor(x)).item()
    elif layout == "strided":
        spread = np.zeros(2_000_000, np.float32)
        spread[::2] = x
        total = tl.functional.sum(tl.RawTensor(spread[::2])).item()
    else:
        axis = 1 if layout == "rows" else 0
        matrix = x.reshape((4, -1) if layout == "rows" else (-1, 4))
        parts = tl.functional.sum(tl.tensor(matrix), axis=axis)
        total = float(np.asarray(parts, dtype=np.float64).sum())
    assert abs(total - wanted) <= 1e-6 * wanted


@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_axes_out_of_range_are_refused(entry: ReductionEntry) -> None:
    x = tl.tensor(np.ones((2, 3)))
    for axis in (2, -3, 2**62, -(2**63)):
        with pytest.raises(tl.IndexRangeError) as caught:
            function_of(entry)(x, axis=axis)
        text = f"{entry.name}: axis must be in [-2, 1]; got axis={axis} for 2 dimensions."
        assert str(caught.value) == text
    with pytest.raises(tl.TensorlikeError, match=f"^{entry.name}: .*got axis=\\(0, -2\\)"):
        function_of(entry)(x, axis=(0, -2))
    with pytest.raises(tl.IndexRangeError, match=f"^{entry.name}: a zero-dimensional tensor has"):
        function_of(entry)(tl.tensor(1.0), axis=0)
