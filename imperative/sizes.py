"""Size: a dimension that is not known while a program is recorded, and what is made of it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn, cast

from .. import _C, ops
from .dispatch import apply

_Number = int | float


class Size:
    """A size that is not known yet. What arithmetic makes of it follows from the size, too.

    It is what ``x.shape`` holds where a listing was told `None`, and it goes wherever a size goes:
    into shapes, bounds, attributes, and tensors' arithmetic. ``n / 2``, ``n ** 0.5`` and
    ``0.5 * n`` are numbers with a fraction, which go wherever a number goes;
    `round`, ``math.floor``, ``math.ceil`` and ``math.trunc`` make sizes of them again. It compares
    as a large number does. What Python does once, while a program is recorded, may follow from
    that, so the program remembers what was asked, and refuses to run for sizes of which the answer
    is another. It is neither an integer nor a float of Python's: nothing can be done so many times,
    and ``math.sqrt`` has to be written as ``n ** 0.5``.

    Raises:
        ShapeError: it is used as an integer, or as a float.

    Example:
        >>> import tensorlike as tl
        >>> listing = tl.Listing()
        >>> x = listing.input("x", (None, 3))
        >>> x.shape
        (x.shape[0], 3)
        >>> y = tl.functional.reshape(x, (x.shape[0] * 3,)) / x.shape[0] ** 0.5
        >>> listing.run(y, tl.ones((4, 3))).tolist()[:2]
        [0.5, 0.5]
    """

    __slots__ = ("__weakref__", "first", "is_float", "kept", "owner", "second")

    def __init__(
        self, first: Any, second: Any, owner: _C.Program, *, is_float: bool = False
    ) -> None:
        """Of the two numbers that stand for it in a program; perhaps as a floating-point number."""
        self.first = first
        self.second = second
        self.owner = owner
        self.is_float = is_float or isinstance(first, float)
        self.kept: str | None = None
        note = getattr(owner, "note_size", None)
        if note is not None:
            note(self)

    def end(self, line: str) -> None:
        """It was met at that line while a function was recorded, and that is over."""
        self.kept = line

    def refuse_kept(self) -> NoReturn:
        """Raises what is to be raised where it is used nevertheless."""
        raise _C.ShapeError(
            "a size that was met while a function was traced must not be used after it", op="Size",
            got=f"one of {self.kept}" if self.kept else "one that was kept",
            fix="return it from the function, or read the shape of a tensor outside",
        )  # fmt: skip

    def __repr__(self) -> str:
        """The number in this call, while a function is recorded; else what it is called."""
        number = self._number("repr")
        return said(self) if number is None else repr(number)

    def __format__(self, how: str) -> str:
        number = self._number("format")
        return format(said(self) if number is None else number, how)

    def __hash__(self) -> int:
        number = self._number("hash")
        return hash((self.first, self.second, id(self.owner)) if number is None else number)

    def _number(self, asked: str) -> Any:
        """What it is in this call, if there is one: the program is for that number alone then."""
        for size in () if self.kept is not None else _from_inside_out(self):
            number_now = getattr(size.owner, "number_now", None)
            number = None if number_now is None else number_now(size)
            if number is not None:
                size.owner.require(size.first, number, "==", True, apply.line(), asked)
                return number
        return None

    def __eq__(self, other: object) -> bool:
        """Whether it is the same size, or comes to be that number: see `Size`."""
        return self._compared(other, "==") is True

    def calculated(self, how: str, *others: Any, swapped: bool = False) -> Any:
        """What a function of the core's that is called so makes of it, and of other numbers."""
        if self.kept is not None:
            self.refuse_kept()
        given = []
        for other in others:
            if isinstance(other, Size):
                if other.owner is not self.owner:
                    pair = in_one_program(self, other)
                    if pair is None:
                        self._refuse("a size of another listing")
                    return pair[0].calculated(how, pair[1], swapped=swapped)
                given.append((other.first, other.second))
            elif isinstance(other, _Number) and not isinstance(other, bool):
                given.append((other, other))
            elif isinstance(other, complex):
                self._refuse("arithmetic with a complex number")
            else:
                return NotImplemented
        given.insert(len(given) if swapped else 0, (self.first, self.second))
        made = self.owner.calculate(how, *given)
        return made[0] if made[0] == made[1] else Size(*made, self.owner)

    def __add__(self, other: Any) -> Any:
        return self.calculated("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (int, float, Size)) and not isinstance(other, bool):
            return self + -1 * other
        return self.calculated("add", other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        return self.calculated("multiply", other)

    __rmul__ = __mul__

    def __pow__(self, other: Any) -> Any:
        is_whole = isinstance(other, int) and not isinstance(other, bool)
        if not is_whole or self.is_float or other < 0:
            if isinstance(other, Size) and not (self.is_float or other.is_float):
                self._refuse("a power of a size")
            return self.calculated("pow", other)
        made: Any = 1
        for _ in range(other):
            made = self * made
        return made

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, int) and not self.is_float:
            self._refuse("a power of a size")
        return self.calculated("pow", other, swapped=True)

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __truediv__(self, other: Any) -> Any:
        return self._divided(other, "divide")

    def __rtruediv__(self, other: Any) -> Any:
        return self.calculated("divide", other, swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._divided(other, "floor_divide")

    def __rfloordiv__(self, other: Any) -> Any:
        return self.calculated("floor_divide", other, swapped=True)

    def __mod__(self, other: Any) -> Any:
        return self._divided(other, "remainder")

    def __rmod__(self, other: Any) -> Any:
        return self.calculated("remainder", other, swapped=True)

    def _divided(self, other: Any, how: str) -> Any:
        if isinstance(other, _Number) and other == 0:
            raise ZeroDivisionError("a size must not be divided by 0")
        return self.calculated(how, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __floor__(self) -> Any:
        return self.calculated("floor") if self.is_float else self

    def __ceil__(self) -> Any:
        return self.calculated("ceil") if self.is_float else self

    def __trunc__(self) -> Any:
        return self.calculated("trunc") if self.is_float else self

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            self._refuse(f"rounding to {digits} digits")
        return self.calculated("round") if self.is_float else self

    def _compared(self, other: Any, how: str, *, swapped: bool = False) -> Any:
        if self.kept is not None:
            self.refuse_kept()
        if isinstance(other, Size):
            number = other.first
            if other.owner is not self.owner:
                pair = in_one_program(self, other)
                if pair is not None:
                    return pair[0]._compared(pair[1], how, swapped=swapped)
                return False if how == "==" else NotImplemented
            if (self.first, self.second) == (other.first, other.second):
                return how != "<"
        elif isinstance(other, _Number):
            number = other
        else:
            return NotImplemented
        return self.owner.compare(*(number, self.first) if swapped else (self.first, number), how)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, "<")

    def __le__(self, other: Any) -> Any:
        return self._compared(other, "<=")

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, "<", swapped=True)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, "<=", swapped=True)

    def __bool__(self) -> bool:
        return not self._compared(0, "==")

    def __index__(self) -> int:
        self._refuse("a number with a fraction" if self.is_float else "an integer")

    def __float__(self) -> float:
        self._refuse("a float")

    def as_tensor_like(self, dtype: Any = None) -> Any:
        """The number as a value of the program, of no dimensions."""
        return ops.Fill(shape=(), fill_value=cast(int, self), dtype=dtype)()[0]

    def _refuse(self, what: str) -> NoReturn:
        if self.kept is not None:
            self.refuse_kept()
        raise _C.ShapeError(
            "a size that is not known may be calculated with by + - * / // % **, rounded, "
            "compared, and given to ops",
            op="Size",
            got=what,
            fix="give the size a number, write n ** 0.5 for math.sqrt(n), let the ops see it: "
            "mean(x), reshape(x, (-1,)), or compute with it as a tensor: "
            "log(tensor(x.shape[0], dtype=x.dtype))",
        )  # fmt: skip


class _Calculations(dict[str, Callable[..., Any]]):
    """Functions by their names in programs: Python's operators, and any scalar function."""

    def __missing__(self, how: str) -> Callable[..., Any]:
        return lambda *parts: calculated(how, *parts)


def calculated(how: str, *parts: Any) -> Any:
    """What a function of the core's that is called so makes of numbers, known or not."""
    for i, part in enumerate(parts):
        if isinstance(part, Size):
            return part.calculated(how, *parts[:i], *parts[i + 1 :], swapped=i > 0)
    return _C.calculate_number(how, *parts)


# What sizes that were recorded are calculated by.
ARITHMETIC: Mapping[str, Callable[..., Any]] = _Calculations({
    "add": operator.add, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow,
    "real": float, "floor": math.floor, "ceil": math.ceil, "round": round, "trunc": math.trunc,
})  # fmt: skip


_SIGNS = {
    "add": "+", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "pow": "**",
}  # fmt: skip


def said(size: Size) -> str:
    """What a size is called: its name, a dimension of a variable, or how it is made of such."""
    owner: Any = size.owner
    names = {(variable, axis): name for name, variable, axis in owner.sizes() if name}

    def text(expression: Any, *, is_part: bool = False) -> str:
        if not isinstance(expression, tuple):
            return repr(expression)
        how, *rest = expression
        if how == "size":
            variable, axis = rest
            return names.get((variable, axis)) or f"{owner.variable(variable)[0]}.shape[{axis}]"
        (parts,) = rest
        if how not in _SIGNS:
            return f"{how}({', '.join(map(text, parts))})"
        first, second = (text(part, is_part=True) for part in parts)
        if (how, first) == ("multiply", "-1"):
            return f"-{second}"
        is_less = how == "add" and second.startswith("-")
        sign = "-" if is_less else _SIGNS[how]
        found = f"{first} {sign} {second[is_less:]}"
        return f"({found})" if is_part else found

    expression = owner.expression((size.first, size.second))
    return "None" if expression is None else text(expression)


def rebuilt(expression: Any, size_of: Callable[[int, int], Any]) -> Any:
    """A number that a program has calculated, calculated again of other sizes.

    Args:
        expression: as `Program.expression` has it.
        size_of: what is in the place of a dimension of a variable; None: nothing is.

    Returns:
        The number; None where something is missing.
    """
    if not isinstance(expression, tuple):
        return expression
    if expression[0] == "size":
        return size_of(*expression[1:])
    parts = [rebuilt(part, size_of) for part in expression[1]]
    if any(part is None for part in parts):
        return None
    return ARITHMETIC[expression[0]](*parts)


def in_one_program(a: Size, b: Size) -> tuple[Size, Size] | None:
    """Two sizes as sizes of one program; None: they are of programs that have none in common.

    A block's sizes follow from those around it, where what is not taken into the block yet has its.
    """
    first, second = _from_inside_out(a), _from_inside_out(b)
    for x in first:
        for y in second:
            if x.owner is y.owner:
                return x, y
    return None


def _from_inside_out(size: Size) -> list[Size]:
    found = [size]
    while True:
        outside = getattr(found[-1].owner, "outside", None)
        size_around = None if outside is None else outside(found[-1])
        if not isinstance(size_around, Size):
            return found
        found.append(size_around)


_C.set_size_class(Size)
ends_with = _C.ends_with


def is_divided(call: str, parts: Any, size: Size) -> bool:
    """Assumes that nothing is left of a size, which a run is refused for that is not so; True."""
    rest = size % parts
    if isinstance(rest, Size):
        rest.owner.require(rest.first, 0, "==", True, apply.line(), call)
    return not isinstance(rest, int) or rest == 0


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or one like it that no other size has: those of one name are equal."""
    while name in taken:
        name += "_"
    return name


def same_size(a: Any, b: Any) -> bool:
    """Whether two unknown sizes are the same; nothing is asked of a program."""
    if not (isinstance(a, Size) and isinstance(b, Size)):
        return False
    pair = (a, b) if a.owner is b.owner else in_one_program(a, b)
    return pair is not None and pair[0].first == pair[1].first and pair[0].second == pair[1].second


def as_size(x: Any) -> int:
    """An integer, or a size that is not known.

    Raises:
        TypeError: it is neither.
    """
    is_size = isinstance(x, Size) and not x.is_float
    return cast(int, x) if is_size else operator.index(x)
