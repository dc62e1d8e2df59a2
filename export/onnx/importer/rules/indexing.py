"""Ops that pick and place by index; negative indices count from the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..... import _C
from ..... import functional as F
from .....imperative import Size, Tensor
from .....imperative.blocks import is_symbolic
from ..attribute_functions import normal_axis
from ..rule_table import rule


def from_front(indices: Any, size: Any) -> Any:
    """Indices counted from the front; constant ones are looked at, and stay where they are so."""
    if not is_symbolic(indices) and isinstance(indices, Tensor):
        values = np.asarray(indices)
        if values.size == 0 or values.min() >= 0:
            return indices
    return F.where(indices < 0, indices + size, indices)


@rule
def gather(x: Any, indices: Any, *, axis: int) -> Any:
    """Rows by their indices."""
    axis = normal_axis(axis, len(x.shape))
    return F.take(x, from_front(indices, x.shape[axis]), axis=axis)


@rule
def gather_elements(x: Any, indices: Any, *, axis: int) -> Any:
    """An element for each index."""
    axis = normal_axis(axis, len(x.shape))
    items = tuple(slice(None) if i == axis else slice(0, n) for i, n in enumerate(indices.shape))
    return F.take_along_axis(x[items], from_front(indices, x.shape[axis]), axis=axis)


def _places(x: Any, indices: Any, batch: int) -> tuple[list[Any], int]:
    """Index tensors, one for each of the first axes of x, and how many they are."""
    count = indices.shape[-1]
    if isinstance(count, Size):
        raise _C.ShapeError("must be known", op="GatherND", argument="indices.shape[-1]", got="?")
    places = []
    rest = len(indices.shape) - 1 - batch
    for i in range(batch):
        shape = [1] * i + [indices.shape[i]] + [1] * (batch - 1 - i) + [1] * rest
        places.append(
            F.broadcast_to(F.reshape(F.arange(indices.shape[i]), shape), indices.shape[:-1])
        )
    for i in range(count):
        one = indices[..., i]
        places.append(from_front(one, x.shape[batch + i]))
    return places, batch + count


@rule
def gather_nd(x: Any, indices: Any, *, batch_dims: int) -> Any:
    """Parts of a tensor by their places."""
    places, count = _places(x, indices, batch_dims)
    return F.gather(x, *places, axes=tuple(range(count)))


@rule
def scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: str) -> Any:
    """A tensor with parts replaced, or combined with updates."""
    places, count = _places(x, indices, 0)
    axes = tuple(range(count))
    if reduction == "none":
        return F.scatter_set(x, updates, *places, axes=axes)
    if reduction == "add":
        return F.scatter_add(x, updates, *places, axes=axes)
    # Others go by rows: the places as one number, along one axis.
    rows: Any = 1
    flat: Any = 0
    for place, size in zip(places, x.shape, strict=False):
        flat = flat * size + place
        rows = rows * size
    rest = tuple(x.shape[count:])
    columns = int(np.prod(rest)) if rest else 1
    table, new = F.reshape(x, (rows, columns)), F.reshape(updates, (-1, columns))
    at = F.broadcast_to(F.reshape(flat, (-1, 1)), new.shape)
    return F.reshape(_combined(table, at, new, 0, reduction), x.shape)


def _combined(x: Any, at: Any, new: Any, axis: int, reduction: str) -> Any:
    modes = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    if reduction not in modes:
        raise _C.ArgumentError(
            f"must be none or one of {', '.join(modes)}", op="Scatter", argument="reduction",
            got=repr(reduction),
        )  # fmt: skip
    return F.scatter_reduce(x, at, new, axis=axis, mode=modes[reduction])


@rule
def scatter_elements(
    x: Any, indices: Any, updates: Any, *, axis: int, reduction: str = "none"
) -> Any:
    """A tensor with elements replaced, or combined with updates."""
    axis = normal_axis(axis, len(x.shape))
    at = from_front(indices, x.shape[axis])
    whole = all(i == axis or n == m for i, (n, m) in enumerate(zip(at.shape, x.shape, strict=True)))
    if reduction == "none" and not whole:
        places = []
        for i, size in enumerate(at.shape):
            shape = [1] * i + [size] + [1] * (len(at.shape) - 1 - i)
            own = at if i == axis else F.broadcast_to(F.reshape(F.arange(size), shape), at.shape)
            places.append(own)
        return F.scatter_set(x, updates, *places, axes=tuple(range(len(x.shape))))
    if reduction == "none":
        return F.put_along_axis(x, at, updates, axis=axis)
    items = tuple(slice(None) if i == axis else slice(0, n) for i, n in enumerate(at.shape))
    part = _combined(x[items], at, updates, axis, reduction)
    if whole:
        return part
    return _with_part(x, part, items)


def _with_part(x: Any, part: Any, items: Sequence[slice]) -> Any:
    places = []
    for i, size in enumerate(part.shape):
        shape = [1] * i + [size] + [1] * (len(part.shape) - 1 - i)
        places.append(F.broadcast_to(F.reshape(F.arange(size), shape), part.shape))
    return F.scatter_set(x, part, *places, axes=tuple(range(len(x.shape))))


@rule
def compress(x: Any, condition: Any, *, axis: int | None) -> Any:
    """The rows where a condition holds."""
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    axis = normal_axis(axis, len(x.shape))
    rows = F.moveaxis(x, axis, 0)
    count = condition.shape[0]
    if type(count) is int and type(rows.shape[0]) is int and count < rows.shape[0]:
        rows = rows[:count]
    return F.moveaxis(F.masked_select(rows, condition), 0, axis)


@rule
def unique(x: Any, *, axis: int | None, sorted: int) -> Any:
    """The different elements, where they are first, which each is, and how often."""
    flat = F.reshape(x, (-1,)) if axis is None else x
    values, first, inverse, counts = F.unique(flat, axis=axis)
    inverse = F.reshape(inverse, (-1,))
    if sorted:
        return values, first, inverse, counts
    order = F.argsort(first)
    place = F.argsort(order)
    along = 0 if axis is None else axis
    return (
        F.take(values, order, axis=along), F.take(first, order, axis=0),
        F.take(place, inverse, axis=0), F.take(counts, order, axis=0),
    )  # fmt: skip
