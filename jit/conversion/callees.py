"""What converted code calls: functions of the user converted, others for some of Python's own."""

from __future__ import annotations

import functools
import inspect
import sysconfig
from pathlib import Path
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from ... import _C
from ...nn import Layer, Sequential
from . import functions, settings
from .python_functions import REPLACED
from .refusal import ConversionError, refusal
from .regions import innermost
from .slots import Content
from .source import lines_of
from .swallowed import excuse

_OURS = str(Path(__file__).parents[2])
_INSTALLED = tuple(
    str(Path(path)) + "/"
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
# Ours that call the user's: layers.
_PASSING = {vars(Layer)["__call__"].__wrapped__.__code__, Sequential.forward.__code__}
_CHANGING = {
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update",
    "setdefault", "popitem", "add", "discard", "difference_update", "intersection_update",
    "symmetric_difference_update",
}  # fmt: skip
# What they do cannot be put off until a program runs, nor be undone.
_ACTING = {"logging", "random", "io", "_io", "os", "posix", "subprocess", "time", "warnings"}


def is_users(function: FunctionType) -> bool:
    """Whether a function is the user's own, and its source is there."""
    code = function.__code__
    if code in _PASSING:
        return True
    if str(function.__module__).partition(".")[0] == "tensorlike":
        return False
    filename = code.co_filename
    if filename.startswith((*_INSTALLED, _OURS)) or "site-packages" in filename:
        return False
    return bool(lines_of(function))


def converted_callee(function: Any) -> Any:
    """What is called in the place of a function."""
    if isinstance(function, FunctionType):
        return _converted(function)
    if isinstance(function, MethodType):
        inner = _whole(function.__func__)
        if isinstance(inner, FunctionType):
            return MethodType(_converted(inner), function.__self__)
        return function
    if isinstance(function, BuiltinMethodType):
        _tell_change(function)
        return REPLACED.get(function, function)
    if isinstance(function, type):
        return REPLACED.get(function, function)
    if isinstance(function, functools.partial):
        inner = converted_callee(function.func)
        return functools.partial(inner, *function.args, **function.keywords)
    if isinstance(function, _C.TensorBase):
        return function
    call = _whole(inspect.getattr_static(type(function), "__call__", None))
    if isinstance(call, FunctionType) and not _is_static(function):
        return MethodType(_converted(call), function)
    return function


def _whole(function: Any) -> Any:
    """A method without its shortcut."""
    return vars(function)["__wrapped__"] if isinstance(function, _C.Shortcut) else function


def _is_static(function: Any) -> bool:
    from ..compiled_function import CompiledFunction

    return isinstance(function, CompiledFunction)


def _converted(function: FunctionType) -> Any:
    if settings.is_left(function) or functions.is_converted(function):
        return function
    if not is_users(function):
        if innermost() is not None and _acts(function.__module__):
            raise _refused(function)
        return function
    try:
        return functions.converted(function)
    except ConversionError as error:
        # What cannot be converted is called as it is: it raises where it asks a tensor.
        excuse(error)
        settings.tell(2, f"{function.__qualname__} is called as it is: {error}")
        return function


def _acts(module: Any) -> bool:
    return str(module).partition(".")[0] in _ACTING


def _tell_change(method: Any) -> None:
    """Notes what a container holds before a method changes it."""
    region = innermost()
    if region is None:
        return
    owner = method.__self__
    if isinstance(owner, (list, dict, set)) and method.__name__ in _CHANGING:
        region.note(Content(owner))
    elif _acts(type(owner).__module__) or _acts(method.__module__):
        raise _refused(method)


def _refused(function: Any) -> Exception:
    import sys

    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    name = f"{function.__module__ or type(function.__self__).__name__}.{function.__name__}"
    return refusal(
        f"{name} must not be called in a branch or loop that depends on tensors",
        frame.f_code.co_filename, frame.f_lineno,
        "call it before or after, or print, which happens when the program runs",
    )  # fmt: skip
