"""Numbers that are evenly spaced, or whose logarithms are."""

from __future__ import annotations

import math
from typing import Any

from ..imperative import Size, Tensor, as_dtype
from ..imperative.indexing import assignment_op
from ..ops import Arange
from .arguments import creating_op, integer, larger, makes, named, scalar
from .generated import arange, astype, equal, pow, where

__all__ = ["linspace", "logspace"]

_LAST = assignment_op(-1)


@creating_op
def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Evenly spaced numbers, the ends exactly as given.

    Args:
        start: the first number.
        stop: the last number, or the one that would come after it.
        num: how many.
        dtype: the dtype, float32 or complex64 by default.
        device: where the tensor lives.
        endpoint: whether `stop` is the last number.

    Raises:
        ParameterError: num is no integer, or is negative; start or stop is no number.

    Source:
        Array API 2025.12, ``linspace``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linspace(0, 1, 5)
        tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    count: Any = integer("linspace", "num", num, least=0)
    start, stop = scalar("linspace", "start", start), scalar("linspace", "stop", stop)
    is_complex = complex in (type(start), type(stop))
    if dtype is None:
        dtype = "complex64" if is_complex else "float32"
    steps = larger(1, count - 1 if endpoint else count)
    if not is_complex and as_dtype(dtype).kind == "floating":
        counted = _counted(start, stop, count, steps, dtype, device)
        if counted is not None:
            return makes(counted, *([(_LAST, stop)] if endpoint and count > 1 else []))
    wide = "complex128" if is_complex else "float64"
    at = arange(count, dtype="float64", device=device)
    step: Any = (stop - start) / steps
    if isinstance(step, Size) or step - step == 0:
        values = (astype(at, dtype=wide) if is_complex else at) * step + start
    else:  # the distance is too large for a number, its parts are not
        values = astype(1 - at / steps, dtype=wide) * start + astype(at / steps, dtype=wide) * stop
    if endpoint and (isinstance(count, Size) or count > 1):
        is_last = equal(at, count - 1)
        values = where(is_last & (at > 0) if isinstance(count, Size) else is_last, stop, values)
    return astype(values, dtype=dtype)


def _counted(start: Any, stop: Any, count: Any, steps: Any, dtype: Any, device: Any) -> Any:
    """The op that counts so many numbers from start on; None where it would miscount."""
    if any(isinstance(given, Size) for given in (start, stop, count)):
        return None
    start = float(start)
    step = (stop - start) / steps
    end = start + (count - 0.5) * step
    if step == 0 or not math.isfinite(end) or math.ceil((end - start) / step) != count:
        return None
    return Arange(start=start, stop=end, step=step, dtype=dtype, device=device)


@named
def logspace(
    start: complex, stop: complex, /, num: int, *, base: float = 10.0, dtype: Any = None
) -> Tensor:
    """Powers of a base with evenly spaced exponents.

    Args:
        start: the first exponent.
        stop: the last exponent.
        num: how many.
        base: the base.
        dtype: the dtype, float32 or complex64 by default.

    Raises:
        ShapeError: num is negative.

    Source:
        NumPy, ``numpy.logspace``; PyTorch, ``torch.logspace``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.logspace(0, 2, 3).tolist()
        [1.0, 10.0, 100.0]
    """
    is_complex = any(isinstance(end, complex) for end in (start, stop, base))
    if dtype is None:
        dtype = "complex64" if is_complex else "float32"
    exponents = linspace(start, stop, num, dtype="complex128" if is_complex else "float64")
    return astype(pow(base, exponents), dtype=dtype)
