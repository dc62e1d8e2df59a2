"""Conversions between element types, those narrower than any dtype included."""

from __future__ import annotations

from typing import Any

from ..... import _C
from ..... import functional as F
from .....imperative import Tensor
from .....imperative.levels import unwrapped
from ..element_types import TYPES, dtype_of, element_type, number_of_dtype
from ..narrow_types import Narrow, narrowed
from ..rule_table import rule


def tensor_part(x: Any) -> Any:
    """The tensor of a value."""
    return x.tensor if isinstance(x, Narrow) else x


def type_number(x: Any) -> int:
    """The number of a value's element type."""
    return x.number if isinstance(x, Narrow) else number_of_dtype(x.dtype)


@rule
def cast(x: Any, *, to: int, saturate: int, round_mode: str) -> Any:
    """Another element type."""
    element_type(to)
    if isinstance(x, Narrow) and x.number == to:
        return x
    x = tensor_part(x)
    if TYPES[to].dtype == "bool":
        return x != 0
    return narrowed(x, to, saturate=bool(saturate), round_mode=round_mode)


@rule
def cast_like(x: Any, like: Any, *, saturate: int, round_mode: str) -> Any:
    """The element type of another tensor."""
    return cast(x, to=type_number(like), saturate=saturate, round_mode=round_mode)


@rule
def bit_cast(x: Any, *, to: int) -> Any:
    """The same bits as another dtype of the same width, where they are computed."""
    if isinstance(x, Narrow) or TYPES[to].narrow:
        raise _C.DTypeError("must be dtypes of whole bytes", op="BitCast", got=TYPES[to].name)
    value = unwrapped(x)
    if not isinstance(value, _C.RawTensor):
        from ..running import NumberNeeded

        raise NumberNeeded("must be known when a program is made", op="BitCast", argument="x")
    return Tensor(_C.bitcast(value, dtype_of(to)))


@rule
def mean_of_all(xs: list[Any]) -> Any:
    """The mean of tensors that broadcast."""
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return F.divide(total, len(xs))
