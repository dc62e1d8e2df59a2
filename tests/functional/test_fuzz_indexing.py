"""Random indexing and assignment, basic and advanced, against NumPy."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.layouts import LAYOUTS

import tensorlike as tl

QUICK = settings(
    derandomize=True,
    max_examples=250,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICK, max_examples=8000)
BOUNDS = st.one_of(st.none(), st.integers(-7, 7), st.sampled_from([2**62, -(2**62), -(2**63)]))
STEPS = st.one_of(st.none(), st.sampled_from([1, 2, 3, -1, -2, 2**40, -(2**62)]))


@st.composite
def sources(draw: Any) -> Any:
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), max_size=4)))
    x = np.arange(np.prod(shape, dtype=int), dtype=draw(st.sampled_from(["int64", "float32"])))
    layout = draw(st.sampled_from([None, "transposed", "reversed", "every_second"]))
    x = x.reshape(shape)
    return LAYOUTS[layout](x) if layout and x.ndim else x


@st.composite
def basic_items(draw: Any, size: int) -> Any:
    if size and draw(st.booleans()):
        return draw(st.integers(-size, size - 1))
    return slice(draw(BOUNDS), draw(BOUNDS), draw(STEPS))


@st.composite
def array_items(draw: Any, size: int, shape: tuple[int, ...]) -> Any:
    """Integers into a dimension; none fit where it is empty."""
    count = int(np.prod(shape, dtype=int))
    chosen = [draw(st.integers(-size, size - 1)) for _ in range(count)]
    return np.array(chosen, dtype=np.int64).reshape(shape)


@st.composite
def keys(draw: Any, shape: tuple[int, ...], advanced: bool) -> Any:
    items: list[Any] = []
    used = draw(st.integers(0, len(shape)))
    from_the_end = draw(st.booleans())
    sizes = shape[len(shape) - used :] if from_the_end else shape[:used]
    joint = tuple(draw(st.lists(st.sampled_from([1, 2, 3]), max_size=2)))
    for size in sizes:
        kind = draw(st.sampled_from(["basic", "basic", "array", "mask"] if advanced else ["basic"]))
        if kind == "array" and size:
            given_shape = joint[draw(st.integers(0, len(joint))) :]
            items.append(draw(array_items(size, given_shape)))
        elif kind == "mask" and not any(getattr(i, "dtype", None) is not None for i in items):
            items.append(np.array([draw(st.booleans()) for _ in range(size)], dtype=bool))
        else:
            items.append(draw(basic_items(size)))
        if draw(st.integers(0, 5)) == 0:
            items.append(None)
    if from_the_end and used < len(shape):
        items.insert(0, Ellipsis)
    elif draw(st.integers(0, 4)) == 0:
        items.append(Ellipsis)
    return tuple(items)


def as_ours(key: Any, how: int) -> Any:
    """Arrays in the key as tensors or lists."""

    def convert(item: Any) -> Any:
        if not isinstance(item, np.ndarray):
            return item
        return [item, tl.tensor(item), item.tolist() if item.ndim else item][how % 3]

    key = tuple(convert(item) for item in key)
    return key[0] if len(key) == 1 and not isinstance(key[0], list) else key


@st.composite
def selections(draw: Any, advanced: bool) -> Any:
    x = draw(sources())
    return x, draw(keys(x.shape, advanced)), draw(st.integers(0, 2))


def assert_reads(selection: Any) -> None:
    x, key, how = selection
    try:
        wanted = x[key]
    except IndexError:
        with pytest.raises(IndexError):
            tl.Tensor(tl.RawTensor(x))[as_ours(key, how)]
        return
    found = tl.Tensor(tl.RawTensor(x))[as_ours(key, how)]
    np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


def has_duplicates(x: Any, key: Any) -> bool:
    places = np.arange(x.size).reshape(x.shape)[key]
    return np.unique(places).size != np.size(places)


def assert_writes(selection: Any, seed: int) -> None:
    x, key, how = selection
    try:
        shape = np.shape(x[key])
    except IndexError:
        return
    if has_duplicates(x, key):
        return
    rng = np.random.default_rng(seed)
    whole = np.asarray(rng.integers(100, 200, shape), dtype=x.dtype)
    values: list[Any] = [7, whole]
    if shape:
        values += [whole[:1], whole[..., :1], whole[-1]] if shape[0] else [whole[:1]]
    for value in values:
        wanted = x.copy()
        try:
            wanted[key] = value
        except ValueError:
            continue
        tensor = tl.tensor(x)
        held = tensor.alias()
        tensor[as_ours(key, how)] = tl.tensor(value) if isinstance(value, np.ndarray) else value
        np.testing.assert_array_equal(np.asarray(tensor), wanted, strict=True)
        np.testing.assert_array_equal(np.asarray(held), x, strict=True)


@QUICK
@given(selections(advanced=False))
def test_basic_indexing_reads_what_numpy_reads(selection: Any) -> None:
    assert_reads(selection)


@QUICK
@given(selections(advanced=True))
def test_advanced_indexing_reads_what_numpy_reads(selection: Any) -> None:
    assert_reads(selection)


@QUICK
@given(selections(advanced=False), st.integers(0, 1000))
def test_basic_assignment_writes_what_numpy_writes(selection: Any, seed: int) -> None:
    assert_writes(selection, seed)


@QUICK
@given(selections(advanced=True), st.integers(0, 1000))
def test_advanced_assignment_writes_what_numpy_writes(selection: Any, seed: int) -> None:
    assert_writes(selection, seed)


@pytest.mark.slow
@LONG
@given(st.booleans().flatmap(lambda advanced: selections(advanced)), st.integers(0, 1000))
def test_many_random_keys(selection: Any, seed: int) -> None:
    assert_reads(selection)
    assert_writes(selection, seed)


@QUICK
@given(selections(advanced=True), st.integers(0, 1000))
def test_gradients_of_indexing_are_scattered_back(selection: Any, seed: int) -> None:
    """The gradient of sum(x[key] * w) adds w at the places that were read, duplicates too."""
    x, key, how = selection
    try:
        shape = np.shape(x[key])
    except IndexError:
        return
    weights = np.asarray(np.random.default_rng(seed).normal(size=shape))
    wanted = np.zeros(x.shape)
    np.add.at(wanted, key, weights)
    leaf = tl.tensor(x.astype(np.float64), requires_grad=True)
    tl.functional.sum(leaf[as_ours(key, how)] * tl.tensor(weights)).backward()
    np.testing.assert_allclose(np.asarray(leaf.grad), wanted, 1e-12, 1e-12, strict=True)


@pytest.mark.parametrize(
    "key",
    [5, -6, (0, 0, 0), (Ellipsis, Ellipsis), "a", 1.5, None.__class__, [0, 5], [-6], [[1.5]],
     ([0, 1], [0, 1, 2]), np.ones(4, bool), np.ones((5, 4), bool), slice(0, 5, 0), 2**63, -(2**63),
     2**200, [2**63], {"a": 1}, object(), b"a", (0, "a"), [[0], [0, 1]]],
    ids=lambda key: type(key).__name__,
)  # fmt: skip
def test_keys_that_numpy_refuses_are_refused(key: Any) -> None:
    x = np.arange(15.0).reshape(5, 3)
    documented = (tl.TensorlikeError, TypeError, ValueError, IndexError, OverflowError)
    with pytest.raises(documented):
        x[key]
    tensor = tl.tensor(x)
    with pytest.raises(documented):
        tensor[key]
    with pytest.raises(documented):
        tensor[key] = 0
    np.testing.assert_array_equal(np.asarray(tensor), x)
