"""Methods that are traced: each instance has programs of its own, which live as long as it does."""

from __future__ import annotations

import functools
import sys
from types import MethodType
from typing import Any

# The attribute of an instance that holds them. Who reads an instance passes over it.
ATTRIBUTE = "_compiled_methods"


class Methods(dict[Any, Any]):
    """The traced methods of an instance, by the function of its class; copies have none as yet."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Methods:
        """None."""
        return Methods()

    def __reduce__(self) -> Any:
        """None."""
        return Methods, ()


def bound_to(compiled: Any, instance: Any) -> Any:
    """The traced function of a class as a method of an instance."""
    held = getattr(instance, "__dict__", None)
    if held is None:
        return functools.partial(compiled, instance)
    methods = held.setdefault(ATTRIBUTE, Methods())
    if compiled not in methods:
        methods[compiled] = compiled.over(MethodType(compiled.__wrapped__, instance))
    return methods[compiled]


def reduced(compiled: Any, function: Any, options: dict[str, Any]) -> Any:
    """How a traced function pickles: by its name, where it is found under that."""
    name = getattr(function, "__qualname__", "")
    found: Any = sys.modules.get(getattr(function, "__module__", ""))
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is compiled else (_made, (type(compiled), function, options))


def _made(cls: Any, function: Any, options: dict[str, Any]) -> Any:
    return cls(function, **options)
