"""Functions of Python's own that mean the same of tensors of a program."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import _C
from ... import functional as F
from ...imperative import Size, Tensor
from ...imperative.blocks import is_symbolic
from ...imperative.sizes import calculated
from .program_effects import Print, effect
from .python_numbers import note_number
from .slots import met


def is_staged(x: Any) -> bool:
    """Whether a value is a tensor of a program."""
    return isinstance(x, _C.TensorBase) and is_symbolic(met(x))


def truth(x: Any) -> Any:
    """Of a tensor of a program its truth, a boolean of the program; anything else stays."""
    if not is_staged(x):
        return x
    size: Any = Tensor(x).size
    if isinstance(size, Size) or size != 1:
        raise _C.ShapeError(
            "a condition must be one boolean", op="to_static", got=f"shape {x.shape}",
            fix="reduce it by all or any, or select elements by where",
        )  # fmt: skip
    found = Tensor(x) if x.shape == () else F.reshape(x, ())
    return found if found.dtype.kind == "bool" else F.not_equal(found, 0)


class Range:
    """A range whose bounds are tensors, or sizes that are not known."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step


class Rows:
    """Rows of tensors whose number is not known: what `enumerate` and `zip` make of them.

    Attributes:
        tensors: what is gone along.
        item: from a row of each to the item.
    """

    def __init__(self, tensors: list[Any], item: Callable[..., Any]) -> None:
        self.tensors = tensors
        self.item = item


def rows_of(x: Any) -> Rows | None:
    """The rows of a tensor whose number is not known."""
    if isinstance(x, Rows):
        return x
    if is_staged(x) and x.shape and isinstance(x.shape[0], Size):
        return Rows([x], lambda row: row)
    if isinstance(x, Range) and isinstance(x.stop, Size) and (x.start, x.step) == (0, 1):
        stop: Any = x.stop
        return Rows([F.arange(stop)], note_number)
    return None


def _range(*bounds: Any) -> Any:
    if not any(is_staged(x) or isinstance(x, Size) for x in bounds):
        return range(*bounds)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


class _Enumerated(enumerate):  # type: ignore[type-arg]
    """Python's own, which knows whether it comes to an end."""

    def __init__(self, iterable: Iterable[Any], start: Any = 0) -> None:
        self.is_finite = is_finite(iterable)


class _Zipped(zip):  # type: ignore[type-arg]
    """Python's own, which knows whether it comes to an end."""

    def __init__(self, *iterables: Iterable[Any], strict: bool = False) -> None:
        self.is_finite = any(map(is_finite, iterables))


def is_finite(iterable: Any) -> bool:
    """Whether an iterable is known to come to an end."""
    return hasattr(iterable, "__len__") or getattr(iterable, "is_finite", False)


def _enumerate(iterable: Iterable[Any], start: Any = 0) -> Any:
    rows = rows_of(iterable)
    if rows is None:
        return _Enumerated(iterable, start)
    indices = F.arange(rows.tensors[0].shape[0]) + start
    return Rows([indices, *rows.tensors], lambda index, *row: (note_number(index), rows.item(*row)))


def _zip(*iterables: Any, strict: bool = False) -> Any:
    found = [rows_of(x) for x in iterables]
    if not any(found):
        return _Zipped(*iterables, strict=strict)
    if not all(found):
        raise _C.ParameterError(
            "zip must be given iterables of which all, or none, have a number of rows that is not "
            "known", op="to_static", fix="stack the lists, or give the tensors a known size",
        )  # fmt: skip
    every = [rows for rows in found if rows is not None]

    def item(*parts: Any) -> tuple[Any, ...]:
        rest: Iterator[Any] = iter(parts)
        return tuple([rows.item(*(next(rest) for _ in rows.tensors)) for rows in every])

    return Rows([x for rows in every for x in rows.tensors], item)


def _len(x: Any) -> Any:
    return x.shape[0] if is_staged(x) and x.shape else len(x)


# What numbers made of sizes are as integers and floats.
_CASTS: dict[Any, Callable[[Any], Any]] = {int: math.trunc, float: lambda size: size * 1.0}


def _cast(kind: Any, dtype: Any, one: str) -> Callable[..., Any]:
    def cast(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], Size) and kind in _CASTS:
            return _CASTS[kind](args[0])
        if len(args) == 1 and not kwargs and is_staged(args[0]):
            x = Tensor(args[0])
            if kind is bool:
                return note_number(truth(x))
            size: Any = x.size
            if isinstance(size, Size) or size != 1:
                raise _C.ShapeError(
                    f"{kind.__name__} must be given one number", op="to_static",
                    got=f"shape {x.shape}", fix=f'x.astype("{one}")',
                )  # fmt: skip
            made = F.reshape(x.detach(), ()).astype(dtype)  # a number has no history
            return note_number(made)
        return kind(*args, **kwargs)

    return cast


def _print(*values: Any, **options: Any) -> None:
    if not any(is_staged(x) for x in values):
        from .regions import innermost

        if innermost() is None:
            print(*values, **options)
            return
    parts = [None if is_staged(x) else (str(x),) for x in values]
    effect(Print(parts, options), *(x for x in values if is_staged(x)))


def _extreme(function: Any, how: str, is_better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def better(best: Any, item: Any) -> Any:
        """As Python chooses: the first of those that are equal, and of which one is no number."""
        found = truth(is_better(item, best))
        if is_staged(found):
            return F.where(found, item, best)
        return item if found else best

    def extreme(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not args:
            return function(*args, **kwargs)
        items = args if len(args) > 1 else list(args[0])
        if any(map(is_staged, items)):
            return functools.reduce(better, items)
        if any(isinstance(x, Size) for x in items) and all(map(_is_whole, items)):
            return functools.reduce(lambda a, b: calculated(how, a, b), items)
        return function(items)

    return extreme


def _is_whole(x: Any) -> bool:
    return type(x) is int or (isinstance(x, Size) and not x.is_float)


def _of_math(how: str, function: Any) -> Callable[..., Any]:
    def called(*args: Any) -> Any:
        is_of_size = any(isinstance(x, Size) for x in args)
        return calculated(how, *args) if is_of_size else function(*args)

    return called


# Those that give a float, of the names that scalar functions of ours have.
_MATH = {
    function: _of_math(name, function)
    for name, function in vars(math).items()
    if name in _C.function_names() and not name.startswith("is")
    and name not in ("floor", "ceil", "trunc")
}  # fmt: skip


def _joined(items: Any, *, is_and: bool) -> Any:
    """Of tensors of a program all are asked; any other item ends it as it does in Python."""
    from .operators import joined

    asked = []
    for item in items:
        if is_staged(item):
            asked.append(item)
        elif bool(item) is not is_and:
            return not is_and
    return joined(asked, is_and=is_and) if asked else is_and


def _every(items: Any) -> Any:
    return _joined(items, is_and=True)


def _some(items: Any) -> Any:
    return _joined(items, is_and=False)


REPLACED: dict[Any, Any] = {
    builtins.range: _range, builtins.enumerate: _enumerate, builtins.zip: _zip,
    builtins.len: _len, builtins.print: _print,
    builtins.int: _cast(int, _C.int64, "int64"),
    builtins.float: _cast(float, _C.float32, "float32"),
    builtins.bool: _cast(bool, _C.bool_, "bool"),
    builtins.min: _extreme(min, "minimum", operator.lt),
    builtins.max: _extreme(max, "maximum", operator.gt),
    builtins.all: _every, builtins.any: _some, **_MATH,
}  # fmt: skip
