"""PyTorch's zip files (.pt, .pth, .bin), read without PyTorch and without running what they say.

A member ``data.pkl`` is a pickle that speaks of tensors as views of storages, and each storage is
a member of its own, ``data/KEY``. `tensor_pickle` runs the pickle; what its globals mean is here.

Source: https://docs.pytorch.org/docs/stable/notes/serialization.html; the calls are those of
``torch/_utils.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .archives import Archive
from .entries import STORED, Entry, count_of
from .files import refuse
from .tensor_pickle import MOST_BYTES, Global, Machine, Meaning

# PyTorch's names of dtypes, beside those that are ours, and of the storages of each.
_STORAGES = {
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "",
}
_FOREIGN = frozenset({"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"})
# A pickle that names one container in many places describes more names than memory can hold.
_MOST_DEPTH = 32
_MOST_NAMED = 1 << 18
_MOST_LETTERS = 1024


class _Storage(NamedTuple):
    """A member with elements; a dtype of "" are bytes."""

    key: str
    dtype: str


class _Tensor(NamedTuple):
    """A view of a storage, whose bounds are checked."""

    storage: _Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def is_torch(archive: Archive) -> bool:
    """Whether a zip file is one of PyTorch's."""
    return any(_is_pickle(name) for name in archive.sizes)


class TorchFile:
    """The tensors of one file.

    Raises:
        ArgumentError: the pickle needs more than tensors and containers, by the name of what it
            needs; or a tensor passes the end of its storage; or the file is damaged.
    """

    def __init__(self, path: str, archive: Archive) -> None:
        self._path = path
        self._archive = archive
        roots = [name.removesuffix("data.pkl") for name in archive.sizes if _is_pickle(name)]
        if len(roots) != 1:
            raise refuse(path, "must have one data.pkl", f"{len(roots)}")
        (self._root,) = roots
        if f"{self._root}constants.pkl" in archive.sizes:
            raise refuse(
                path, "must hold tensors alone", "a TorchScript program",
                "save its state_dict() with PyTorch",
            )  # fmt: skip
        order = f"{self._root}byteorder"
        self._is_big = order in archive.sizes and archive.read(order, 8) == b"big"
        self._last: tuple[str, bytes] | None = None

    def entries(self) -> dict[str, Entry]:
        """The tensors by their names: the keys of the containers around them, with dots between."""
        data = self._archive.read(f"{self._root}data.pkl", MOST_BYTES + 1)
        found = Machine(self._path, Meaning(self._persistent, self._called)).run(data)
        entries: dict[str, Entry] = {}
        if type(found) not in (dict, list, tuple, _Tensor):
            raise refuse(self._path, "must hold tensors", type(found).__name__)
        for name, tensor in self._named(found):
            if name in entries:
                raise refuse(self._path, "must give each tensor a name of its own", repr(name)[:80])
            entries[name] = Entry(tensor.dtype, tensor.shape, lambda t=tensor: self._read(t))  # type: ignore[misc]
        return entries

    def _named(self, found: Any) -> Iterator[tuple[str, _Tensor]]:
        """Tensors with their names; a container that stands in several places is one of the first.

        Without recursion, since a pickle nests as it likes.
        """
        waiting: list[tuple[str, Any, int]] = [("", found, 0)]
        seen: set[int] = set()
        count = 0
        while waiting:
            name, value, depth = waiting.pop()
            if isinstance(value, _Tensor):
                yield name or "tensor", value
                continue
            if id(value) in seen:
                continue
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            inner = [(key, x) for key, x in items if type(x) in (dict, list, tuple, _Tensor)]
            count += len(inner)
            letters = len(name) + max((len(str(key)) for key, _ in inner), default=0)
            if inner and (depth == _MOST_DEPTH or count > _MOST_NAMED or letters > _MOST_LETTERS):
                raise refuse(
                    self._path,
                    f"must have {_MOST_NAMED} names at most, {_MOST_DEPTH} deep",
                    f"{count} at depth {depth}",
                )
            named = [(f"{name}.{key}" if name else str(key), x, depth + 1) for key, x in inner]
            waiting.extend(reversed(named))

    def _persistent(self, identity: Any) -> _Storage:
        """A storage, by what the pickle calls it: ("storage", class, key, device, elements)."""
        if type(identity) is not tuple or len(identity) != 5 or identity[0] != "storage":
            raise refuse(self._path, "must speak of storages", "something else that lies elsewhere")
        _, cls, key, _, count = identity
        if not isinstance(cls, Global) or cls.name not in _STORAGES:
            raise refuse(self._path, "must have storages of dtypes that are known", str(cls)[:80])
        if not cls.module.startswith("torch"):
            raise self._not_allowed(cls)
        storage = _Storage(str(key), _STORAGES[cls.name])
        member = self._member(storage)
        size = np.dtype(STORED[storage.dtype]).itemsize if storage.dtype else 1
        if type(count) is not int or count < 0 or count * size != self._archive.sizes[member]:
            raise refuse(
                self._path, f"must have all of storage {key!r}"[:100], f"{count} elements"[:80]
            )
        return storage

    def _member(self, storage: _Storage) -> str:
        member = f"{self._root}data/{storage.key}"
        if member not in self._archive.stored:
            raise refuse(self._path, "must hold its storages as they are", repr(member)[:80])
        return member

    def _called(self, function: Global, arguments: tuple[Any, ...]) -> Any:
        """What a call means."""
        name = str(function)
        if name == "collections.OrderedDict" and not arguments:
            return {}
        if name == "torch.Size" and len(arguments) == 1 and type(arguments[0]) is tuple:
            return arguments[0]
        if name == "torch._utils._rebuild_parameter" and len(arguments) == 3:
            if isinstance(arguments[0], _Tensor):
                return arguments[0]
        elif name == "torch._utils._rebuild_tensor_v2" and len(arguments) in (6, 7):
            self._refuse_lazy(arguments[6:])
            return self._tensor(arguments[:4], None)
        elif name == "torch._utils._rebuild_tensor_v3" and len(arguments) in (7, 8):
            self._refuse_lazy(arguments[7:])
            return self._tensor(arguments[:4], arguments[6])
        elif name == "torch._utils._rebuild_tensor" and len(arguments) == 4:
            return self._tensor(arguments, None)
        raise self._not_allowed(function)

    def _not_allowed(self, function: Global) -> Exception:
        return refuse(
            self._path, "must hold tensors, containers, numbers and texts alone",
            f"{str(function)[:100]}, which no code runs for",
            "save a state_dict() of tensors",
        )  # fmt: skip

    def _refuse_lazy(self, metadata: tuple[Any, ...]) -> None:
        """Tensors whose elements are the conjugates, or the negatives, of what is stored."""
        if metadata and metadata[0]:
            raise refuse(self._path, "must hold elements as they are", "conjugated or negated ones")

    def _tensor(self, arguments: tuple[Any, ...], dtype: Any) -> _Tensor:
        """A view; refused where it passes its storage's end, or is larger than that."""
        storage, offset, shape, strides = arguments
        if not isinstance(storage, _Storage) or not all(
            type(x) is tuple and all(type(n) is int and n >= 0 for n in x)
            for x in ((offset,), shape, strides)
        ):
            raise refuse(self._path, "must make tensors of storages and sizes", "other arguments")
        name = storage.dtype if dtype is None else self._dtype(dtype)
        if not name:
            raise refuse(self._path, "must give its storages dtypes", "bytes without one")
        itemsize = np.dtype(STORED.get(name, "|u1")).itemsize
        held = self._archive.sizes[self._member(storage)] // itemsize
        count = count_of(self._path, shape)
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=False))
        if len(shape) != len(strides) or (count and last >= held) or count > held:
            raise refuse(
                self._path, "must have tensors within their storages, and no larger",
                f"shape {shape}, strides {strides} at {offset} of {held} elements"[:160],
            )  # fmt: skip
        return _Tensor(storage, name, offset, shape, strides)

    def _dtype(self, dtype: Any) -> str:
        known = STORED.keys() | _FOREIGN
        if isinstance(dtype, Global) and dtype.module == "torch" and dtype.name in known:
            return dtype.name
        raise refuse(self._path, "must have dtypes that are known", str(dtype)[:80])

    def _read(self, tensor: _Tensor) -> np.ndarray[Any, Any]:
        stored = np.dtype(STORED[tensor.dtype])
        if self._is_big:
            stored = stored.newbyteorder(">")
        if not math.prod(tensor.shape):
            return np.zeros(tensor.shape, stored)
        elements = np.frombuffer(self._bytes(tensor.storage), stored)
        # Where a size is 1 the stride says nothing, and may be anything.
        strides = [
            s * stored.itemsize if n > 1 else 0
            for n, s in zip(tensor.shape, tensor.strides, strict=True)
        ]
        return np.lib.stride_tricks.as_strided(
            elements[tensor.offset :], tensor.shape, strides, writeable=False
        )

    def _bytes(self, storage: _Storage) -> bytes:
        """A storage; the last one is kept, since tensors often share one."""
        last = self._last
        if last is None or last[0] != storage.key:
            last = self._last = (storage.key, self._archive.read(self._member(storage)))
        return last[1]


def _is_pickle(name: str) -> bool:
    return name == "data.pkl" or name.endswith("/data.pkl")
