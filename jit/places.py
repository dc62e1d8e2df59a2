"""Places: where a program that was recorded finds its inputs at each call, and puts what changes.

A recording meets tensors: arguments, parameters, buffers, what a closure or a global holds. Each
becomes an input of the program, and its place says where the value is at the next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _C
from ..imperative import Tensor
from ..imperative.levels import is_differentiated, stopped, unwrapped


class Place:
    """Where a value is found at each call."""

    def find(self, arguments: Sequence[Any]) -> Any:
        """The value by now; `arguments` are the tensors of the call's arguments."""
        raise NotImplementedError

    def assign(self, arguments: Sequence[Any], value: Any) -> None:
        """Puts what it became there."""
        raise NotImplementedError

    def said(self) -> tuple[Any, ...]:
        """The place as the core takes it (csrc/bind/recorded_places.h)."""
        raise NotImplementedError


class TensorPlace(Place):
    """A place that holds a Tensor."""

    def tensor(self, arguments: Sequence[Any]) -> Any:
        """The Tensor."""
        raise NotImplementedError

    def find(self, arguments: Sequence[Any]) -> Any:
        """What it is around."""
        value = self.tensor(arguments).__wrapped__
        return unwrapped(value) if isinstance(value, _C.TensorWrapper) else value

    def assign(self, arguments: Sequence[Any], value: Any) -> None:
        """Binds it; a leaf stays one, and anything else has the history of the value."""
        tensor = self.tensor(arguments)
        if type(value) is _C.RawTensor:
            _C.set_value(tensor, value)
        elif is_differentiated(value) and not tensor.is_leaf:
            tensor._reset(value)
        else:
            _C.set_value(tensor, stopped(value))


class ArgumentPlace(TensorPlace):
    """A tensor of the arguments, by its number among them."""

    def __init__(self, index: int) -> None:
        self.index = index

    def tensor(self, arguments: Sequence[Any]) -> Any:
        """The argument."""
        return arguments[self.index]

    def said(self) -> tuple[Any, ...]:
        """By its number."""
        return "argument", self.index

    def __repr__(self) -> str:
        return f"argument {self.index}"


class HeldPlace(TensorPlace):
    """A tensor that was there before the function was called: a parameter, say."""

    def __init__(self, tensor: Any, name: str) -> None:
        self.held = tensor
        self.name = name

    def tensor(self, arguments: Sequence[Any]) -> Any:
        """It."""
        return self.held

    def said(self) -> tuple[Any, ...]:
        """By itself."""
        return "held", self.held

    def __repr__(self) -> str:
        return self.name


class GradientPlace(Place):
    """The `grad` of a tensor."""

    def __init__(self, of: TensorPlace) -> None:
        self.of = of

    def find(self, arguments: Sequence[Any]) -> Any:
        """The gradient, which is there."""
        return unwrapped(self.of.tensor(arguments).grad)

    def assign(self, arguments: Sequence[Any], value: Any) -> None:
        """Sets it; None: there is none."""
        self.of.tensor(arguments).grad = None if value is None else Tensor(value)

    def said(self) -> tuple[Any, ...]:
        """By whose it is."""
        return "gradient", self.of.said()

    def __repr__(self) -> str:
        return f"gradient of {self.of}"


class CountPlace(Place):
    """A number of Python that a step goes on from: an item of a list, or an attribute.

    Items of a list that were equal when the function was recorded share one place.
    """

    def __init__(self, holder: Any, key: Any, dtype: Any) -> None:
        self.holder = holder
        self.keys = [key]
        self.dtype = dtype

    def of_keys(self, keys: Sequence[Any]) -> CountPlace:
        """The place of some of them."""
        made = CountPlace(self.holder, keys[0], self.dtype)
        made.keys = list(keys)
        return made

    def number(self, key: Any) -> Any:
        """The number under one of the keys."""
        return self.holder[key] if isinstance(self.holder, list) else getattr(self.holder, key)

    def find(self, arguments: Sequence[Any]) -> Any:
        """The number, as a value."""
        return unwrapped(_C.tensor(self.number(self.keys[0]), self.dtype))

    def is_one(self) -> bool:
        """Whether the numbers are still equal."""
        first = self.number(self.keys[0])
        return all(self.number(key) == first for key in self.keys)

    def assign(self, arguments: Sequence[Any], value: Any) -> None:
        """Puts the number there."""
        number = int(Tensor(stopped(value)).item())
        for key in self.keys:
            self.holder[key] = number

    def said(self) -> tuple[Any, ...]:
        """By what has it, and under which keys."""
        return "number", self.holder, tuple(self.keys), self.dtype

    def __repr__(self) -> str:
        return f"{type(self.holder).__name__}.{self.keys[0]}"


class Result(NamedTuple):
    """A tensor that the function returned: what a run makes, or one that was there before."""

    kind: Any  # the class of the wrapper; None: none
    output: int  # of the run; -1: the tensor at a place
    place: TensorPlace | None


class Assigned(NamedTuple):
    """What a place gets after a run: a result of it; None: nothing is there any more."""

    place: Place
    output: int | None
