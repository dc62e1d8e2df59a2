"""How shapes with sizes that are not known broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .sizes import Size


def has_unknown(shapes: Sequence[Sequence[Any]]) -> bool:
    """Whether one of the sizes is not known."""
    return any(isinstance(size, Size) for shape in shapes for size in shape)


def broadcast_unknown(shapes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The shape that they broadcast to; an unknown size is never 1 and equal only to itself.

    Raises:
        ShapeError: they do not broadcast.
    """
    found: list[Any] = [1] * max(map(len, shapes))
    for shape in shapes:
        for i, size in enumerate(shape, len(found) - len(shape)):
            if type(size) is int and size == 1:
                continue
            if type(found[i]) is int and found[i] == 1:
                found[i] = size
            elif size != found[i]:
                text = ", ".join(str(tuple(shape)) for shape in shapes)
                raise _C.ShapeError("shapes must broadcast", op="broadcast_shapes", got=text)
    return tuple(found)
