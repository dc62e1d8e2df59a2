"""Functions of attributes: ONNX's lists as the calls of ours take them.

Bodies in opdecl/onnx call them by name where a number or a list is expected. They see integers,
sizes that are not known yet, words and lists of them, and never a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .... import _C
from .element_types import dtype_of

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def attribute_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets bodies call it by its name."""
    FUNCTIONS[function.__name__] = function
    return function


@attribute_function
def item(values: Sequence[Any], index: int) -> Any:
    """An element of a list; written `values[index]`."""
    return values[index]


@attribute_function
def axes_or_all(axes: Sequence[int] | None, keep: Any) -> Any:
    """The axes of a reduction: none given are all, or none, as the flag says."""
    if axes is None or len(axes) == 0:
        return () if keep else None
    return tuple(axes)


@attribute_function
def normal_axis(axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        ShapeError: there is none.
    """
    if not -rank <= axis < rank:
        raise _C.ShapeError(
            f"must be an axis of {rank} dimensions", op="onnx", argument="axis", got=str(axis)
        )
    return axis + rank if axis < 0 else axis


@attribute_function
def upwards(first: int, last: int) -> tuple[int, ...]:
    """The integers from the first up to the last, which is not among them."""
    return tuple(range(first, last))


@attribute_function
def backwards(rank: int) -> tuple[int, ...]:
    """The axes from the last to the first."""
    return tuple(range(rank - 1, -1, -1))


@attribute_function
def length(values: Sequence[Any]) -> int:
    """How many there are."""
    return len(values)


@attribute_function
def product(values: Sequence[Any], first: int, last: int) -> Any:
    """The product of a part of a list of sizes; 1 of none."""
    total: Any = 1
    for value in values[first:last]:
        total = value * total
    return total


@attribute_function
def joined(*parts: Any) -> tuple[Any, ...]:
    """One list of several numbers and lists."""
    found: list[Any] = []
    for part in parts:
        found.extend(part if isinstance(part, (list, tuple)) else [part])
    return tuple(found)


@attribute_function
def part(values: Sequence[Any], first: int, last: int | None) -> tuple[Any, ...]:
    """A part of a list."""
    return tuple(values[first:last])


@attribute_function
def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """The same number so often."""
    return (value,) * count


@attribute_function
def either(value: Any, other: Any) -> Any:
    """The one, or the other where that is not given."""
    return other if value is None else value


@attribute_function
def widths_of(pads: Sequence[int], axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Widths before and after each axis, from ONNX's: all befores, then all afters."""
    axes = range(rank) if axes is None else [normal_axis(axis, rank) for axis in axes]
    if len(pads) != 2 * len(axes):
        raise _C.ShapeError(
            f"must be {2 * len(axes)} numbers, two for each axis", op="Pad", argument="pads",
            got=str(list(pads)),
        )  # fmt: skip
    widths = [0] * (2 * rank)
    for i, axis in enumerate(axes):
        widths[2 * axis], widths[2 * axis + 1] = pads[i], pads[i + len(axes)]
    return tuple(widths)


@attribute_function
def dtype_named(number: int) -> Any:
    """The dtype of a number of ONNX's element types."""
    return dtype_of(number)


@attribute_function
def is_empty(shape: Sequence[Any]) -> bool:
    """Whether a shape has no elements."""
    return any(type(size) is int and size == 0 for size in shape)


@attribute_function
def limit(dtype: Any, side: str) -> Any:
    """The lowest or the highest number of a dtype, infinities among them."""
    is_high = side == "highest"
    if dtype.kind == "floating":
        return math.inf if is_high else -math.inf
    from ....imperative import iinfo

    info = iinfo(dtype)
    return info.max if is_high else info.min


@attribute_function
def is_integer(kind: str) -> bool:
    """Whether the kind of a dtype is that of integers."""
    return kind in ("signed", "unsigned", "integer")


@attribute_function
def is_symmetric(pads: Sequence[int]) -> bool:
    """Whether there is as much before each axis as after it, and nothing negative."""
    count = len(pads) // 2
    return list(pads[:count]) == list(pads[count:]) and min(pads, default=0) >= 0


@attribute_function
def margins(pads: Sequence[int]) -> tuple[int, ...]:
    """The widths of margins around the spatial axes, behind two axes without any."""
    count = len(pads) // 2
    widths = [0, 0, 0, 0]
    for i in range(count):
        widths += [pads[i], pads[i + count]]
    return tuple(widths)


@attribute_function
def window_pads(
    auto_pad: str, pads: Any, sizes: Any, kernel: Any, strides: Any, dilations: Any
) -> tuple[Any, ...]:
    """What is added before and after each spatial axis: all befores, then all afters."""
    count = len(sizes)
    if auto_pad == "VALID":
        return (0,) * (2 * count)
    if auto_pad in ("", "NOTSET"):
        found = (0,) * (2 * count) if pads is None else tuple(pads)
        if len(found) != 2 * count:
            raise _C.ShapeError(
                f"must be {2 * count} numbers, two for each spatial axis", op="onnx",
                argument="pads", got=str(list(found)),
            )  # fmt: skip
        return found
    before, after = [], []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        steps = -(-size // stride) if stride != 1 else size
        total = max((steps - 1) * stride + (width - 1) * dilation + 1 - size, 0)
        small = total // 2
        before.append(total - small if auto_pad == "SAME_LOWER" else small)
        after.append(small if auto_pad == "SAME_LOWER" else total - small)
    return (*before, *after)


@attribute_function
def ones_like(values: Any, count: int) -> tuple[Any, ...]:
    """The list, or so many 1 where it is not given."""
    return (1,) * count if values is None or len(values) == 0 else tuple(values)


@attribute_function
def root(number: Any) -> float:
    """The square root of a number."""
    return math.sqrt(number)


@attribute_function
def integer(number: Any) -> int:
    """A number without its fraction."""
    return int(number)
