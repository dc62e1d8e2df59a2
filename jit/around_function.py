"""AroundFunction: what stands in the place of a function of Python looks like it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from .bound_methods import bound_to, reduced


class AroundFunction:
    """An object around a function: a method on instances, with copies and pickles of its own.

    Attributes:
        __wrapped__: the function.
    """

    __wrapped__: Callable[..., Any]
    _options: dict[str, Any]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """On an instance a method, with programs of its own."""
        return self if instance is None else bound_to(self, instance)

    def over(self, function: Callable[..., Any]) -> Any:
        """This around another function."""
        made: Any = type(self)
        return made(function, **self._options)

    def __getattr__(self, name: str) -> Any:
        """What the function, or the layer, has: `parameters`, say."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Around a copy, with no programs as yet."""
        return self.over(deepcopy(self.__wrapped__, memo))

    def __reduce__(self) -> Any:
        """Pickles by its name, or as what it is around; programs are made again."""
        return reduced(self, self.__wrapped__, self._options)

    def __repr__(self) -> str:
        """What it is around."""
        name = getattr(self.__wrapped__, "__qualname__", type(self.__wrapped__).__name__)
        return f"{type(self).__name__}({name})"
