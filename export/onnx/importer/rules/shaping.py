"""Ops that move, join and cut tensors, as their attributes and inputs say.

Sizes are compared as they are: of one that is not known, the program remembers what was asked, and
refuses to run for sizes of which the answer is another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..... import _C
from ..... import functional as F
from .....imperative import Size
from .....imperative.sizes import same_size
from ..attribute_functions import normal_axis, widths_of
from ..element_types import converted
from ..rule_table import rule


@rule
def reshape(x: Any, shape: Sequence[Any], *, allowzero: int) -> Any:
    """Another shape: 0 keeps a size, -1 is what is left."""
    found = []
    for i, size in enumerate(shape):
        is_as_it_was = i < len(x.shape) and same_size(size, x.shape[i])
        is_kept = not allowzero and not is_as_it_was and size == 0
        if is_kept and i >= len(x.shape):
            raise _C.ShapeError(
                "0 must be at the place of a dimension", op="Reshape", argument="shape",
                got=str(tuple(shape)),
            )  # fmt: skip
        found.append(x.shape[i] if is_kept else size)
    return F.reshape(x, tuple(_one_rest(x.shape, found)))


def _one_rest(old: Sequence[Any], new: list[Any]) -> list[Any]:
    """Beside sizes that are not known, the rest is calculated where it can be."""
    unknown = [i for i, size in enumerate(new) if type(size) is int and size == -1]
    if len(unknown) != 1 or not any(isinstance(size, Size) for size in new):
        return new
    remaining = list(old)
    for size in (size for size in new if isinstance(size, Size)):
        if size not in remaining:
            return new
        remaining.remove(size)
    if any(isinstance(size, Size) for size in remaining):
        return new
    total = 1
    for size in remaining:
        total *= size
    for size in new:
        if type(size) is int and size > 0:
            total //= size
    return [total if i == unknown[0] else size for i, size in enumerate(new)]


@rule
def squeeze(x: Any, axes: Sequence[int] | None) -> Any:
    """Without axes of size 1."""
    if axes is None:
        axes = [i for i, size in enumerate(x.shape) if size == 1]
    gone = {normal_axis(axis, len(x.shape)) for axis in axes}
    for axis in gone:
        if x.shape[axis] != 1:
            raise _C.ShapeError(
                "must have the size 1", op="Squeeze", argument=f"axis {axis}", got=str(x.shape)
            )
    return F.reshape(x, tuple(size for i, size in enumerate(x.shape) if i not in gone))


@rule
def unsqueeze(x: Any, axes: Sequence[int]) -> Any:
    """With axes of size 1."""
    rank = len(x.shape) + len(axes)
    new = {normal_axis(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise _C.ArgumentError("axes must differ", op="Unsqueeze", got=str(tuple(axes)))
    sizes = iter(x.shape)
    return F.reshape(x, tuple(1 if i in new else next(sizes) for i in range(rank)))


@rule
def expand(x: Any, shape: Sequence[Any]) -> Any:
    """Broadcast with a shape: either side may have the size 1."""
    rank = max(len(shape), len(x.shape))
    old = [1] * (rank - len(x.shape)) + list(x.shape)
    new = [1] * (rank - len(shape)) + list(shape)
    return F.broadcast_to(x, tuple(map(_wider, old, new)))


def _wider(a: Any, b: Any) -> Any:
    """The one of two sizes that broadcast which is not 1; one that is not known may be 1, too."""
    is_one = type(a) is int and a == 1
    return b if is_one or same_size(a, b) or b != 1 else a


@rule
def concat(xs: Sequence[Any], *, axis: int) -> Any:
    """Joined along an axis."""
    return F.concat(list(xs), axis=axis)


@rule
def split(
    x: Any, split: Sequence[int] | None, *, axis: int, num_outputs: int | None, outputs: int
) -> Any:
    """Cut along an axis."""
    if split is None:
        size, count = x.shape[axis], num_outputs or outputs
        if isinstance(size, Size) or size % count == 0:
            split = (size // count,) * count
        else:
            each = -(-size // count)
            split = [min(each, max(size - i * each, 0)) for i in range(count)]
    return tuple(F.split(x, tuple(split), axis=axis))


@rule
def slice_of(x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    """A part, by starts, ends and steps along axes."""
    rank = len(x.shape)
    axes = range(len(starts)) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise _C.ArgumentError(
            "starts, ends, axes and steps must be as many", op="Slice",
            got=f"{len(starts)}, {len(ends)}, {len(axes)} and {len(steps)}",
        )  # fmt: skip
    items: list[Any] = [slice(None)] * rank
    for first, last, axis, step in zip(starts, ends, axes, steps, strict=True):
        if type(step) is int and step == 0:
            raise _C.ArgumentError("must not be 0", op="Slice", argument="steps", got="0")
        items[normal_axis(axis, rank)] = _bounds(first, last, step, x.shape[axis])
    return x[tuple(items)]


def _bounds(first: Any, last: Any, step: int, size: Any) -> slice:
    """Bounds as Python has them: ONNX clamps the first one into the axis, even going backwards."""
    far = 2**31 - 1  # beyond any size
    if step > 0:
        first = None if type(first) is int and first < -far else first
        last = None if type(last) is int and last >= far else last
        return slice(first, last, step)
    if type(last) is int and (last < -far or -last > size):
        last = None
    if type(first) is int and first >= far:
        first = None
    elif type(first) is int and first < 0 and (first < -far or -first > size):
        first = 0
    return slice(first, last, step)


@rule
def flatten(x: Any, *, axis: int) -> Any:
    """A matrix: axes before and after one are each one."""
    if not -len(x.shape) <= axis <= len(x.shape):
        raise _C.ShapeError("must be an axis", op="Flatten", argument="axis", got=str(axis))
    at = axis + len(x.shape) if axis < 0 else axis
    rows: Any = 1
    for size in x.shape[:at]:
        rows = size * rows
    columns: Any = 1
    for size in x.shape[at:]:
        columns = size * columns
    return F.reshape(x, (rows, columns))


@rule
def pad(x: Any, pads: Sequence[int], value: Any, axes: Any, *, mode: str) -> Any:
    """With margins, or without its own where they are negative."""
    widths = list(widths_of(pads, axes, len(x.shape)))
    modes: dict[str, Any] = {
        "constant": "constant",
        "reflect": "reflect",
        "edge": "edge",
        "wrap": "circular",
    }
    if mode not in modes:
        raise _C.ArgumentError(
            f"must be one of {', '.join(modes)}", op="Pad", argument="mode", got=repr(mode)
        )
    items = [
        slice(
            max(-widths[2 * i], 0),
            size - max(-widths[2 * i + 1], 0) if widths[2 * i + 1] < 0 else None,
        )
        for i, size in enumerate(x.shape)
    ]
    if min(widths, default=0) < 0:
        x = x[tuple(items)]
    added = [max(width, 0) for width in widths]
    if not any(added):
        return x
    number: Any = 0 if value is None else value
    if x.dtype.kind == "bool":
        whole = F.pad(converted(x, "uint8"), added, mode=modes[mode], value=int(number))
        return whole != 0
    return F.pad(x, added, mode=modes[mode], value=number)


@rule
def reverse_sequence(x: Any, lengths: Any, *, batch_axis: int, time_axis: int) -> Any:
    """The first elements of each row in the opposite order."""
    if batch_axis == time_axis:
        raise _C.ArgumentError(
            "must be another axis than time_axis", op="ReverseSequence", argument="batch_axis",
            got=str(batch_axis),
        )  # fmt: skip
    steps = x.shape[time_axis]
    at = F.reshape(F.arange(steps), (steps, 1))
    ends = F.reshape(lengths, (1, -1))
    order = F.where(at < ends, ends - 1 - at, at)
    if batch_axis < time_axis:
        order = F.permute_dims(order, (1, 0))
    order = F.reshape(order, (*order.shape, *[1] * (len(x.shape) - 2)))
    return F.take_along_axis(x, F.broadcast_to(order, x.shape), axis=time_axis)


@rule
def center_crop_pad(x: Any, shape: Sequence[int], *, axes: Any) -> Any:
    """The middle of a tensor, or the tensor in the middle of zeros."""
    axes = range(len(x.shape)) if axes is None else axes
    if len(axes) != len(shape) or any(n < 0 for n in shape if isinstance(n, int)):
        raise _C.ArgumentError(
            "must have a size for each axis", op="CenterCropPad", argument="shape",
            got=f"{tuple(shape)} for the axes {tuple(axes)}",
        )  # fmt: skip
    items, widths = [slice(None)] * len(x.shape), [0] * (2 * len(x.shape))
    for axis, wanted in zip(axes, shape, strict=True):
        axis = normal_axis(axis, len(x.shape))
        more = wanted - x.shape[axis]
        if more < 0:
            first = (-more) // 2
            items[axis] = slice(first, first + wanted)
        else:
            widths[2 * axis], widths[2 * axis + 1] = more // 2, more - more // 2
    return F.pad(x[tuple(items)], widths)
