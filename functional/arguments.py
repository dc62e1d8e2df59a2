"""Wrong arguments of composed calls: each is refused in the name of the call and the argument.

Python's own answers to a wrong number name neither; those of ops name the op.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..imperative import (
    DeviceError,
    DispatchError,
    ParameterError,
    RawTensor,
    ShapeError,
    Size,
    Tensor,
    TensorBase,
)
from ..imperative.naming import creating_op as creating_op
from ..imperative.naming import makes as makes
from ..imperative.naming import named as named
from ..imperative.naming import named_quick as named_quick
from ..imperative.naming import one_op as one_op
from ..imperative.naming import one_op_on as one_op_on
from ..imperative.sizes import as_size, calculated, is_divided


def _refuse(call: str, name: str, wanted: str, value: Any) -> ParameterError:
    shown = repr(value)
    shown = shown if len(shown) <= 40 else type(value).__name__
    return ParameterError(f"must be {wanted}.", op=call, argument=name, got=f"{name}={shown}")


def elements(x: Any) -> Any:
    """The elements of a tensor as an array, to be checked; None where nobody can read them.

    An op's kernel checks them again, and names the op: what differs between examples under vmap,
    and what is not known yet, is left to it.
    """
    if not isinstance(x, (Tensor, RawTensor)):
        return None
    try:
        return np.asarray(x)
    except (DeviceError, DispatchError):
        return None


def integer(
    call: str, name: str, value: Any, *, least: int | None = None, most: int | None = None
) -> int:
    """An integer, or a size that is not known; at least `least` and at most `most`."""
    try:
        found = as_size(value)
    except TypeError:
        raise _refuse(call, name, "an integer", value) from None
    if least is not None and found < least:
        raise _refuse(call, name, "positive" if least == 1 else f"at least {least}", value)
    if most is not None and found > most:
        raise _refuse(call, name, f"at most {most}", value)
    return found


def number(
    call: str,
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """A real number above `above`, or from `least` to `most`; NaN is in no range."""
    try:
        is_unknown = isinstance(value, Size)
        found = value if is_unknown else None if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None:
        raise _refuse(call, name, "a number", value)
    if above is not None and not found > above:
        raise _refuse(call, name, "positive" if above == 0 else f"above {above}", value)
    if least is not None and most is not None and not least <= found <= most:
        raise _refuse(call, name, f"in [{least:g}, {most:g}]", value)
    if least is not None and not found >= least:
        wanted = "not negative" if least == 0 else f"at least {least:g}"
        raise _refuse(call, name, wanted, value)
    return found


def larger(a: Any, b: Any) -> Any:
    """The larger one of two integers, or of sizes that are not known, which are not compared."""
    return calculated("maximum", a, b) if isinstance(b, Size) else max(a, b)


def divides(call: str, parts: Any, size: Any) -> bool:
    """Whether nothing is left of a size.

    Of one that is not known that is assumed, and a run for which something is left is refused.
    """
    if not isinstance(size, Size):
        return bool(size % parts == 0)
    return is_divided(call, parts, size)


def scalar(call: str, name: str, value: Any) -> Any:
    """A number as Python has it, in whose arithmetic nothing overflows as in NumPy's numbers.

    Tensors and sizes that are not known stay what they are.
    """
    if type(value) is int or type(value) is float or isinstance(value, TensorBase | Size):
        return value
    inexact = complex if isinstance(value, complex | np.complexfloating) else float
    readers = () if isinstance(value, str | bytes) else (operator.index, inexact)
    for read in readers:
        with suppress(TypeError, ValueError, OverflowError):
            return read(value)
    raise _refuse(call, name, "a number", value)


def several(call: str, name: str, value: Any, count: int | None = None) -> tuple[Any, ...]:
    """The values of a sequence of `count`; where it is no sequence, `count` times the one."""
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not is_sequence and count is None:
        raise _refuse(call, name, "a sequence", value)
    values = tuple(value) if is_sequence else (value,) * (count or 0)
    if count is not None and len(values) != count:
        raise ShapeError(
            f"must be one number, or one for each of {count} dimensions.",
            op=call,
            argument=name,
            got=f"{name}={value!r}",
        )
    return values
