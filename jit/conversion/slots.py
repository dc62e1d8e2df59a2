"""Slots: what a body of a branch or loop may change, and what it holds before and after.

A variable of the function, an attribute of an object, what a list or dict contains, what a Tensor
is bound to. A snapshot takes a value apart into tensors and numbers, which may become results of an
op, and what is around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import CellType
from typing import Any

from ... import _C
from ...imperative.levels import is_differentiated, unwrapped
from ..recording import current_recording

Container = (list, tuple, dict)


class Unbound:
    """Stands for the value of a variable that has none."""

    def __repr__(self) -> str:
        return "no value"


UNBOUND = Unbound()


class Slot:
    """A place that holds a value of Python's.

    Attributes:
        name: as the user calls it.
        is_guarded: whether it is only read where a flag says that it was assigned.
    """

    name = ""
    is_guarded = False
    key: Any = None  # equal for slots that are the same

    def get(self) -> Any:
        """What it holds; UNBOUND: nothing."""
        raise NotImplementedError

    def set(self, value: Any) -> None:
        """Puts a value there."""
        raise NotImplementedError


class Variable(Slot):
    """A variable of the function that is converted."""

    def __init__(self, name: str, cell: CellType) -> None:
        self.name = name
        self.cell = cell
        self.is_guarded = name == "_jit_value"
        self.key = id(cell)

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            self.cell.cell_contents = value
        elif self.get() is not UNBOUND:
            del self.cell.cell_contents


class Shared(Variable):
    """A variable of a function around, which the function that sets it declares nonlocal."""


class Global(Slot):
    """A name of a module."""

    def __init__(self, name: str, names: dict[str, Any]) -> None:
        self.name = name
        self.names = names
        self.key = (id(names), name)

    def get(self) -> Any:
        return self.names.get(self.name, UNBOUND)

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            self.names[self.name] = value
        else:
            self.names.pop(self.name, None)


class Result(Slot):
    """What a function of an expression gave."""

    name = "the expression"

    def __init__(self) -> None:
        self.value: Any = UNBOUND
        self.key = id(self)

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value


class Attribute(Slot):
    """An attribute of an object."""

    def __init__(self, owner: Any, attribute: str) -> None:
        self.owner = owner
        self.attribute = attribute
        self.name = f"{type(owner).__name__}.{attribute}"
        self.key = (id(owner), attribute)

    def get(self) -> Any:
        return getattr(self.owner, self.attribute, UNBOUND)

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            setattr(self.owner, self.attribute, value)
        elif hasattr(self.owner, self.attribute):
            delattr(self.owner, self.attribute)


class Content(Slot):
    """What a list, a dict or a set contains."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.name = f"a {type(owner).__name__}"
        self.key = (id(owner), None)

    def get(self) -> Any:
        return list(self.owner) if isinstance(self.owner, list) else self.owner.copy()

    def set(self, value: Any) -> None:
        if isinstance(self.owner, list):
            self.owner[:] = value
        else:
            self.owner.clear()
            self.owner.update(value)


class Binding(Slot):
    """What a Tensor is bound to, which ``x += y`` and ``x[i] = y`` change."""

    name = "a tensor that is changed in place"

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.key = id(tensor)

    def get(self) -> Any:
        return met(self.tensor).__wrapped__

    def set(self, value: Any) -> None:
        if is_differentiated(self.tensor) and not self.tensor.is_leaf:
            raise _C.AutodiffError(
                "a tensor that carries gradients must not be changed in place in a branch or loop "
                "that depends on tensors",
                op="to_static", fix="assign a new one: x = x + y",
            )  # fmt: skip
        _C.set_value(self.tensor, unwrapped(value))


def met(tensor: Any) -> Any:
    """The Tensor, which a recording has met: it stands for a variable of its program."""
    recording = current_recording()
    if recording is not None and isinstance(tensor, _C.TensorWrapper):
        recording.touch(tensor)
    return tensor


class Leaf:
    """A tensor or number of a snapshot.

    Attributes:
        original: what was there.
        value: its value, a tensor-like, or the number.
    """

    __slots__ = ("original", "value")

    def __init__(self, original: Any) -> None:
        self.original = original
        self.value = unwrapped(met(original)) if self.is_tensor else original

    @property
    def is_tensor(self) -> bool:
        """Whether it is no number of Python's."""
        return isinstance(self.original, _C.TensorBase)


class Node:
    """A container of a snapshot, with snapshots of what it contains."""

    __slots__ = ("children", "keys", "original")

    def __init__(self, original: Any, keys: Sequence[Any], children: Sequence[Any]) -> None:
        self.original = original
        self.keys = list(keys)
        self.children = list(children)

    def like(self, other: Any) -> bool:
        """Whether the other one contains as much, under the same keys."""
        return (
            isinstance(other, Node)
            and type(other.original) is type(self.original)
            and other.keys == self.keys
        )

    def filled(self, values: Sequence[Any]) -> Any:
        """A container of this type with other values."""
        kind = type(self.original)
        if isinstance(self.original, dict):
            return kind(zip(self.keys, values, strict=True))
        return kind(*values) if hasattr(kind, "_fields") else kind(values)


class Other:
    """Anything else, which stays what it is."""

    __slots__ = ("original",)

    def __init__(self, original: Any) -> None:
        self.original = original


def is_number(x: Any) -> bool:
    """Whether it is a number of Python's."""
    return type(x) in (bool, int, float, complex)


def snapshot(value: Any) -> Any:
    """A value taken apart: a Leaf, a Node or an Other."""
    if isinstance(value, _C.TensorBase) or is_number(value):
        return Leaf(value)
    if isinstance(value, Container) and type(value).__module__ != "builtins":
        is_own = not hasattr(type(value), "_fields") and not isinstance(value, dict)
        if is_own:
            return Other(value)
    if isinstance(value, dict):
        return Node(value, list(value), [snapshot(x) for x in value.values()])
    if isinstance(value, (list, tuple)):
        return Node(value, range(len(value)), [snapshot(x) for x in value])
    return Other(value)


def parts_of(found: Any) -> Iterator[Any]:
    """A snapshot and all that it is made of."""
    yield found
    if isinstance(found, Node):
        for child in found.children:
            yield from parts_of(child)


def leaves_of(found: Any) -> list[Leaf]:
    """The tensors and numbers of a snapshot, in order."""
    return [part for part in parts_of(found) if isinstance(part, Leaf)]


def refilled(found: Any, values: Iterator[Any]) -> Any:
    """What a snapshot was taken of, with other tensors and numbers."""
    if isinstance(found, Leaf):
        return next(values)
    if isinstance(found, Node):
        return found.filled([refilled(child, values) for child in found.children])
    return found.original


def is_same(first: Any, second: Any) -> bool:
    """Whether two values are one for Python: the same object, or equal numbers of a type."""
    if first is second:
        return True
    if is_number(first) and type(first) is type(second):
        return repr(first) == repr(second)  # zeros have signs
    return type(first) in (str, bytes, type(None), range, slice) and (
        type(first) is type(second) and first == second
    )


def cells_of(function: Any) -> dict[str, CellType]:
    """The variables around a function that it knows; of none there are none."""
    function = getattr(function, "func", function)  # of a partial
    if function is None:
        return {}
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def variables(names: Sequence[str], functions: Sequence[Callable[..., Any] | None]) -> list[Slot]:
    """The variables of these names, from the closures of the functions that bind them."""
    cells: dict[str, CellType] = {}
    for function in functions:
        cells.update(cells_of(function))
    return [Variable(name, cells[name]) for name in names]
