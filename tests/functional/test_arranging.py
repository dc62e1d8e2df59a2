"""Composed calls that arrange and pick elements, and the copies behind them, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.layouts import LAYOUTS

import tensorlike as tl
from tensorlike import functional as F

QUICK = settings(
    derandomize=True,
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
DTYPES = ["bool", "int16", "float32", "float64", "complex128"]


@st.composite
def arrays(draw: Any, least: int = 0) -> Any:
    """Any layout of any size of element, empty ones and those without dimensions too."""
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 17]), min_size=least, max_size=4)))
    dtype = draw(st.sampled_from(DTYPES))
    x = np.random.default_rng(len(shape)).integers(0, 100, shape).astype(dtype)
    layout = draw(st.sampled_from([None, "transposed", "reversed", "every_second"]))
    return LAYOUTS[layout](x) if layout and x.ndim else x


@st.composite
def axes_of(draw: Any, ndim: int) -> Any:
    axes = draw(st.permutations(range(ndim)))[: draw(st.integers(0, ndim))]
    return tuple(axis - ndim * draw(st.integers(0, 1)) for axis in axes)


def assert_same(found: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


def wrap(x: Any) -> tl.Tensor:
    return tl.Tensor(tl.RawTensor(x))


@QUICK
@given(arrays(), st.data())
def test_any_order_of_axes_is_copied_as_numpy_copies_it(x: Any, data: Any) -> None:
    order = data.draw(st.permutations(range(x.ndim)))
    copy = F.to_device(wrap(x).transpose(*order) if x.ndim else wrap(x), device="cpu")
    assert_same(copy, np.ascontiguousarray(x.transpose(order)).reshape(x.transpose(order).shape))
    assert_same(F.reshape(F.permute_dims(wrap(x), order), -1), x.transpose(order).reshape(-1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(64, 64), (65, 129), (1, 300), (300, 1), (7, 31, 33), (3, 2)])
def test_large_transposes_go_through_tiles(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 1000, shape).astype(dtype)
    assert_same(F.to_device(wrap(x).T, device="cpu"), x.T)
    assert_same(F.to_device(wrap(x.T[::-1]).T, device="cpu"), x.T[::-1].T)
    assert_same(F.concat([wrap(x.T), wrap(x.T)], axis=-1), np.concatenate([x.T, x.T], -1))


@QUICK
@given(arrays(), st.data())
def test_flip_and_roll(x: Any, data: Any) -> None:
    axes = data.draw(axes_of(x.ndim))
    assert_same(F.flip(wrap(x), axes), np.flip(x, axes))
    assert_same(F.flip(wrap(x)), np.flip(x))
    shifts = tuple(data.draw(st.sampled_from([0, 1, -2, 7, 2**62, -(2**62)])) for _ in axes)
    reduced = tuple(s % x.shape[a] if x.shape[a] else 0 for s, a in zip(shifts, axes, strict=True))
    assert_same(F.roll(wrap(x), shifts, axes), np.roll(x, reduced, axes) if axes else x)
    assert_same(F.roll(wrap(x), 3), np.roll(x, 3))


@QUICK
@given(arrays(), st.data())
def test_tile_and_repeat(x: Any, data: Any) -> None:
    counts = data.draw(st.lists(st.integers(0, 3), max_size=5))
    assert_same(F.tile(wrap(x), counts), np.tile(x, counts))
    assert_same(F.repeat(wrap(x), 2), np.repeat(x, 2))
    if not x.ndim:
        return
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    number = data.draw(st.integers(0, 3))
    assert_same(F.repeat(wrap(x), number, axis), np.repeat(x, number, axis))
    size = x.shape[axis]
    each = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    assert_same(F.repeat(wrap(x), each, axis), np.repeat(x, np.array(each, int), axis))
    assert_same(F.repeat(wrap(x), tl.tensor(np.array(each, int)), axis), np.repeat(x, each, axis)
                if each else np.repeat(x, np.array(each, int), axis))  # fmt: skip


@QUICK
@given(arrays(), st.data())
def test_dimensions_are_added_moved_and_left_out(x: Any, data: Any) -> None:
    axes = data.draw(axes_of(x.ndim))
    targets = data.draw(st.permutations(range(x.ndim)))[: len(axes)]
    assert_same(F.moveaxis(wrap(x), axes, targets), np.moveaxis(x, axes, targets))
    place = data.draw(st.integers(-x.ndim - 1, x.ndim))
    assert_same(F.expand_dims(wrap(x), place), np.expand_dims(x, place))
    assert_same(F.squeeze(F.expand_dims(wrap(x), place), place), x)
    assert_same(F.squeeze(wrap(x)), np.squeeze(x))
    if x.ndim:
        parts = F.unstack(wrap(x), -1)
        assert len(parts) == x.shape[-1]
        for i, part in enumerate(parts):
            assert_same(part, x[..., i])


@QUICK
@given(arrays(least=1), st.data())
def test_take_and_take_along_axis(x: Any, data: Any) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    size = x.shape[axis]
    kind = data.draw(st.sampled_from(["int32", "int64", "uint8"]))
    low = 0 if kind == "uint8" else -size
    count = data.draw(st.sampled_from([0, 1, 3])) if size else 0
    rng = np.random.default_rng(count)
    index = rng.integers(low, max(size, 1), (count, 2)).astype(kind)
    assert_same(F.take(wrap(x), tl.tensor(index), axis), np.take(x, index.astype(int), axis))
    shape = list(x.shape)
    shape[axis] = count
    along = rng.integers(low, max(size, 1), shape).astype(kind)
    wanted = np.take_along_axis(x, along.astype(int), axis)
    assert_same(F.take_along_axis(wrap(x), tl.tensor(along), axis=axis), wanted)
    if count > 1:
        return
    put = x.copy()
    np.put_along_axis(put, along.astype(int), 1, axis)
    assert_same(F.put_along_axis(wrap(x), tl.tensor(along), 1, axis=axis), put)


@QUICK
@given(arrays(least=1))
def test_nonzero_and_masks(x: Any) -> None:
    x = np.where(np.arange(x.size).reshape(x.shape) % 3 == 0, 0, x).astype(x.dtype)
    for found, wanted in zip(F.nonzero(wrap(x)), np.nonzero(x), strict=True):
        assert_same(found, wanted)
    for ndim in range(1, x.ndim + 1):
        mask = np.random.default_rng(ndim).random(x.shape[:ndim]) < 0.5
        assert_same(wrap(x)[tl.tensor(mask)], x[mask])
        value = np.arange(int(mask.sum())).reshape(-1, *[1] * (x.ndim - ndim)).astype(x.dtype)
        for written in (value, 1, np.asarray(1, x.dtype)):
            wanted, tensor = x.copy(), tl.tensor(x)
            wanted[mask] = written
            tensor[mask] = written
            assert_same(tensor, wanted)


def test_long_masks_are_compressed_by_blocks() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((100_003, 3), np.float32)
    for mask in (x[:, 0] < 0.5, x[:, 0] < 2, x[:, 0] > 2):
        assert_same(tl.tensor(x)[tl.tensor(mask)], x[mask])
        assert_same(tl.tensor(x[:, 1])[tl.tensor(mask)], x[mask, 1])
    whole = x < 0.3
    assert_same(F.argwhere(tl.tensor(whole)), np.argwhere(whole))


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 3, 3), (0, 2)])
def test_triangles(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).normal(size=shape)
    for k in (-9, -1, 0, 2, 9, 2**70, -(2**70)):
        near = max(-20, min(k, 20))
        assert_same(F.tril(wrap(x), k=k), np.tril(x, near))
        assert_same(F.triu(wrap(x), k=k), np.triu(x, near))
        for other in (x > 0, (x * 4).astype(np.int8)):
            assert_same(F.tril(wrap(other), k=k), np.tril(other, near))
            assert_same(F.triu(wrap(other), k=k), np.triu(other, near))


@pytest.mark.parametrize(
    ("span", "count", "inner"), [(7, 300_000, ()), (40_000, 200_000, ()), (50, 3000, (200,)),
                                 (500, 30_000, (3,)), (1, 200_000, ()), (3, 5000, (2, 70))]
)  # fmt: skip
def test_sums_do_not_depend_on_the_number_of_threads(
    span: int, count: int, inner: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(2)
    index = rng.integers(0, span, count)
    value = rng.random((count, *inner), np.float32)
    start = rng.random((span, *inner), np.float32)
    results = []
    before = tl.num_threads()
    try:
        for threads in (1, 2, 3, 5):
            tl.set_num_threads(threads)
            args = [tl.tensor(a) for a in (start, value, index)]
            added = np.asarray(F.scatter_add(*args, axes=(0,)))
            put = np.asarray(F.scatter_set(*args, axes=(0,)))
            results.append((added, put))
    finally:
        tl.set_num_threads(before)
    wanted, last = start.astype(np.float64), start.copy()
    np.add.at(wanted, index, value)
    last[index] = value  # NumPy promises that the last one wins
    for added, put in results:
        np.testing.assert_array_equal(added, results[0][0])
        np.testing.assert_array_equal(put, last)
    np.testing.assert_allclose(results[0][0], wanted, rtol=2e-4)


BAD: dict[str, Callable[[Any], Any]] = {
    "index too large": lambda x: F.take(x, tl.tensor([0, 3]), 0),
    "index too small": lambda x: F.take(x, tl.tensor([-4]), 0),
    "index of the least integer": lambda x: F.take(x, tl.tensor([-(2**63)]), 0),
    "unsigned index": lambda x: F.take(x, tl.tensor(np.array([2**63], np.uint64)), 0),
    "index of floats": lambda x: F.take(x, tl.tensor([1.0]), 0),
    "axis": lambda x: F.take(x, tl.tensor([1]), 2),
    "least axis": lambda x: F.flip(x, -(2**63)),
    "axis twice": lambda x: F.flip(x, (0, -2)),
    "shape along": lambda x: F.take_along_axis(x, tl.tensor([[1], [1]])),
    "dimensions along": lambda x: F.take_along_axis(x, tl.tensor([1])),
    "value along": lambda x: F.put_along_axis(x, tl.tensor([[1]] * 3), tl.tensor([[1, 2]] * 3)),
    "mode": lambda x: F.put_along_axis(x, tl.tensor([[1]] * 3), 1, mode="max"),
    "mask": lambda x: F.masked_select(x, tl.tensor([True, False])),
    "mask of numbers": lambda x: F.masked_select(x, tl.tensor([1, 0, 1])),
    "value of a mask": lambda x: F.masked_scatter(x, x > 0, tl.tensor([1.0, 2.0])),
    "repeat": lambda x: F.repeat(x, 2**62),
    "repeat along": lambda x: F.repeat(x, 2**62, 0),
    "repeat each": lambda x: F.repeat(x, [2**61, 2**61, 1], 0),
    "repeat less": lambda x: F.repeat(x, -1, 0),
    "repeat floats": lambda x: F.repeat(x, 1.5, 0),
    "repeat some": lambda x: F.repeat(x, [1, 2], 0),
    "tile": lambda x: F.tile(x, (2**62, 2**62)),
    "tile less": lambda x: F.tile(x, -1),
    "pad": lambda x: F.pad(x, widths=(2**62, 0, 0, 0)),
    "pad less": lambda x: F.pad(x, widths=(-1, 0, 0, 0)),
    "pad some": lambda x: F.pad(x, widths=(1, 1)),
    "pad too far": lambda x: F.pad(x, widths=(3, 0, 0, 0), mode="reflect"),
    "pad nothing": lambda x: F.pad(x[:0], widths=(1, 0, 0, 0), mode="edge"),
    "pad mode": lambda x: F.pad(x, widths=(1, 0, 0, 0), mode="mirror"),
    "roll": lambda x: F.roll(x, (1, 2), None),
    "roll more": lambda x: F.roll(x, (1, 2, 3), (0, 1)),
    "move": lambda x: F.moveaxis(x, (0, 1), 0),
    "squeeze": lambda x: F.squeeze(x, 0),
    "expand": lambda x: F.expand_dims(x, 4),
    "broadcast": lambda x: F.broadcast_arrays(x, tl.tensor([1, 2])),
    "nonzero of a number": lambda x: F.nonzero(x[0, 0]),
    "nonzero of a shape": lambda x: F.nonzero(tl.ShapeTensor((2, 3))),
    "triangle of a vector": lambda x: F.tril(x[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words(name: str) -> None:
    with pytest.raises(tl.TensorlikeError) as caught:
        BAD[name](tl.tensor(np.ones((3, 4), np.float32)))
    assert ": " in str(caught.value)
    assert "got" in str(caught.value) or "depends" in str(caught.value)


@pytest.mark.parametrize("mode", ("sync", "async", "lazy"))
def test_what_is_empty_is_split_into_nothing(mode: str) -> None:
    with tl.engine.mode(mode):
        x = tl.zeros((0, 2))
        assert F.unstack(x) == ()
        assert F.split(x, ()) == ()
        assert tl.ops.Split(sizes=(), axis=0)(x) == ()


def test_reading_and_writing_the_same_memory() -> None:
    x = np.arange(10.0)
    tensor = tl.tensor(x)
    tensor[np.arange(9)] = tensor[1:]
    assert_same(tensor, np.append(x[1:], 9.0))
    tensor = tl.tensor(x)
    tensor[1:] = tensor[:-1]
    assert_same(tensor, np.append(0.0, x[:-1]))
    tensor = tl.tensor(x)
    tensor[tensor > 4] = tensor[:5]
    assert_same(tensor, np.tile(x[:5], 2))


@pytest.mark.parametrize("flag", [True, False])
def test_masks_without_dimensions(flag: bool) -> None:
    x = np.arange(6.0).reshape(2, 3)
    keys: list[Any] = [flag, (flag, 0), (0, flag), (flag, slice(1)), np.bool_(flag),
                       (slice(None), flag), (slice(None), flag, 1)]  # fmt: skip
    for key in keys:
        assert_same(tl.tensor(x)[key], x[key])
        wanted, tensor = x.copy(), tl.tensor(x)
        wanted[key] = 7
        tensor[key] = 7
        assert_same(tensor, wanted)
