"""Indexing and assignment against NumPy, by randomised comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import IndexRangeError, RawTensor, ShapeError, Tensor

SHAPES: list[tuple[int, ...]] = [(), (5,), (3, 4), (2, 3, 4), (1, 4, 1, 3), (0, 3), (2, 0, 2)]


def random_bound(rng: np.random.Generator, size: int) -> int | None:
    """A bound of a slice: often out of range, sometimes missing."""
    return None if rng.random() < 0.3 else int(rng.integers(-size - 3, size + 4))


def random_slice(rng: np.random.Generator, size: int) -> slice:
    """Any slice, of any direction."""
    step = None if rng.random() < 0.4 else int(rng.choice([-3, -2, -1, 1, 2, 3]))
    return slice(random_bound(rng, size), random_bound(rng, size), step)


def basic_key(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Integers, slices, None and at most one ellipsis."""
    items: list[Any] = []
    for size in shape[: int(rng.integers(0, len(shape) + 1))]:
        if size > 0 and rng.random() < 0.4:
            items.append(int(rng.integers(-size, size)))
        else:
            items.append(random_slice(rng, size))
    for _ in range(int(rng.integers(0, 2))):
        items.insert(int(rng.integers(0, len(items) + 1)), None)
    if rng.random() < 0.3:
        items.insert(int(rng.integers(0, len(items) + 1)), Ellipsis)
        used = sum(item is not None and item is not Ellipsis for item in items)
        at = items.index(Ellipsis)
        before = sum(item is not None for item in items[:at])
        skipped = len(shape) - used
        items = items[: at + 1] + _refit(rng, items[at + 1 :], shape[before + skipped :])
    return items[0] if len(items) == 1 and rng.random() < 0.5 else tuple(items)


def _refit(rng: np.random.Generator, items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Integers after an ellipsis stand at other dimensions: they are drawn again."""
    sizes = iter(shape)
    fitted: list[Any] = []
    for item in items:
        if item is None:
            fitted.append(None)
            continue
        size = next(sizes)
        if isinstance(item, int) and size > 0:
            fitted.append(int(rng.integers(-size, size)))
        else:
            fitted.append(random_slice(rng, size))
    return fitted


def advanced_key(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """At least one array of integers or booleans among slices, integers and None."""
    if rng.random() < 0.2:
        return rng.random(shape) < 0.5
    ndim = int(rng.integers(1, len(shape) + 1))
    index_shape = tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3))))
    items: list[Any] = []
    for size in shape[:ndim]:
        kind = rng.random()
        if kind < 0.5:
            items.append(rng.integers(-size, size, index_shape))
        elif kind < 0.65:
            items.append(int(rng.integers(-size, size)))
        else:
            items.append(random_slice(rng, size))
    if not any(isinstance(item, np.ndarray) for item in items):
        items[0] = rng.integers(-shape[0], shape[0], index_shape)
    for _ in range(int(rng.integers(0, 2))):
        items.insert(int(rng.integers(0, len(items) + 1)), None)
    return tuple(items)


def in_ours(rng: np.random.Generator, key: Any) -> Any:
    """The same key with its arrays as tensors, lists or arrays."""

    def convert(item: Any) -> Any:
        if not isinstance(item, np.ndarray):
            return item
        return [item, Tensor(item), RawTensor(item), item.tolist()][int(rng.integers(0, 4))]

    if isinstance(key, tuple):
        return tuple(convert(item) for item in key)
    return Tensor(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("shape", SHAPES)
def test_basic_indexing_agrees_with_numpy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    array = rng.standard_normal(shape).astype(np.float32)
    x = Tensor(array)
    for _ in range(150):
        key = basic_key(rng, shape)
        expected = array[key]
        result = x[key]
        assert result.shape == expected.shape, key
        assert np.array_equal(result.numpy(), expected), key


@pytest.mark.parametrize("shape", SHAPES)
def test_basic_assignment_agrees_with_numpy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(10 + len(shape))
    for round_number in range(150):
        array = rng.standard_normal(shape).astype(np.float32)
        x = Tensor(array)
        key = basic_key(rng, shape)
        target = array[key].shape
        value: Any = float(round_number)
        if rng.random() < 0.7:
            cut = int(rng.integers(0, len(target) + 1))
            kept = tuple(1 if rng.random() < 0.3 else n for n in target[cut:])
            value = rng.standard_normal(kept).astype(np.float32)
        array[key] = value
        x[key] = Tensor(value) if rng.random() < 0.5 else value
        assert np.array_equal(x.numpy(), array), key


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (3, 2, 4, 2)])
def test_advanced_indexing_agrees_with_numpy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(20 + len(shape))
    array = rng.standard_normal(shape).astype(np.float32)
    x = Tensor(array)
    for _ in range(150):
        key = advanced_key(rng, shape)
        expected = array[key]
        result = x[in_ours(rng, key)]
        assert result.shape == expected.shape, key
        assert np.array_equal(result.numpy(), expected), key


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (3, 2, 4, 2)])
def test_advanced_assignment_agrees_with_numpy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(30 + len(shape))
    for _ in range(150):
        array = rng.standard_normal(shape).astype(np.float32)
        x = Tensor(array)
        key = advanced_key(rng, shape)
        target = array[key].shape
        # One value everywhere: NumPy does not say which of two duplicates wins.
        value = float(rng.standard_normal())
        array[key] = value
        x[in_ours(rng, key)] = Tensor(np.full(target, value)) if rng.random() < 0.5 else value
        assert np.array_equal(x.numpy(), array), key


def test_the_last_of_several_values_for_one_position_wins() -> None:
    x = Tensor([0.0, 0.0, 0.0])
    x[[1, 1, 2, 1]] = [1.0, 2.0, 3.0, 4.0]
    assert x.tolist() == [0.0, 4.0, 3.0]


def test_a_mask_selects_and_assigns_whole_rows() -> None:
    x = Tensor([[1, 2], [3, 4], [5, 6]])
    mask = Tensor([True, False, True])
    assert x[mask].tolist() == [[1, 2], [5, 6]]
    x[mask] = [[7, 8], [9, 10]]
    assert x.tolist() == [[7, 8], [3, 4], [9, 10]]
    x[x > 8] = 0
    assert x.tolist() == [[7, 8], [3, 4], [0, 0]]


def test_an_assigned_value_takes_the_dtype_of_the_tensor() -> None:
    for key in (0, slice(0, 1), [0]):
        x = Tensor([1.0, 2.0], dtype="float32")
        x[key] = Tensor([5.0], dtype="float64")[0]
        assert x.dtype is tl.float32
        assert x.tolist() == [5.0, 2.0]
        y = Tensor([1, 2])
        y[key] = 7
        assert y.dtype is tl.int64
        assert y.tolist() == [7, 2]


def test_a_numpy_integer_is_an_index_and_a_bool_is_none() -> None:
    x = Tensor([1.0, 2.0])
    assert x[np.int64(1)].item() == 2.0
    assert x[np.uint8(1)].item() == 2.0
    assert x[Tensor(1)].item() == 2.0
    assert x[Tensor(1)].shape == ()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "Subtensor: index 3 is out of range for dimension 0 of size 3."),
        (-4, "Subtensor: index -4 is out of range for dimension 0 of size 3."),
        ((0, 0), "Subtensor: too many indices: the tensor has 1 dimensions; got 2 indices."),
        ((..., ...), "index: an index can only have one ellipsis ('...')."),
        (slice(None, None, 0), "index: a slice's step must not be 0."),
        ([3], "Gather: indices must be in [-3, 2] for axis 0; got 3 at position 0."),
        (
            1.0,
            "index: must be integers, slices, None, Ellipsis, or integer or boolean tensors; "
            "got float64",
        ),
        (
            np.array([True]),
            "index: a mask must have the size 3 of dimension 0; got 1",
        ),
        (
            ([0, 1], [0, 1]),
            "index: too many indices: the tensor has 1 dimensions; got 2",
        ),
    ],
)
def test_a_wrong_index_is_an_error_that_says_what_is_accepted(key: Any, message: str) -> None:
    x = Tensor([1.0, 2.0, 3.0])
    with pytest.raises(IndexError) as caught:
        x[key]
    assert str(caught.value) == message
    assert isinstance(caught.value, IndexRangeError)
    with pytest.raises(IndexError):
        x[key] = 0
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_index_arrays_must_broadcast() -> None:
    with pytest.raises(IndexError) as caught:
        Tensor(np.zeros((3, 3)))[[0, 1], [0, 1, 2]]
    assert str(caught.value) == "index: indices must broadcast; got shapes (2,), (3,)"


@pytest.mark.parametrize("key", [slice(0, 2), [0, 1]])
def test_a_value_must_broadcast_to_what_is_assigned_to(key: Any) -> None:
    x = Tensor([1.0, 2.0, 3.0])
    with pytest.raises(ShapeError) as caught:
        x[key] = [1.0, 2.0, 3.0]
    assert "(3,)" in str(caught.value)
    assert "(2,)" in str(caught.value)
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_values_that_are_no_wrappers_refuse_assignment() -> None:
    for x in (RawTensor([1.0]), tl.Tracer(RawTensor([1.0]))):
        with pytest.raises(TypeError, match="tensor-likes are values and do not change"):
            x[0] = 1
        assert x.item() == 1.0


def test_what_is_picked_along_an_inner_axis_lies_in_order() -> None:
    x = tl.tensor(np.arange(24.0).reshape(2, 3, 4))
    index = tl.tensor([1, 0, 1])
    for axis in range(3):
        assert np.asarray(tl.functional.take(x, index, axis=axis)).flags.c_contiguous
    assert np.asarray(tl.functional.argwhere(x)[:, 1]).flags.c_contiguous
