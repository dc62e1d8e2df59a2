"""Size: a dimension that is not known while a program is recorded."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

from .. import _C, ops


class Size:
    """A size that is not known yet. What integer arithmetic makes of it are sizes too.

    It is what ``x.shape`` holds where a listing was told `None`, and it goes wherever a size goes:
    into shapes, bounds, and tensors' arithmetic. It compares as a large number does. What Python
    does once, while a program is recorded, may follow from that, so the program remembers what was
    asked, and refuses to run for sizes of which the answer is another. It is no integer: nothing
    can be done so many times.

    Raises:
        ShapeError: it is used as an integer, or divided by ``/``.

    Example:
        >>> import tensorlike as tl
        >>> listing = tl.Listing()
        >>> x = listing.input("x", (None, 3))
        >>> x.shape
        (None, 3)
        >>> y = tl.functional.reshape(x, (x.shape[0] * 3,))
        >>> listing.run(y, tl.zeros((2, 3))).shape
        (6,)
    """

    __slots__ = ("__weakref__", "first", "is_float", "kept", "owner", "second")

    def __init__(
        self, first: int, second: int, owner: _C.Program, *, is_float: bool = False
    ) -> None:
        """Of the two numbers that stand for it in a program; perhaps as a floating-point number."""
        self.first = first
        self.second = second
        self.owner = owner
        self.is_float = is_float
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
        return "None"

    def __hash__(self) -> int:
        return hash((self.first, self.second, id(self.owner)))

    def __eq__(self, other: object) -> bool:
        """Whether it is the same size, or comes to be that number: see `Size`."""
        return self._compared(other, "==") is True

    def _with(self, other: Any, how: str, *, swapped: bool = False) -> Any:
        if self.kept is not None:
            self.refuse_kept()
        if isinstance(other, Size):
            if other.owner is not self.owner:
                pair = in_one_program(self, other)
                if pair is None:
                    self._refuse("a size of another listing")
                return pair[0]._with(pair[1], how, swapped=swapped)
            given = other.first, other.second
        elif isinstance(other, int) and not isinstance(other, bool):
            given = other, other
        elif isinstance(other, (float, complex)):
            self._refuse("arithmetic with a number that is no integer")
        else:
            return NotImplemented
        own = self.first, self.second
        made = self.owner.calculate(how, *((given, own) if swapped else (own, given)))
        return made[0] if made[0] == made[1] else Size(*made, self.owner)

    def __add__(self, other: Any) -> Any:
        return self._with(other, "add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (int, Size)) and not isinstance(other, bool):
            return self + -1 * other
        return self._with(other, "add")

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        return self._with(other, "multiply")

    __rmul__ = __mul__

    def __pow__(self, other: Any) -> Any:
        if not isinstance(other, int) or isinstance(other, bool):
            return self._with(other, "multiply")
        if other < 0:
            self._refuse(f"a power of {other}")
        made: Any = 1
        for _ in range(other):
            made = self * made
        return made

    def __neg__(self) -> Any:
        return self * -1

    def __floordiv__(self, other: Any) -> Any:
        return self._divided(other, "floor_divide")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, "floor_divide", swapped=True)

    def __mod__(self, other: Any) -> Any:
        return self._divided(other, "remainder")

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, "remainder", swapped=True)

    def _divided(self, other: Any, how: str) -> Any:
        if isinstance(other, int) and other == 0:
            raise ZeroDivisionError("a size must not be divided by 0")
        return self._with(other, how)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

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
        elif isinstance(other, int):
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
        self._refuse("an integer")

    def __float__(self) -> float:
        if not self.is_float or self.kept is not None:
            self._refuse("a number")
        return float(self.first)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, (int, float, Size)):
            self._refuse("a division")
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            self._refuse("a division")
        return NotImplemented

    def as_tensor_like(self, dtype: Any = None) -> Any:
        """The number as a value of the program, of no dimensions."""
        return ops.Fill(shape=(), fill_value=cast(int, self), dtype=dtype)()[0]

    def _refuse(self, what: str) -> NoReturn:
        if self.kept is not None:
            self.refuse_kept()
        raise _C.ShapeError(
            "an unknown size may be added, subtracted, multiplied, divided by // and %, compared, "
            "and given to ops",
            op="Size",
            got=what,
            fix="give the size a number, let the ops see it: mean(x), reshape(x, (-1,)), or "
            "compute with it as a tensor: 1 / sqrt(tensor(x.shape[0], dtype=x.dtype))",
        )


# What sizes that were recorded are calculated by.
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "multiply": operator.mul,
    "floor_divide": operator.floordiv, "remainder": operator.mod,
}  # fmt: skip


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
    return cast(int, x) if isinstance(x, Size) else operator.index(x)
