"""Weights: tensors of a file by their names, each read when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import _C
from ...imperative import Tensor
from .files import refuse

MOST_DIMENSIONS = 64

# The names of our dtypes, and the NumPy dtypes of the bytes that hold them, lowest byte first.
STORED = {
    "bool": "|u1",
    "int8": "|i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "float16": "<f2",
    "bfloat16": "<u2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}


class Entry(NamedTuple):
    """A tensor of a file: what is known before it is read, and how to read it.

    Attributes:
        dtype: the name of the dtype; one that is not in `STORED` cannot be read.
        shape: the shape.
        read: the elements, as `STORED` has them.
    """

    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], np.ndarray[Any, Any]]


class Weights(Mapping[str, Tensor]):
    """Tensors of a file by their names. A tensor is read when it is asked for, each time anew.

    Example:
        >>> import os, tempfile
        >>> import numpy as np
        >>> from tensorlike.export import read_weights
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "two.npz")
        ...     np.savez(path, a=np.ones(2, np.float32), b=np.zeros((3, 4)))
        ...     weights = read_weights(path)
        ...     print(weights)
        ...     weights["a"].tolist()
        a: float32(2,)
        b: float64(3, 4)
        [1.0, 1.0]
    """

    def __init__(self, path: str, entries: Mapping[str, Entry]) -> None:
        """Made by `read_weights`."""
        self.path = path
        self.entries = entries

    def __getitem__(self, name: str) -> Tensor:
        """Reads a tensor.

        Raises:
            KeyError: there is none of the name.
            DTypeError: its dtype is none that we have.
            ArgumentError: the file is damaged there, or has changed.
        """
        entry = self.entries[name]
        if entry.dtype not in STORED:
            raise _C.DTypeError(
                f"{name} of {self.path} must be of a dtype that there is here",
                op="read_weights",
                got=entry.dtype,
            )
        return tensor_of(entry.read(), entry.dtype)

    def __iter__(self) -> Iterator[str]:
        """The names, in the file's order."""
        return iter(self.entries)

    def __len__(self) -> int:
        """How many tensors there are."""
        return len(self.entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without reading it."""
        return self.entries[name].shape

    def dtype(self, name: str) -> str:
        """The name of a tensor's dtype, without reading it; perhaps of one that is not ours."""
        return self.entries[name].dtype

    def __repr__(self) -> str:
        """A line for each tensor."""
        return "\n".join(
            f"{name}: {entry.dtype}{entry.shape}" for name, entry in self.entries.items()
        )


def tensor_of(stored: np.ndarray[Any, Any], dtype: str) -> Tensor:
    """A tensor of elements as `STORED` has them."""
    if dtype == "bool":
        return Tensor(stored != 0)  # any other byte than 0 and 1 is no boolean
    native = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    raw = _C.RawTensor(np.ascontiguousarray(native).reshape(stored.shape))
    return Tensor(_C.bitcast(raw, _C.bfloat16) if dtype == "bfloat16" else raw)


def count_of(path: str, shape: tuple[int, ...]) -> int:
    """How many elements a shape has that stands in a file; it must be one that arrays can have."""
    if len(shape) > MOST_DIMENSIONS or any(size < 0 or size > 2**62 for size in shape):
        raise refuse(path, "must hold shapes that tensors can have", _short(shape))
    return math.prod(shape)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
