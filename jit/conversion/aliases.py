"""Tensors of which it is not known, while a program is made, whether they have another name.

Behind ``if c: z = z * 2`` the Tensor `z` is a new one, or the one from before, as the program will
find. So to change it in place might change what other names hold, or not: that is refused, as long
as there is somebody who would see it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ... import _C

_others: dict[int, tuple[Any, list[Any]]] = {}  # by the id of a Tensor, while it is there


def may_be(made: Any, others: Sequence[Any]) -> None:
    """A Tensor stands for one of several."""
    found = [weakref.ref(x) for x in others if isinstance(x, _C.TensorWrapper) and x is not made]
    if found:
        key = id(made)
        _others[key] = weakref.ref(made, lambda _: _others.pop(key, None)), found


def has_unknown_alias(x: Any) -> bool:
    """Whether somebody else may hold what a Tensor stands for."""
    held = _others.get(id(x))
    return held is not None and held[0]() is x and any(other() is not None for other in held[1])
