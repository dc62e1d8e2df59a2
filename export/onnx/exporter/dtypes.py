"""Dtypes as ONNX has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .... import _C

# Ours to ONNX's, by the names that TensorProto and schemas have.
ELEMENT_TYPES: Mapping[str, tuple[str, str]] = {
    "bool": ("BOOL", "tensor(bool)"),
    "int8": ("INT8", "tensor(int8)"),
    "int16": ("INT16", "tensor(int16)"),
    "int32": ("INT32", "tensor(int32)"),
    "int64": ("INT64", "tensor(int64)"),
    "uint8": ("UINT8", "tensor(uint8)"),
    "uint16": ("UINT16", "tensor(uint16)"),
    "uint32": ("UINT32", "tensor(uint32)"),
    "uint64": ("UINT64", "tensor(uint64)"),
    "float16": ("FLOAT16", "tensor(float16)"),
    "bfloat16": ("BFLOAT16", "tensor(bfloat16)"),
    "float32": ("FLOAT", "tensor(float)"),
    "float64": ("DOUBLE", "tensor(double)"),
}


# Dtypes in which the same is computed, where an op of ONNX does not take ours: kernels compute
# halves in float32, and integers wrap when they are made small again.
WIDER: Mapping[str, str] = {
    "float16": "float32", "bfloat16": "float32", "int8": "int32", "int16": "int32",
    "uint8": "int32", "uint16": "int32", "uint32": "int64",
}  # fmt: skip


def wider(dtype: _C.dtype) -> _C.dtype | None:
    """The dtype in which the same can be computed, or None."""
    name = WIDER.get(dtype.name)
    found: _C.dtype | None = None if name is None else getattr(_C, name)
    return found


def is_exported(dtype: _C.dtype) -> bool:
    """Whether ops of ONNX take it: complex numbers have a type there, and no op."""
    return dtype.name in ELEMENT_TYPES


def element_type(dtype: _C.dtype) -> int:
    """The number that TensorProto has for it."""
    from onnx import TensorProto

    names: Any = TensorProto.DataType
    return int(names.Value(ELEMENT_TYPES[dtype.name][0]))


def type_text(dtype: _C.dtype) -> str:
    """How schemas of ops write it, or "" where they do not have it."""
    return ELEMENT_TYPES[dtype.name][1] if is_exported(dtype) else ""
