"""Small arrays of NumPy's come in by its own interface: as by the buffer protocol, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "longlong", "longdouble", "S3"),
    *(">f4", ">i8", "<f8", "O", "M8[s]"),
]


class Derived(np.ndarray[Any, Any]):
    """A class of somebody's own."""


def unaligned(array: Any) -> Any:
    bytes_ = np.zeros(array.nbytes + 1, np.uint8)
    moved = bytes_[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "in order": lambda a: a,
    "by columns": np.asfortranarray,
    "transposed": lambda a: a.T,
    "backwards": lambda a: a[::-1],
    "every other": lambda a: a[..., ::2],
    "broadcast": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "empty": lambda a: a[:0],
    "one": lambda a: a[0, 0, 0:1].reshape(()),
    "many": lambda a: np.tile(a, (40, 40, 1)),
    "unaligned": unaligned,
    "derived": lambda a: a.view(Derived),
}


def said_of(data: Any) -> tuple[Any, ...]:
    try:
        x = tl.tensor(data)
    except (tl.TensorlikeError, TypeError, ValueError) as error:
        return (type(error), str(error))
    return (x.dtype, x.shape, x.numpy().tobytes())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_they_are_what_their_buffers_are(dtype: str, layout: str) -> None:
    drawn = np.random.default_rng(3).integers(0, 5, (2, 3, 4)).astype(dtype)
    if dtype == "O" and layout == "unaligned":
        pytest.skip("there is no such array")
    array = LAYOUTS[layout](drawn)
    array.flags.writeable = False
    found = said_of(array)
    if found[0] in tl.TensorlikeError.__subclasses__():
        assert dtype in ("longdouble", "S3", "O", "M8[s]", ">f4", ">i8")
        return
    try:
        buffer = memoryview(array)
    except ValueError:  # NumPy gives none of dates
        return
    assert found == said_of(buffer)
    if dtype in ("float32", "int64"):
        array.flags.writeable = layout != "broadcast"
        x = tl.tensor(array)
        before = x.numpy().copy()
        if array.flags.writeable:
            array[...] = 7
        np.testing.assert_array_equal(x.numpy(), before)


def test_bytes_of_booleans_are_true_or_false() -> None:
    array = np.array([0, 2, 255], np.uint8).view(bool)
    assert tl.tensor(array).numpy().view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.parametrize("wanted", ["float64", "int32", "bool", "complex64", "bfloat16"])
def test_they_are_cast_as_others_are(wanted: str) -> None:
    array = np.linspace(-2, 2, 7).astype(np.float32)
    one, other = tl.tensor(array, dtype=wanted), tl.tensor(array).astype(wanted)
    assert one.dtype is other.dtype
    assert one.tolist() == other.tolist()


KEYS: list[Any] = [
    0, -1, 1, slice(None), slice(1, 3), slice(None, None, -1), Ellipsis, None,
    (0, 1), (slice(None), 0), (Ellipsis, -1), (None, 0), (slice(0, 2), slice(1, None, 2)),
    True, [0, 1], np.int64(1), (0, [1, 0]), 7, (0, 0, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_the_same_keys_assign_what_numpy_assigns(seed: int) -> None:
    """Of which op a key is the last ones are remembered."""
    source = np.random.default_rng(seed)
    for _ in range(60):
        key = KEYS[source.integers(len(KEYS))]
        shape = tuple(int(n) for n in source.integers(1, 4, source.integers(1, 4)))
        array = source.normal(size=shape).astype(np.float32)
        x = tl.tensor(array)
        kept = x.detach() if source.integers(2) else None
        value = float(source.normal())
        try:
            wanted = array.copy()
            wanted[key] = value
        except IndexError:
            with pytest.raises(IndexError):
                x[key] = value
            continue
        x[key] = value
        np.testing.assert_array_equal(x.numpy(), wanted)
        if kept is not None:
            np.testing.assert_array_equal(kept.numpy(), array)
