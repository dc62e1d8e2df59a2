"""Dual: a tensor-like that carries a tangent, for forward mode.

What an op does to tangents is not written anywhere: it follows from the gradient that is declared
(csrc/tape/forward.cpp).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C
from ..ops import OpBase
from .dispatch import apply
from .levels import Level, TransformValue, is_differentiated


class Dual(TransformValue):
    """A value and its tangent: how fast the value moves with what `jvp` moves.

    Args:
        primal: the value, a tensor-like of any kind.
        tangent: of the value's shape and dtype; None is zero.
        level: the `jvp` that it belongs to.
    """

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: Any, tangent: Any, level: Level) -> None:
        """Made by `jvp`, and by applying ops."""
        self.primal = primal
        self.tangent = tangent
        self.level = level
        self.priority = 100.0 + level.number

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.primal.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> _C.dtype:
        """The element type."""
        return self.primal.dtype  # type: ignore[no-any-return]

    @property
    def inner(self) -> Any:
        """The value."""
        return self.primal

    @property
    def outside(self) -> Any:
        """The value alone."""
        return self.primal

    def with_inner(self, value: Any, other: Callable[[Any], Any]) -> Dual:
        """The same around another value."""
        return Dual(value, None if self.tangent is None else other(self.tangent), self.level)

    @property
    def is_differentiated(self) -> bool:
        """Whether derivatives are wanted: here or below."""
        return self.tangent is not None or is_differentiated(self.primal)

    def __repr__(self) -> str:
        """Both parts."""
        return f"Dual({self.primal!r}, {self.tangent!r})"


def taken_apart(xs: tuple[Any, ...]) -> tuple[Level, tuple[Any, ...], tuple[Any, ...]]:
    """The innermost level among Duals and what does not move, and values and tangents on it."""
    levels = [x.level for x in xs if type(x) is Dual]
    level = levels[0]
    if levels.count(level) < len(levels):
        level = max(levels, key=lambda level: level.number)
    is_own = [type(x) is Dual and x.level is level for x in xs]
    primals = [x.primal if own else x for x, own in zip(xs, is_own, strict=True)]
    tangents = [x.tangent if own else None for x, own in zip(xs, is_own, strict=True)]
    return level, tuple(primals), tuple(tangents)


@apply.register
def apply_dual(op: OpBase, *xs: Dual) -> tuple[Any, ...]:
    """Applies an op to the values, and its derivative to the tangents."""
    level, primals, tangents = taken_apart(xs)
    if not level.is_open:
        level.refuse(op, "Dual")
    if level.number <= _C.paused_level():
        tangents = (None,) * len(xs)
    found = _C.push_forward(op, primals, tangents)
    if found is None:
        return NotImplemented  # type: ignore[no-any-return]  # through the body
    return tuple(
        y if tangent is None else Dual(y, tangent, level) for y, tangent in zip(*found, strict=True)
    )
