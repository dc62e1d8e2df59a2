"""Values that lie: lists that change while they are read, shapes that are none, text that is no
UTF-8, booleans that are neither 0 nor 1, tensors of every layout, size and dtype.

Each is made anew for each call, since many work once. `random_value` draws one of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorlike as tl

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


class Mine(Exception):
    """What the values below raise: it must come through, or be told of by an error of ours."""


def _raise(*_: Any, **__: Any) -> Any:
    raise Mine("mine")


class Index:
    """An integer that does something when it is read."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __index__(self) -> int:
        return self.act() or 0

    def __float__(self) -> float:
        return float(self.act() or 0)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self.act()
        return np.zeros(2, np.float32)


class Array:
    """Something like an array, whose answers are given."""

    def __init__(self, **answers: Any) -> None:
        vars(self).update(answers)

    def __getattr__(self, name: str) -> Any:
        if name in ("__dlpack__", "dtype", "shape"):
            raise Mine("mine")
        raise AttributeError(name)


class Like(tl.TensorBase):
    """A tensor-like whose shape and dtype are what they were made to be."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._said = (shape, dtype)

    @property
    def shape(self) -> Any:
        return self._say(0)

    @property
    def dtype(self) -> Any:
        return self._say(1)

    def _say(self, which: int) -> Any:
        said = self._said[which]
        return said() if callable(said) else said


class Endless:
    """A sequence without an end."""

    def __getitem__(self, i: int) -> float:
        if i > 10_000:
            raise Mine("mine")
        return 1.0

    def __len__(self) -> int:
        return 2


def changing_list() -> list[Any]:
    items: list[Any] = []
    items += [Index(items.clear), *(np.ones(2, np.float32) for _ in range(8))]
    return items


def growing_list() -> list[Any]:
    items: list[Any] = []
    items.append(Index(lambda: items.extend([0] * 3)))
    items += [1, 2]
    return items


def own_list() -> list[Any]:
    items: list[Any] = [1.0]
    items.append(items)
    return items


def odd_booleans() -> Any:
    return np.array([255, 2, 0, 1, 0, 128], np.uint8).view(bool)


LIARS: list[Callable[[], Any]] = [
    changing_list, growing_list, own_list, odd_booleans,
    lambda: tl.tensor(odd_booleans()), lambda: tl.from_dlpack(odd_booleans()),
    lambda: Index(_raise), lambda: [Index(_raise)], lambda: (Index(_raise), 1),
    lambda: "\ud800", lambda: ["\ud800"], lambda: {"\ud800": 1}, lambda: "a\0b", lambda: b"\xff",
    lambda: Array(), lambda: Array(__dlpack__=_raise), lambda: Array(shape=7, dtype="float32"),
    lambda: Array(__array_interface__={"shape": (2,), "typestr": "<f4", "data": None}),
    lambda: Like(7, tl.float32), lambda: Like(None, tl.int8), lambda: Like((2, -3), tl.float32),
    lambda: Like(_raise, tl.float32), lambda: Like((2,), _raise), lambda: Like((), tl.bool_),
    lambda: tl.Tensor(Like((2, 3), "junk")), lambda: tl.Tensor(Like((2, 3), None)),
    lambda: tl.Tensor(Like((2, 3), tl.float32)), lambda: tl.Tensor(Like(7, tl.float32)),
    Endless, lambda: range(3), lambda: iter([1, 2]), lambda: {1, 2}, lambda: np.bool_(True),
    lambda: np.array("a"), lambda: np.array([None]), lambda: np.zeros(3, "V8"),
    lambda: np.zeros(3, ">f4"), lambda: np.datetime64("2020-01-01"), lambda: memoryview(b"1234"),
    lambda: bytearray(b"12"), lambda: Ellipsis, lambda: slice(None, None, 0), lambda: _raise,
    lambda: tl.ShapeTensor((2, 3)), lambda: tl.Tensor(tl.ShapeTensor((0, 2), tl.int64)),
    lambda: float("nan"), lambda: 2**64, lambda: -(2**63), lambda: 1 << 10_000, lambda: 1e400,
    lambda: complex("nan"), lambda: None, lambda: tl.Tensor, lambda: tl.float64,
]  # fmt: skip


def random_tensor(rng: np.random.Generator) -> Any:
    """Any dtype, up to four dimensions, sizes of 0 among them, in any layout."""
    odds = [0.15, 0.2, 0.3, 0.25, 0.1]
    shape = tuple(int(n) for n in rng.choice((0, 1, 2, 3, 5), rng.integers(0, 5), p=odds))
    values = rng.normal(size=shape) * rng.choice((0.0, 1.0, 3.0, 1e30))
    if rng.random() < 0.1:
        values = np.where(rng.random(shape) < 0.3, rng.choice((np.nan, np.inf, -np.inf)), values)
    dtype = str(rng.choice(DTYPES))
    with np.errstate(all="ignore"):
        made = tl.tensor(np.asarray(values, np.float64)).astype("float32").astype(dtype)
    ndim = len(shape)
    for _ in range(rng.integers(0, 3)):
        layout = rng.integers(5)
        if layout == 0 and ndim > 1:
            made = made.transpose(*(int(axis) for axis in rng.permutation(ndim)))
        elif layout == 1 and ndim:
            made = made[::-1]
        elif layout == 2 and ndim:
            made = made[..., ::2]
        elif layout == 3:
            made = made.broadcast_to((int(rng.integers(1, 3)), *made.shape))
            ndim += 1
        elif layout == 4:
            made.requires_grad = made.dtype.kind in ("floating", "complex")
    return made


def random_value(rng: np.random.Generator, pool: list[Any]) -> Any:
    """A lie, a tensor, or a value of the pool."""
    kind = rng.random()
    if kind < 0.4:
        return LIARS[rng.integers(len(LIARS))]()
    return random_tensor(rng) if kind < 0.75 else pool[rng.integers(len(pool))]
