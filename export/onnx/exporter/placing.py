"""Elements by their numbers: how those that several ops pick are set, or added to."""

from __future__ import annotations

from typing import Any, Literal

from .... import functional as F


def numbers_of(x: Any) -> Any:
    """The number of each element."""
    if type(x.size) is int:
        return F.reshape(F.arange(x.size), x.shape)
    # A range of unknown length may be longer than any, as far as one can tell.
    ones = F.reshape(F.ones_like(x, dtype="int64"), (-1,))
    return F.reshape(F.cumulative_sum(ones, axis=0) - 1, x.shape)


def placed(x: Any, places: Any, value: Any, mode: Literal["set", "add"]) -> Any:
    """A tensor with elements, by their numbers, set or added to."""
    value = F.broadcast_to(F.astype(value, x.dtype), places.shape)
    flat, index, values = (F.reshape(part, (-1,)) for part in (x, places, value))
    return F.reshape(F.put_along_axis(flat, index, values, axis=0, mode=mode), x.shape)
