"""Numbers of a model that are not known before it runs: sizes, and what is calculated from them.

Rules calculate with them as with integers. A graph makes nodes of one when an op needs it: Shape,
and arithmetic on tensors of one element.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

# ("dim", name of a value, axis), or (an op of ONNX, tree, tree); an integer is itself.
Tree: TypeAlias = Any

# What programs call it, and the op of ONNX. Sizes are not negative, so that Div rounds down.
ARITHMETIC: Mapping[str, str] = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "floor_divide": "Div",
    "remainder": "Mod",
    "maximum": "Max",
    "minimum": "Min",
}


class Unknown:
    """An integer that is known when the model runs."""

    __slots__ = ("tree",)

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __repr__(self) -> str:
        return f"Unknown({self.tree})"

    def __add__(self, other: Number) -> Unknown:
        return Unknown(("Add", self.tree, tree_of(other)))

    __radd__ = __add__

    def __mul__(self, other: Number) -> Unknown:
        return Unknown(("Mul", self.tree, tree_of(other)))

    __rmul__ = __mul__

    def __sub__(self, other: Number) -> Unknown:
        return Unknown(("Sub", self.tree, tree_of(other)))

    def __rsub__(self, other: Number) -> Unknown:
        return Unknown(("Sub", tree_of(other), self.tree))

    def __floordiv__(self, other: int) -> Unknown:
        """Of what is not negative."""
        return Unknown(("Div", self.tree, tree_of(other)))

    def __neg__(self) -> Unknown:
        return Unknown(("Sub", 0, self.tree))


Number: TypeAlias = "int | Unknown"


def tree_of(number: Any) -> Tree:
    """What it is made of."""
    return number.tree if isinstance(number, Unknown) else int(number)
