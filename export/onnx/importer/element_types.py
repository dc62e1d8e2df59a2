"""ONNX's element types, by number: what they are called, and what holds their numbers here.

Types that are narrower than any dtype of ours are held in a wider one that has all their numbers:
int4 in int8, float8 in float32. A value of such a type is always one of its numbers, since the
only ops that make it are conversions, which round as the type does (`narrow_types.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .... import _C
from .... import functional as F


class ElementType(NamedTuple):
    """An element type.

    Attributes:
        name: what ONNX calls it.
        dtype: the name of the dtype of ours that is it, or that holds its numbers; "" where none
            does.
        narrow: whether the dtype has more numbers than the type.
    """

    name: str
    dtype: str
    narrow: bool = False


TYPES: dict[int, ElementType] = {
    1: ElementType("FLOAT", "float32"),
    2: ElementType("UINT8", "uint8"),
    3: ElementType("INT8", "int8"),
    4: ElementType("UINT16", "uint16"),
    5: ElementType("INT16", "int16"),
    6: ElementType("INT32", "int32"),
    7: ElementType("INT64", "int64"),
    8: ElementType("STRING", ""),
    9: ElementType("BOOL", "bool"),
    10: ElementType("FLOAT16", "float16"),
    11: ElementType("DOUBLE", "float64"),
    12: ElementType("UINT32", "uint32"),
    13: ElementType("UINT64", "uint64"),
    14: ElementType("COMPLEX64", "complex64"),
    15: ElementType("COMPLEX128", "complex128"),
    16: ElementType("BFLOAT16", "bfloat16"),
    17: ElementType("FLOAT8E4M3FN", "float32", True),
    18: ElementType("FLOAT8E4M3FNUZ", "float32", True),
    19: ElementType("FLOAT8E5M2", "float32", True),
    20: ElementType("FLOAT8E5M2FNUZ", "float32", True),
    21: ElementType("UINT4", "uint8", True),
    22: ElementType("INT4", "int8", True),
    23: ElementType("FLOAT4E2M1", "float32", True),
    24: ElementType("FLOAT8E8M0", "float32", True),
    25: ElementType("UINT2", "uint8", True),
    26: ElementType("INT2", "int8", True),
}


def element_type(number: int) -> ElementType:
    """The element type of this number.

    Raises:
        DTypeError: there is none, or nothing here holds it: strings.
    """
    found = TYPES.get(number)
    if found is None or not found.dtype:
        name = f"number {number}" if found is None else found.name
        raise _C.DTypeError(
            "must be an element type of numbers or booleans", op="onnx", got=name,
            fix="take strings apart before the model",
        )  # fmt: skip
    return found


def dtype_of(number: int) -> Any:
    """The dtype that holds an element type."""
    name = element_type(number).dtype
    return getattr(_C, "bool_" if name == "bool" else name)


def number_of_dtype(dtype: Any) -> int:
    """The number of the element type that a dtype of ours is."""
    return next(n for n, kind in TYPES.items() if kind.dtype == dtype.name and not kind.narrow)


def converted(x: Any, dtype: Any) -> Any:
    """A tensor in a dtype: itself where it is that already, without a step of a program."""
    name = dtype if isinstance(dtype, str) else dtype.name
    return x if x.dtype.name == name else F.astype(x, dtype=dtype)
