"""Functional calls as objects: what stands behind a ``def`` that only says types and words."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from .. import _C
from .naming import named, named_as

F = TypeVar("F", bound=Callable[..., Any])

call_with = _C.call_with  # a call whose keywords are attributes of an object

# What functional calls take: a tensor-like, or data beside one.
TensorLike = Any


def native(function: F) -> F:
    """The functional call that a declaration made; the ``def`` gives its types and its words."""
    return declared(function.__name__)(function)


def declared(name: str) -> Callable[[F], F]:
    """The functional call `name` in place of a ``def``, which gives its types and its words."""
    return lambda function: _described(_C.Function(name), function)


def spread(name: str) -> Callable[[F], F]:
    """The same, of a call that takes the integers of its first attribute one by one, too."""
    return lambda function: _described(_C.Function(name, None, True), function)


def extended(function: F) -> F:
    """The functional call of that name; calls with more arguments than it has run the ``def``."""
    name, run = function.__name__, named(function)

    def extension(*args: Any, **kwargs: Any) -> Any:
        parameters = inspect.signature(function).parameters
        unknown = [key for key in kwargs if key not in parameters]
        if unknown:
            fail(f"unknown argument '{unknown[0]}'")
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            fail(str(error))
        return run(*args, **kwargs)

    def fail(what: str) -> NoReturn:
        shown = [
            name if parameter.default is parameter.empty else f"{name}={parameter.default!r}"
            for name, parameter in inspect.signature(function).parameters.items()
        ]
        raise _C.ParameterError(f"{what}; the call is {name}({', '.join(shown)}).", op=name)

    return _described(_C.Function(name, extension), function)


# The functional calls that have one.
COMPLEX_FORMS: set[str] = set()


def complex_form(name: str) -> Callable[[F], F]:
    """What the functional call `name`, whose op takes real numbers, means of complex ones.

    It is run, with the arguments of the call, where the op has refused their dtype.
    """

    def register(function: F) -> F:
        run = named_as(name, function)

        def form(*args: Any, **kwargs: Any) -> Any:
            if not any(map(_is_complex, (*args, *kwargs.values()))):
                return NotImplemented
            return run(*args, **kwargs)

        _C.set_complex_form(name, form)
        COMPLEX_FORMS.add(name)
        return function

    return register


def _is_complex(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", None) in ("complex", "c")


def _described(call: Any, function: F) -> F:
    # What functools.update_wrapper sets, for a fraction of its time: importing makes them all.
    call.__name__ = function.__name__
    call.__qualname__ = function.__qualname__
    call.__module__ = function.__module__
    call.__doc__ = function.__doc__
    call.__wrapped__ = function
    return call  # type: ignore[no-any-return]


def composed(name: str) -> Callable[[F], F]:
    """A call of `functional` that no declaration made: found by name when it is called.

    The rooms are in order, and functional comes after this one.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            made.become(composed_call(name))
            return composed_call(name)(*args, **kwargs)

        made: Any = named(call)
        return made  # type: ignore[no-any-return]

    return decorate


@functools.cache
def composed_call(name: str) -> Callable[..., Any]:
    """A function of `functional`, or of a module of it, by its dotted name."""
    package = __package__.rpartition(".")[0]
    module, _, function = f"functional.{name}".rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"{package}.{module}"), function)
    return found
