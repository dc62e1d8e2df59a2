"""Tensors of ONNX files as ours: their bytes, checked against type and shape, or external data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import _C
from ....imperative import Tensor, as_raw_tensor
from ....imperative.arrays import steady
from .element_types import element_type
from .narrow_types import Narrow

MOST_DIMENSIONS = 64


def tensor_of(proto: Any, external: Any = None) -> Any:
    """The tensor that a TensorProto, or a SparseTensorProto, holds.

    Args:
        proto: it.
        external: a function from a TensorProto whose data lies elsewhere to its bytes.

    Raises:
        ArgumentError: its data is not that of its type and shape.
        DTypeError: nothing here holds its type.
    """
    if hasattr(proto, "indices"):
        return _dense(proto)
    kind = element_type(proto.data_type)
    dims = checked_dims(proto.name, proto.dims)
    array = _array(proto, dims, external)
    if kind.narrow:
        held = array.astype(np.float32 if kind.dtype == "float32" else kind.dtype)
        return Narrow(Tensor(as_raw_tensor(held)), proto.data_type)
    return Tensor(as_raw_tensor(array))


def checked_dims(name: str, dims: Sequence[int]) -> tuple[int, ...]:
    """The shape of a tensor of a file.

    Raises:
        ArgumentError: a dimension is negative, or there are too many of them.
    """
    if len(dims) > MOST_DIMENSIONS or any(size < 0 for size in dims):
        raise _C.ArgumentError(
            f"must have at most {MOST_DIMENSIONS} dimensions, none negative", op="onnx",
            argument=name, got=str(list(dims))[:80],
        )  # fmt: skip
    return tuple(dims)


def _array(proto: Any, dims: tuple[int, ...], external: Any) -> Any:
    import onnx

    if proto.data_location == onnx.TensorProto.EXTERNAL:
        if external is None:
            raise _C.ArgumentError(
                "external data is read from the folder of a file", op="onnx", argument=proto.name,
                got="a model that is no file", fix="load it by its path",
            )  # fmt: skip
        return _external_array(proto, dims, external(proto))
    _check_count(proto, math.prod(dims))
    try:
        array = onnx.numpy_helper.to_array(proto)
    except (ValueError, TypeError, KeyError) as error:
        raise _C.ArgumentError(
            "must hold as many elements as its shape says", op="onnx", argument=proto.name,
            got=str(error),
        ) from error  # fmt: skip
    return array


def _external_array(proto: Any, dims: tuple[int, ...], data: bytes) -> Any:
    """The tensor that bytes of a file are, which are not copied once more."""
    import onnx

    dtype = onnx.helper.tensor_dtype_to_np_dtype(proto.data_type)
    bits = _bits(dtype, proto.data_type)
    if len(data) != (math.prod(dims) * bits + 7) // 8:
        raise _miscounted(proto, f"{len(data)} bytes")
    if bits % 8:  # several in a byte
        held = onnx.TensorProto(name=proto.name, data_type=proto.data_type, dims=dims)
        held.raw_data = data
        return onnx.numpy_helper.to_array(held)
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(dims)


def _miscounted(proto: Any, got: str) -> _C.ArgumentError:
    return _C.ArgumentError(
        "must hold as many elements as its shape says", op="onnx", argument=proto.name,
        got=f"{got} for shape {tuple(proto.dims)}",
    )  # fmt: skip


def _check_count(proto: Any, count: int) -> None:
    """Raises where the data cannot be that of so many elements, before anything is made of it."""
    import onnx

    held = len(proto.raw_data)
    if not held:
        held = max(
            len(getattr(proto, f"{name}_data"))
            for name in ("float", "int32", "int64", "double", "uint64")
        )
        bits = 0
    else:
        bits = _bits(onnx.helper.tensor_dtype_to_np_dtype(proto.data_type), proto.data_type)
    needed = count if not bits else (count * bits + 7) // 8
    least = needed if bits else (count + 7) // 8
    if held < least or (bits and held != needed):
        raise _miscounted(proto, f"{held} {'bytes' if bits else 'elements'}")


def _bits(dtype: Any, number: int) -> int:
    return {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}.get(number, 8 * int(dtype.itemsize))


def _dense(proto: Any) -> Any:
    values, indices = tensor_of(proto.values), tensor_of(proto.indices)
    dims = checked_dims(proto.values.name, proto.dims)
    elements = np.asarray(values)
    if math.prod(dims) > 2**28:
        raise _C.ArgumentError(
            "sparse tensors must have at most 2**28 elements", op="onnx", got=str(dims)
        )
    dense = np.zeros(dims, elements.dtype)
    places = np.asarray(indices)
    flat = places if places.ndim == 1 else np.ravel_multi_index(tuple(places.T), dims)
    if flat.size and not 0 <= flat.min() <= flat.max() < dense.size:
        raise _C.ArgumentError("indices must be within the shape", op="onnx", got=str(dims))
    dense.reshape(-1)[flat] = elements
    return Tensor(as_raw_tensor(dense))


def given_tensor(value: Any, number: int) -> Any:
    """What a caller gives for an input of an element type: a tensor-like, an array or numbers."""
    kind = element_type(number)
    if type(value).__name__ == "TensorProto":
        value = tensor_of(value)
    if isinstance(value, Narrow):
        if value.number != number:
            raise _C.DTypeError(
                f"must be of {kind.name}", op="onnx", argument="input",
                got=element_type(value.number).name,
            )  # fmt: skip
        return value
    if not isinstance(value, (Tensor, _C.TensorBase)):
        try:
            array = np.asarray(steady(value))
        except (TypeError, ValueError) as error:
            raise _C.DTypeError(
                "must be of numbers", op="onnx", argument="input", got=f"a {type(value).__name__}"
            ) from error
        if array.dtype.kind in "OUS":
            raise _C.DTypeError(
                "must be of numbers", op="onnx", argument="input", got=f"{array.dtype}"
            )
        if kind.narrow:
            array = array.astype(np.float32).astype(kind.dtype)
        is_python = not hasattr(value, "dtype")
        value = Tensor(as_raw_tensor(array, dtype=_dtype(kind.dtype) if is_python else None))
    elif not isinstance(value, Tensor):
        value = Tensor(value)
    if value.dtype.name != kind.dtype:
        raise _C.DTypeError(
            f"must be of {kind.dtype}", op="onnx", argument="input", got=value.dtype.name
        )
    return Narrow(value, number) if kind.narrow else value


def _dtype(name: str) -> Any:
    return getattr(_C, "bool_" if name == "bool" else name)
