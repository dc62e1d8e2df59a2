"""What the Array API says about dtypes: which there are, their limits, how they combine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _C
from .naming import named

DTYPES = (
    *(_C.bool_, _C.int8, _C.int16, _C.int32, _C.int64),
    *(_C.uint8, _C.uint16, _C.uint32, _C.uint64),
    *(_C.float16, _C.bfloat16, _C.float32, _C.float64, _C.complex64, _C.complex128),
)
# What the standard calls them; it knows no halves, which are numeric all the same.
KINDS: dict[str, tuple[_C.dtype, ...]] = {
    "bool": DTYPES[:1],
    "signed integer": DTYPES[1:5],
    "unsigned integer": DTYPES[5:9],
    "integral": DTYPES[1:9],
    "real floating": DTYPES[9:13],
    "complex floating": DTYPES[13:],
    "numeric": DTYPES[1:],
}
_PARTS = {_C.complex64: _C.float32, _C.complex128: _C.float64}
# Digits behind the leading one, and the smallest and the largest exponent of a normal number.
_FORMATS = {
    _C.float16: (10, -14, 15),
    _C.bfloat16: (7, -126, 127),
    _C.float32: (23, -126, 127),
    _C.float64: (52, -1022, 1023),
}


class finfo_object(NamedTuple):
    """The limits of a floating-point dtype, as Python floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _C.dtype


class iinfo_object(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: _C.dtype


def as_dtype(x: Any) -> _C.dtype:
    """The dtype that a tensor has, or that a name or NumPy's dtype means.

    Raises:
        DTypeError: there is no such dtype.
    """
    if isinstance(x, _C.dtype):
        return x
    if isinstance(x, _C.TensorBase):
        return x.dtype
    return _C.ShapeTensor((), x.dtype if isinstance(x, np.generic | np.ndarray) else x).dtype


@named
def finfo(type: Any, /) -> finfo_object:
    """The limits of a floating-point dtype; of its parts, for a complex one.

    Args:
        type: a dtype, or a tensor, which stands for its own.

    Raises:
        DTypeError: the dtype is not a floating-point one.

    Source:
        Array API 2025.12, ``finfo``.

    Example:
        >>> import tensorlike as tl
        >>> tl.finfo(tl.float32).eps
        1.1920928955078125e-07
    """
    dtype = as_dtype(type)
    dtype = _PARTS.get(dtype, dtype)
    if dtype not in _FORMATS:
        raise _C.DTypeError("the dtype must be floating-point.", op="finfo", got=dtype.name)
    digits, smallest, largest = _FORMATS[dtype]
    most = (2.0 - 2.0**-digits) * 2.0**largest
    return finfo_object(8 * dtype.itemsize, 2.0**-digits, most, -most, 2.0**smallest, dtype)


@named
def iinfo(type: Any, /) -> iinfo_object:
    """The limits of an integer dtype.

    Args:
        type: a dtype, or a tensor, which stands for its own.

    Raises:
        DTypeError: the dtype is not an integer one.

    Source:
        Array API 2025.12, ``iinfo``.

    Example:
        >>> import tensorlike as tl
        >>> tl.iinfo(tl.int8).max
        127
    """
    dtype = as_dtype(type)
    if dtype not in KINDS["integral"]:
        raise _C.DTypeError("the dtype must be integer.", op="iinfo", got=dtype.name)
    bits = 8 * dtype.itemsize
    if dtype in KINDS["unsigned integer"]:
        return iinfo_object(bits, 2**bits - 1, 0, dtype)
    return iinfo_object(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)


@named
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Args:
        dtype: a dtype.
        kind: a dtype, one of the words "bool", "signed integer", "unsigned integer", "integral",
            "real floating", "complex floating" and "numeric", or a tuple of such.

    Raises:
        ParameterError: there is no such kind.

    Source:
        Array API 2025.12, ``isdtype``.

    Example:
        >>> import tensorlike as tl
        >>> tl.isdtype(tl.int8, ("bool", "integral"))
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            words = ", ".join(repr(word) for word in KINDS)
            raise _C.ParameterError(
                f"must be a dtype or of {words}.", op="isdtype", argument="kind", got=repr(kind)
            )
        return as_dtype(dtype) in KINDS[kind]
    return as_dtype(dtype) is as_dtype(kind)
