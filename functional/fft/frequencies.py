"""The frequencies of a spectrum, and where its elements lie."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...imperative import (
    DTypeError,
    ParameterError,
    ShapeError,
    Tensor,
    TensorLike,
    as_dtype,
    isdtype,
)
from ..arguments import named
from ..arranging import as_tensor, roll
from ..generated import arange, astype, concat, divide
from .transform import axes_of

__all__ = [
    "fftfreq",
    "fftshift",
    "ifftshift",
    "rfftfreq",
]


def _frequencies(call: str, n: int, d: float, dtype: Any) -> tuple[int, Any]:
    """The number of samples and the dtype, checked."""
    count = operator.index(n)
    if count < 1:
        raise ShapeError("must be at least 1.", op=call, argument="n", got=f"n={count}")
    if not d or not math.isfinite(d):
        raise ParameterError("must be finite and not 0.", op=call, argument="d", got=f"d={d}")
    wanted = as_dtype("float32" if dtype is None else dtype)
    if not isdtype(wanted, "real floating"):
        raise DTypeError("must be real floating-point.", op=call, argument="dtype", got=f"{wanted}")
    return count, wanted


@named
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies that the elements of an `fft` belong to, in cycles per unit of d.

    Args:
        n: the size of the transform.
        d: the distance between samples.
        dtype: a real floating-point dtype, float32 by default.
        device: where the tensor lives.

    Raises:
        ShapeError: n is not positive.
        ParameterError: d is 0 or not finite.
        DTypeError: the dtype is not real floating-point.

    Source:
        Array API 2025.12, ``fft.fftfreq``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    count, wanted = _frequencies("fftfreq", n, d, dtype)
    parts = [
        arange(0, (count + 1) // 2, dtype="float64", device=device),
        arange(-(count // 2), 0, dtype="float64", device=device),
    ]
    return astype(divide(concat(parts), count * d), dtype=wanted)


@named
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies that the elements of an `rfft` belong to, in cycles per unit of d.

    Args:
        n: the number of real elements.
        d: the distance between samples.
        dtype: a real floating-point dtype, float32 by default.
        device: where the tensor lives.

    Raises:
        ShapeError: n is not positive.
        ParameterError: d is 0 or not finite.
        DTypeError: the dtype is not real floating-point.

    Source:
        Array API 2025.12, ``fft.rfftfreq``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.rfftfreq(4).tolist()
        [0.0, 0.25, 0.5]
    """
    count, wanted = _frequencies("rfftfreq", n, d, dtype)
    return astype(
        divide(arange(0, count // 2 + 1, dtype="float64", device=device), count * d), dtype=wanted
    )


def _shifted(call: str, x: TensorLike, axes: Any, sign: int) -> Tensor:
    x = as_tensor(x)
    given = [int(axes)] if isinstance(axes, int | np.integer) else axes
    found = axes_of(call, len(x.shape), None, given)
    # Half of an odd size, rounded down on the way there and up on the way back.
    return roll(x, [sign * (x.shape[axis] // 2) for axis in found], found) if found else x


@named
def fftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The elements moved so that the frequency 0 is in the middle.

    Args:
        x: any dtype.
        axes: the axes to move along; None means all.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: an axis is named twice.

    Source:
        Array API 2025.12, ``fft.fftshift``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.fftshift(tl.fft.fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted("fftshift", x, axes, 1)


@named
def ifftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
        x: any dtype.
        axes: the axes to move along; None means all.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: an axis is named twice.

    Source:
        Array API 2025.12, ``fft.ifftshift``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.ifftshift(tl.tensor([3, 4, 0, 1, 2])).tolist()
        [0, 1, 2, 3, 4]
    """
    return _shifted("ifftshift", x, axes, -1)
