"""How dtypes and shapes combine: `where`, on shapes alone, tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..imperative import (
    ParameterError,
    ShapeTensor,
    Size,
    TensorLike,
    as_dtype,
    dtype,
)
from ..imperative.broadcasting import broadcast_unknown, has_unknown
from .arguments import named
from .generated import where

__all__ = ["broadcast_shapes", "can_cast", "result_type"]


@named
def result_type(*arrays_and_dtypes: TensorLike) -> dtype:
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
    given = [0 if isinstance(x, Size) else x for x in arrays_and_dtypes]
    numbers = [x for x in given if _is_weak(x)]
    others = [x for x in given if not _is_weak(x)]
    if not others:
        raise ParameterError("needs a tensor or a dtype.", op="result_type", got="none")
    condition = ShapeTensor((), "bool")
    result: Any = ShapeTensor((), as_dtype(others[0]))
    for x in others[1:]:
        result = where(condition, result, ShapeTensor((), as_dtype(x)))
    for number in numbers:
        result = where(condition, result, type(number)())
    return result.dtype


def _is_weak(x: Any) -> bool:
    """Whether it is a number of Python's; NumPy's have dtypes."""
    return isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic)


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
    if has_unknown(shapes):
        return broadcast_unknown(shapes)
    result: Any = ShapeTensor((), "bool")
    for shape in shapes:
        result = where(result, *[ShapeTensor(tuple(shape), "bool")] * 2)
        result = ShapeTensor(result.shape, "bool")
    return result.shape
