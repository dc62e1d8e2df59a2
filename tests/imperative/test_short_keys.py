"""Keys that the core reads itself are what `imperative.indexing` makes of them: values, dtypes,
gradients and errors, for drawn keys and values, in every mode and under transforms."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.imperative import indexing

F: Any = tl.functional
SHAPES = [(), (0,), (1,), (4,), (3, 4), (2, 3, 4), (4, 1)]
DTYPES = ["float32", "float64", "int64", "int8", "uint16", "bool", "float16", "complex64"]
MODES = ["sync", "lazy", "async"]


class Other(tl.Tensor):
    """A class of somebody's own: it goes the general way."""

    __slots__ = ()


def drawn(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    source = np.random.default_rng(rng.randrange(1000))
    return source.integers(0, 9, shape).astype(dtype)


def drawn_key(rng: random.Random, shape: tuple[int, ...]) -> Any:
    """One tensor, array or list: mostly of indices in range, or a mask of the first dimensions."""
    size = shape[0] if shape else 1
    limit = max(size, 1) + (rng.random() < 0.1)
    index_shape = rng.choice([(), (1,), (2,), (3,), (0,), (2, 2)])
    index = np.random.default_rng(rng.randrange(1000)).integers(-limit, limit, index_shape)
    mask_shape = shape[: rng.randint(0, len(shape))] if rng.random() < 0.9 else (5,)
    mask = np.asarray(np.random.default_rng(rng.randrange(1000)).random(mask_shape) < 0.5)
    dtype = rng.choice(["int64", "int32", "int8", "uint8", "uint64"])
    array = rng.choice([index, index, mask]).astype(dtype) if rng.random() < 0.3 else index
    array = mask if rng.random() < 0.4 else array
    made: list[Callable[[Any], Any]] = [tl.tensor, np.asarray, np.ndarray.tolist, lambda a: a[()]]
    return rng.choice(made)(np.asarray(array))


def drawn_value(rng: random.Random, dtype: str) -> Any:
    numbers = [0, 1, -1, 2.5, True, 1e40, 300, 2**70, float("nan"), 1j, np.float32(3)]
    if rng.random() < 0.5:
        return rng.choice(numbers)
    shape = rng.choice([(), (1,), (2,), (4,), (3, 4), (2, 4), (1, 1, 1)])
    array = drawn(rng, shape, rng.choice([dtype, "float32", "int64"]))
    return rng.choice([tl.tensor, lambda a: a])(array)


def said(run: Callable[[], Any]) -> tuple[Any, ...]:
    try:
        with np.errstate(all="ignore"):
            y = run()
    except (tl.TensorlikeError, TypeError, ValueError, IndexError, OverflowError) as error:
        return (type(error), str(error))
    return (y.dtype, y.shape, np.asarray(y).tobytes())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(40))
def test_reading_by_a_tensor_is_what_the_general_way_reads(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    with tl.engine.mode(mode):
        for _ in range(40):
            shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
            array, key = drawn(rng, shape, dtype), drawn_key(rng, shape)
            short, general = tl.tensor(array), Other(tl.tensor(array))
            found = said(lambda: short[key])  # noqa: B023
            assert found == said(lambda: general[key]), (shape, dtype, key)  # noqa: B023


def assigned(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(60))
def test_assigning_by_a_tensor_is_what_the_general_way_assigns(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    with tl.engine.mode(mode):
        for _ in range(40):
            shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
            array, key, value = (
                drawn(rng, shape, dtype),
                drawn_key(rng, shape),
                drawn_value(rng, dtype),
            )
            short, general = tl.tensor(array), Other(tl.tensor(array))
            found = said(lambda: assigned(short, key, value))  # noqa: B023
            wanted = said(lambda: assigned(general, key, value))  # noqa: B023
            assert found == wanted, (shape, dtype, key, value)
            assert np.asarray(short).tobytes() == np.asarray(general).tobytes()


def by_key(key: Any, value: Any) -> Callable[[Any], Any]:
    def loss(x: Any) -> Any:
        y = x * 2.0
        part = y[key]
        y[key] = value
        return (y * y).sum() + (part * part * part).sum()

    return loss


KEYS = [tl.tensor([1, 0, 1]), np.array([2, -1]), [0, 0], tl.tensor([True, False, True])]


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("value", [3.0, tl.tensor([1.0, 2.0])])
def test_transforms_see_what_they_saw(key: Any, value: Any) -> None:
    array = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
    is_mask = isinstance(key, tl.Tensor) and key.dtype == tl.bool
    loss = by_key(key, value)
    x, v = tl.tensor(array), tl.tensor(array[::-1].copy())
    wanted = tl.grad(loss)(Other(x))
    np.testing.assert_array_equal(np.asarray(tl.grad(loss)(x)), np.asarray(wanted))
    leaf = tl.tensor(array, requires_grad=True)
    loss(leaf).backward()
    np.testing.assert_array_equal(np.asarray(leaf.grad), np.asarray(wanted))
    tangents = tl.jvp(loss, (x,), (v,))[1], tl.jvp(loss, (Other(x),), (Other(v),))[1]
    assert tangents[0].item() == tangents[1].item()
    assert tl.grad(lambda x: (tl.grad(loss)(x) * v).sum())(x).shape == (3, 2)
    if not is_mask:
        rows = tl.vmap(loss)(F.stack([x, v]))
        assert rows.tolist() == pytest.approx([loss(x).item(), loss(v).item()], rel=1e-6)


@contextlib.contextmanager
def registered(rule: Any) -> Iterator[None]:
    tl.apply.register(rule)
    try:
        yield
    finally:
        tl.apply.unregister(rule)


def test_a_rule_sees_the_ops_of_keys() -> None:
    seen: list[str] = []

    def apply_noted(op: tl.ops.OpBase, *xs: tl.Tensor) -> Any:
        seen.append(type(op).__name__)
        return tl.apply.super(op, *xs)

    x = tl.tensor([1.0, 2.0, 3.0])
    with registered(apply_noted):
        x[tl.tensor([0])], x[tl.tensor([True, False, True])], x[0]
        x[[1]] = 5.0
        x[tl.tensor([True, False, True])] = 0.0
        x[2] = 4.0
    for name in ("Gather", "MaskedSelect", "Subtensor", "ScatterSet", "SetSubtensor"):
        assert name in seen
    assert x.tolist() == [0.0, 5.0, 4.0]


def test_a_rule_on_elements_sees_them_too() -> None:
    seen: list[str] = []

    def apply_noted(op: tl.ops.OpBase, *xs: tl.RawTensor) -> Any:
        seen.append(type(op).__name__)
        return NotImplemented

    x = tl.tensor([1.0, 2.0, 3.0])
    with registered(apply_noted):
        x[0] = 4.0
        x[1:] = tl.tensor([5.0, 6.0])
        x[[0]] = 7.0
        assert x[[1, 2]].tolist() == [5.0, 6.0]
        tl.maximum(x, 0.0)
    assert seen.count("SetSubtensor") == 2
    assert {"ScatterSet", "Gather", "Const"} <= set(seen)


def test_a_profile_counts_assignments() -> None:
    x = tl.tensor([1.0, 2.0, 3.0])
    with tl.profile() as profile:
        x[0] = 4.0
    assert "SetSubtensor" in profile.table()


def test_more_keys_than_are_remembered() -> None:
    x = tl.tensor(np.arange(3000.0))
    for _ in range(2):
        assert [x[i].item() for i in range(-3000, 3000)] == [*range(3000), *range(3000)]
        assert all(x[i : i + 2].shape == (min(2, 3000 - i),) for i in range(3000))
    y = tl.zeros((60, 50))
    for i in range(60):
        for j in range(50):
            y[i, j] = i * 50 + j
    np.testing.assert_array_equal(y.numpy(), np.arange(3000.0).reshape(60, 50))


PLAIN: list[Any] = [0, -1, 3, None, ..., slice(None), slice(1, 3), slice(None, None, -1), 2**70]


@pytest.mark.parametrize("seed", range(30))
def test_keys_made_of_parts_are_numpys(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        key = tuple(rng.choice(PLAIN) for _ in range(rng.randint(0, 4)))
        array = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
        if rng.random() < 0.3 and key:
            key = key[0]
        try:
            wanted = array[key]
        except IndexError:
            with pytest.raises(tl.IndexRangeError):
                tl.tensor(array)[key]
            continue
        x = tl.tensor(array)
        np.testing.assert_array_equal(x[key].numpy(), wanted)
        array[key] = -1
        x[key] = -1
        np.testing.assert_array_equal(x.numpy(), array)


def test_general_keys_know_what_the_core_does() -> None:
    """What the short way stands for: the call that the hook gives is the op that it applies."""
    x = tl.tensor([1.0, 2.0, 3.0])
    assert indexing.setitem(x, tl.tensor([0, 1]), 2.0).function == "scatter_set"
    assert indexing.setitem(x, tl.tensor([True, False, True]), 2.0).function == "where"
