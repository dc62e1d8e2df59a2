"""Ops that make tensors: constants, shapes, ranges."""

from __future__ import annotations

import math
from typing import Any

from ..... import _C
from ..... import functional as F
from .....imperative import Size, Tensor, as_raw_tensor
from ..element_types import converted, element_type
from ..narrow_types import Narrow
from ..rule_table import rule
from ..sizes import sized


@rule
def constant(
    *, value: Any, value_float: Any, value_floats: Any, value_int: Any, value_ints: Any,
    value_string: Any, value_strings: Any, sparse_value: Any,
) -> Any:  # fmt: skip
    """A tensor of the file."""
    if value_string is not None or value_strings is not None:
        element_type(8)
    for held in (value, sparse_value):
        if held is not None:
            return held
    for numbers, name in (
        (value_float, "float32"), (value_floats, "float32"), (value_int, "int64"),
        (value_ints, "int64"),
    ):  # fmt: skip
        if numbers is not None:
            return Tensor(as_raw_tensor(numbers, dtype=getattr(_C, name)))
    raise _C.ArgumentError("must have a value", op="Constant", got="none")


@rule
def constant_of_shape(shape: Any, *, value: Any) -> Any:
    """One number everywhere."""
    if value is None:
        return F.full(shape, 0.0, dtype="float32")
    if isinstance(value, Narrow):
        return Narrow(F.broadcast_to(F.reshape(value.tensor, ()), shape), value.number)
    return F.full(shape, F.reshape(value, ()).item(), dtype=value.dtype)


@rule
def shape(x: Any, *, start: int, end: int | None) -> Any:
    """The sizes of a tensor, as they are known."""
    return sized(list(x.shape)[start:end])


@rule
def size(x: Any) -> Any:
    """How many elements there are."""
    return sized(x.size)


@rule
def range_of(start: Any, limit: Any, delta: Any, *, stash_type: int) -> Any:
    """Numbers from one to another, of the dtype of these, calculated in float64."""
    numbers: list[Any] = [
        one if isinstance(one, Size) else one.item() for one in (start, limit, delta)
    ]
    kinds = [one.dtype for one in (start, limit, delta) if not isinstance(one, Size)]
    kind = kinds[0] if kinds else _C.int64
    first, last, step = numbers
    if any(isinstance(number, Size) for number in numbers):
        return F.arange(first, last, step, dtype=kind)
    if step == 0:
        raise _C.ArgumentError("must not be 0", op="Range", argument="delta", got="0")
    if kind.kind == "floating":
        count = max(math.ceil((last - first) / step), 0)
        at = converted(F.arange(count), "float64")
        return converted(at * step + first, kind)
    return F.arange(first, last, step, dtype=kind)
