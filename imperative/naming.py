"""Errors in the name of what was called: a composed call, a layer, an optimiser.

The ops inside name themselves, and Python names nothing. What a function of the user's raises, or
a value of a class of the user's, is theirs: it comes through as it is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from .. import _C

Given = ParamSpec("Given")
Result = TypeVar("Result")
Class = TypeVar("Class", bound=type)
# What is read before there is an op to name: the errors of these begin with the argument.
_READ_FIRST = frozenset(["dtype", "shape", "device"])
# What Python and NumPy say of a wrong argument, and what the core does.
_OF_PYTHON = (TypeError, ValueError, IndexError, OverflowError, BufferError)
_OF_THE_CORE = (
    _C.AutodiffError,
    _C.DTypeError,
    _C.DeviceError,
    _C.IndexRangeError,
    _C.LiteralRangeError,
    _C.MatrixError,
    _C.ParameterError,
    _C.ShapeError,
)
ARGUMENT_ERRORS: tuple[type[Exception], ...] = (*_OF_PYTHON, *_OF_THE_CORE)
_OURS = frozenset([__package__.partition(".")[0], "numpy", "opt_einsum"])
# What has no name that a user knows: its errors are those of the call that it is inside of.
_PARTS = frozenset(["requires_grad", "trees"])
_SUBJECT = re.compile(r"(\w+): (.*)", re.DOTALL)


def named(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, whose errors of arguments name it, not the op inside that noticed."""
    return named_as(function.__name__, function)


def named_around(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """As `named`, of what runs other functions: errors that name one of these stay as they are."""
    return named_as(function.__name__, function, keeps_subject=True)


def named_as(
    name: str, function: Callable[Given, Result], *, keeps_subject: bool = False
) -> Callable[Given, Result]:
    """The function, whose errors of arguments have this name in front."""

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except ARGUMENT_ERRORS as error:
            raise in_the_name_of(name, error, keeps_subject=keeps_subject) from error.__cause__

    return call


def named_class(cls: Class) -> Class:
    """The class, the errors of arguments of whose constructor and call name it."""
    for name in ("__init__", "__call__"):
        if name in vars(cls):
            setattr(cls, name, _of_class(vars(cls)[name]))
    return cls


def _of_class(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except ARGUMENT_ERRORS as error:
            raise in_the_name_of(type(self).__name__, error) from error.__cause__

    return call


def in_the_name_of(name: str, error: Exception, *, keeps_subject: bool = False) -> Exception:
    """The error with the name of what was called in front; to be raised where it was caught.

    Args:
        name: what was called.
        error: what a call inside of it raised.
        keeps_subject: whether an error that names an op or a call already stays as it is.

    Returns:
        The same error with another text; one of Python's own in place of those of NumPy whose text
        is made otherwise. As it was, if it is a function's or a class's of the user.
    """
    text = str(error)
    found = _SUBJECT.fullmatch(text)
    if found is not None and (
        _spelt(found[1]) == _spelt(name) or (keeps_subject and found[1] not in _PARTS)
    ):
        return error
    if not _is_our_own(error):
        return error
    said = f"{name}: {text}"
    if found is not None:
        subject, rest = found.groups()
        said = f"{name}: {subject} {rest}" if subject in _READ_FIRST else f"{name}: {rest}"
    error.args = (said,)
    if str(error) == said:
        return error
    kind = next(kind for kind in _OF_PYTHON if isinstance(error, kind))
    made = kind(said).with_traceback(error.__traceback__)
    made.__suppress_context__ = True
    return made


def _is_our_own(error: Exception) -> bool:
    """Whether it was raised here, or by Python and NumPy for us; no frame is the user's."""
    if _root(type(error).__module__) not in _OURS | {"builtins"}:
        return False
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        if _root(frame.tb_frame.f_globals.get("__name__", "")) not in _OURS:
            return False
        frame = frame.tb_next
    return True


def _spelt(name: str) -> str:
    """A name as ops and calls have in common: MatMul and matmul are one."""
    return name.replace("_", "").lower()


def _root(module: str) -> str:
    return module.partition(".")[0]
