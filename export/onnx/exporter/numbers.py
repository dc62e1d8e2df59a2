"""Numbers of a model that are not known before it runs: sizes, and what is calculated from them.

Rules calculate with them as with integers. A graph makes nodes of one when an op needs it: Shape,
and arithmetic on tensors of one element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

# ("dim", name of a value, axis), ("as", a dtype's name, tree), or (an op of ONNX, tree, tree); an
# integer is itself, and a number with a fraction is of float64.
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
    "divide": "Div",
    "pow": "Pow",
}
# What makes integers of numbers with a fraction; what takes the fraction off is the conversion.
ROUNDING: Mapping[str, str] = {"floor": "Floor", "ceil": "Ceil", "round": "Round", "trunc": ""}
CALCULATIONS = frozenset((*ARITHMETIC, *ROUNDING, "real"))


class Unknown:
    """A number that is known when the model runs.

    Attributes:
        tree: how it follows.
        is_real: whether it may have a fraction, and is of float64; an integer of int64 else.
    """

    __slots__ = ("is_real", "tree")

    def __init__(self, tree: Tree, *, is_real: bool = False) -> None:
        self.tree = tree
        self.is_real = is_real

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
    if isinstance(number, Unknown):
        return number.tree
    return number if isinstance(number, float) else int(number)


def is_real(number: Any) -> bool:
    """Whether a number may have a fraction."""
    return number.is_real if isinstance(number, Unknown) else isinstance(number, float)


def real_tree(number: Any) -> Tree:
    """What it is made of, as a number with a fraction."""
    if not isinstance(number, Unknown):
        return float(number)
    return number.tree if number.is_real else ("as", "float64", number.tree)


def calculated(kind: str, parts: Sequence[Any]) -> Any:
    """What programs calculate from sizes, of numbers that may be known."""
    if kind == "real":
        return Unknown(real_tree(parts[0]), is_real=True)
    if kind in ROUNDING:
        tree = real_tree(parts[0])
        return Unknown(("as", "int64", (ROUNDING[kind], tree) if ROUNDING[kind] else tree))
    is_below = kind == "pow" and isinstance(parts[1], int) and parts[1] < 0
    if kind == "divide" or is_below or any(map(is_real, parts)):
        return Unknown(_real(kind, [real_tree(part) for part in parts]), is_real=True)
    found = tree_of(parts[0])
    for divisor in map(tree_of, parts[1:]):
        if kind == "floor_divide":  # Div rounds to 0, and what is calculated may be below it
            found = ("Sub", found, ("Mod", found, divisor))
        found = (ARITHMETIC[kind], found, divisor)
    return Unknown(found)


def compared(a: Any, b: Any) -> tuple[list[Any], list[Any]]:
    """Two numbers of one kind, each the only one of a list."""
    if is_real(a) or is_real(b):
        return tuple([Unknown(real_tree(x), is_real=True)] for x in (a, b))  # type: ignore[return-value]
    return [a], [b]


def _real(kind: str, trees: Sequence[Tree]) -> Tree:
    found = trees[0]
    for other in trees[1:]:
        down = ("Floor", ("Div", found, other))
        if kind == "floor_divide":
            found = down
        elif kind == "remainder":
            found = ("Sub", found, ("Mul", down, other))
        else:
            found = (ARITHMETIC[kind], found, other)
    return found
