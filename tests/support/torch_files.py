"""Files as `torch.save` makes them, without PyTorch: what its documentation says of their layout.

Storages are views of NumPy arrays; a pickler names them by persistent ids, and calls that make
tensors are pickled as references to functions of the same names, which exist nowhere here.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np

STORAGES = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}


class Named:
    """A global of PyTorch's, which is pickled by its name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Storage:
    """Elements that lie in a member of their own."""

    def __init__(self, elements: np.ndarray[Any, Any], dtype: str | None = None) -> None:
        self.elements = elements
        self.dtype = elements.dtype.name if dtype is None else dtype


class Call:
    """What is pickled as a call of a global."""

    def __init__(self, function: str, *arguments: Any) -> None:
        self.function, self.arguments = Named(function), arguments


def tensor(storage: Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Call:
    """A view of a storage, with strides in elements."""
    return Call(
        "torch._utils _rebuild_tensor_v2", storage, offset, shape, strides, False, OrderedDict()
    )


def whole(array: Any, dtype: str | None = None) -> Call:
    """A tensor that is a storage as a whole."""
    array = np.array(array, order="C")
    strides = tuple(s // array.itemsize for s in array.strides)
    return tensor(Storage(array.reshape(-1), dtype), 0, array.shape, strides)


def parameter(made: Call) -> Call:
    """A tensor as a parameter."""
    return Call("torch._utils _rebuild_parameter", made, True, OrderedDict())


class _Pickler(pickle._Pickler):  # the one in Python, whose output can be written to
    dispatch: ClassVar[dict[Any, Any]] = dict(pickle._Pickler.dispatch)

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: list[Storage] = []

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Storage):
            return None
        known = [i for i, storage in enumerate(self.storages) if storage is obj]
        key = known[0] if known else len(self.storages)
        if not known:
            self.storages.append(obj)
        cls = Named(f"torch {STORAGES.get(obj.dtype, obj.dtype)}")
        return "storage", cls, str(key), "cpu", len(obj.elements)

    def save_named(self, obj: Named) -> None:
        module, name = obj.name.split(" ")
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def save_call(self, obj: Call) -> None:
        self.save(obj.function)
        self.save(obj.arguments)
        self.write(pickle.REDUCE)

    dispatch[Named] = save_named
    dispatch[Call] = save_call


def torch_bytes(
    content: Any,
    *,
    protocol: int = 2,
    byteorder: str = "little",
    root: str = "archive",
    pickled: bytes | None = None,
) -> bytes:
    """The file.

    Args:
        content: containers of what `tensor` makes.
        protocol: the pickle's.
        byteorder: of the elements.
        root: the folder in the archive.
        pickled: is written in the pickle's place.
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream, protocol)
    pickler.dump(content)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{root}/data.pkl", stream.getvalue() if pickled is None else pickled)
        archive.writestr(f"{root}/byteorder", byteorder)
        for i, storage in enumerate(pickler.storages):
            elements = storage.elements
            if byteorder == "big":
                elements = elements.astype(elements.dtype.newbyteorder(">"))
            archive.writestr(f"{root}/data/{i}", elements.tobytes())
        archive.writestr(f"{root}/version", "3\n")
    return data.getvalue()
