"""Into a transform and out of it again: what `jvp` and transforms of your own are made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .carrier import beneath, carried, carrying
from .levels import Level, TransformValue, under_leaves
from .tensor import Tensor


def enter(x: Any, make: Callable[[Any], Any]) -> Any:
    """What a transform calls a function with in place of `x`: a Tensor of what `make` makes of it.

    Args:
        x: an argument: data, or a tensor-like of any kind.
        make: takes a tensor-like, and returns the TransformValue in its place.
    """
    return Tensor(beneath(x, make))


def own(y: Any, level: Level) -> Any:
    """What a transform finds of its own in a result, under wrappers and carriers.

    Args:
        y: a result of the function that was called.
        level: the transform that is going on.

    Returns:
        The TransformValue of this level; None where the result does not depend on what entered.
    """
    y = under_leaves(carried(y), level.number)
    return y if isinstance(y, TransformValue) and y.level is level else None


def leave(y: Any, level: Level, part: Callable[[Any], Any]) -> Any:
    """A result as it is outside of a transform: `part` of its own value, with what is around it.

    Args:
        y: a result of the function that was called.
        level: the transform that is going on.
        part: takes the TransformValue of this level, and returns a tensor-like.
    """
    found = own(y, level)
    return y if found is None else carrying(y, part(found))
