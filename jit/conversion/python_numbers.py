"""Numbers of Python that have become tensors, since a tensor decided about them.

Behind ``if x > 0: count = 1`` the number is a tensor of the program, and so is what arithmetic
makes of it. ``count += 1`` changes a Tensor, under all names that it has; a number cannot be
changed, so that it gives the name another one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ... import _C
from ...imperative.blocks import Block
from ...imperative.levels import layers
from ...imperative.symbolic import Listing
from ...ops import Const
from .slots import is_number

_known: WeakKeyDictionary[Listing, set[int]] = WeakKeyDictionary()  # their variables
# What makes numbers of numbers.
_ARITHMETIC = frozenset(
    (
        "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "negative",
        "positive", "abs", "where", "minimum", "maximum", "bitwise_and", "bitwise_or",
        "bitwise_xor", "bitwise_invert",
    )
)  # fmt: skip
_AUGMENTED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "Add": (operator.add, operator.iadd),
    "Sub": (operator.sub, operator.isub),
    "Mult": (operator.mul, operator.imul),
    "Div": (operator.truediv, operator.itruediv),
    "FloorDiv": (operator.floordiv, operator.ifloordiv),
    "Mod": (operator.mod, operator.imod),
    "Pow": (operator.pow, operator.ipow),
    "MatMult": (operator.matmul, operator.imatmul),
    "BitAnd": (operator.and_, operator.iand),
    "BitOr": (operator.or_, operator.ior),
    "BitXor": (operator.xor, operator.ixor),
    "LShift": (operator.lshift, operator.ilshift),
    "RShift": (operator.rshift, operator.irshift),
}


def note_number(x: Any) -> Any:
    """Says of a tensor of a program that it is what a number has become; the tensor."""
    place = _place_of(x)
    if place is not None:
        _known.setdefault(place[0], set()).add(place[1])
    return x


def is_of_python(x: Any) -> bool:
    """Whether it is a number of Python's, or what such numbers have become."""
    if not isinstance(x, _C.TensorBase):
        return is_number(x)
    place = _place_of(x) if x.shape == () else None
    return place is not None and _is_number(*place)


def augmented(how: str, x: Any, y: Any, in_place: Callable[[Any], None]) -> Any:
    """What ``x += y`` gives the name, by the name of the operator in a tree."""
    plain, changing = _AUGMENTED[how]
    if isinstance(x, _C.TensorBase) and is_of_python(x):
        made = plain(x, y)
        return note_number(made) if is_of_python(y) else made
    in_place(x)
    return changing(x, y)


def _place_of(x: Any) -> tuple[Listing, int] | None:
    *_, bottom = layers(x)
    listing = getattr(bottom, "listing", None)
    return (listing, bottom.number) if isinstance(listing, Listing) else None


def _is_number(listing: Listing, number: int) -> bool:
    """By what has made it, as far as that is arithmetic."""
    known = _known.setdefault(listing, set())
    if number in known:
        return True
    made = {
        output: (op, inputs) for op, inputs, outputs, *_ in listing.steps() for output in outputs
    }
    roles = listing.variables()
    met, asked, begins = {number}, [number], False
    while asked:
        one = asked.pop()
        if one in known:
            begins = True
            continue
        op, inputs = made.get(one, (None, ()))
        if isinstance(op, Const) or (op is None and roles[one][1] == "captured"):
            continue
        if op is None:
            begins = _is_number_outside(listing, one)
            if not begins:
                return False
        elif getattr(op, "mode", None) not in _ARITHMETIC:
            return False
        asked += [x for x in inputs if x not in met]
        met.update(inputs)
    if begins:
        known.add(number)
    return begins


def _is_number_outside(listing: Listing, number: int) -> bool:
    """Whether it is what a block reads from outside, and a number there."""
    outside = listing.outside_of(number) if isinstance(listing, Block) else None
    return outside is not None and is_of_python(outside)
