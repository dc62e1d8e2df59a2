"""The dtype categories that declarations name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Category(Enum):
    """The Array API standard's dtype categories; `rank` is the highest kind of dtype within.

    Ranks order dtypes as promotion does: 0 boolean, 1 integer, 2 real floating-point, 3 complex.
    """

    ALL = ("all", "kAll", 3)
    NUMERIC = ("numeric", "kNumeric", 3)
    REAL_NUMERIC = ("real numeric", "kRealNumeric", 2)
    REAL_OR_BOOLEAN = ("real or boolean", "kRealOrBoolean", 2)
    FLOATING = ("floating-point", "kFloating", 3)
    REAL_FLOATING = ("real floating-point", "kRealFloating", 2)
    INTEGER = ("integer", "kInteger", 1)
    INTEGER_OR_BOOLEAN = ("integer or boolean", "kIntegerOrBoolean", 1)
    BOOLEAN = ("boolean", "kBoolean", 0)

    def __init__(self, text: str, cpp: str, rank: int) -> None:
        self.text = text
        self.cpp = cpp
        self.rank = rank

    @property
    def is_differentiable(self) -> bool:
        """Whether its dtypes have gradients at all."""
        return self.rank >= 2

    @property
    def takes_complex(self) -> bool:
        """Whether complex dtypes belong to it."""
        return self.rank >= 3


CATEGORIES: Mapping[str, Category] = {category.text: category for category in Category}
