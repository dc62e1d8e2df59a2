"""What the Array API says about dtypes: which there are, their limits, how they combine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _C
from .naming import named
from .tensor import TensorLike

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
    return x.dtype if isinstance(x, _C.TensorBase) else _C.ShapeTensor((), x).dtype


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


@named
def result_type(*arrays_and_dtypes: TensorLike) -> _C.dtype:
    """The dtype that an op on all of these computes in.

    Args:
        arrays_and_dtypes: tensors, dtypes, and Python numbers, which only say their kind.

    Raises:
        ParameterError: there are only Python numbers, or nothing at all.

    Source:
        Array API 2025.12, ``result_type``.

    Example:
        >>> import tensorlike as tl
        >>> tl.result_type(tl.int8, tl.uint8, 3)
        tensorlike.int16
    """
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float, complex))]
    others = [x for x in arrays_and_dtypes if not isinstance(x, (bool, int, float, complex))]
    if not others:
        raise _C.ParameterError("needs a tensor or a dtype.", op="result_type", got="none")
    condition = _C.ShapeTensor((), _C.bool_)
    result: Any = _C.ShapeTensor((), as_dtype(others[0]))
    for x in others[1:]:
        result = _where(condition, result, _C.ShapeTensor((), as_dtype(x)))
    for number in numbers:
        result = _where(condition, result, type(number)())
    return result.dtype  # type: ignore[no-any-return]


@named
def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion turns a dtype into another.

    Args:
        from_: a dtype or a tensor.
        to: a dtype.

    Source:
        Array API 2025.12, ``can_cast``.

    Example:
        >>> import tensorlike as tl
        >>> tl.can_cast(tl.int8, tl.int16), tl.can_cast(tl.float64, tl.float32)
        (True, False)
    """
    return result_type(as_dtype(from_), as_dtype(to)) is as_dtype(to)


@named
def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        ShapeError: they do not broadcast.

    Source:
        Array API 2025.12, ``broadcast_shapes``.

    Example:
        >>> import tensorlike as tl
        >>> tl.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    result: Any = _C.ShapeTensor((), _C.bool_)
    for shape in shapes:
        result = _where(result, *[_C.ShapeTensor(tuple(shape), _C.bool_)] * 2)
        result = _C.ShapeTensor(result.shape, _C.bool_)
    return result.shape  # type: ignore[no-any-return]


_where = _C.Function("where")
