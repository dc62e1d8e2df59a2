"""What layers are made with: checked by the annotations of their constructors, and shown."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..imperative import ParameterError, Tensor, TensorBase
from ..imperative.trees import holds_numbers

if TYPE_CHECKING:
    from .layer import Layer

_ROOM = __package__
_KEYWORDS = inspect.Parameter.VAR_KEYWORD
_REST = inspect.Parameter.VAR_POSITIONAL


def is_ours(constructor: Any) -> bool:
    """Whether a class or a constructor is one of this package."""
    return (getattr(constructor, "__module__", None) or "").startswith(f"{_ROOM}.")


@functools.cache
def _constructor(cls: type) -> tuple[inspect.Signature, dict[str, Any]]:
    """The signature of a class, and the types of its arguments and of those that it passes on."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        made: Any = vars(base).get("__init__")
        if inspect.isfunction(inspect.unwrap(made)) and is_ours(made):
            hints |= typing.get_type_hints(made)
    return inspect.signature(cls.__init__), hints  # type: ignore[misc]


def check_arguments(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuses arguments of other types than the constructor says, where it is one of ours.

    Raises:
        ParameterError: one is of another type.
    """
    if not is_ours(cls.__init__):  # type: ignore[misc]
        return
    signature, hints = _constructor(cls)
    try:
        bound = signature.bind_partial(None, *args, **kwargs).arguments
    except TypeError:
        return  # Python itself says what is missing or unknown
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        given = {name: value}
        if kind is _KEYWORDS:
            given = value
        elif kind is _REST:
            given = {f"{name}[{i}]": part for i, part in enumerate(value)}
        for key, part in given.items():
            hint = hints.get(key.partition("[")[0], Any)
            if name != "self" and not _fits(part, hint):
                raise ParameterError(
                    f"must be {_words(hint)}", op=cls.__name__, argument=key, got=f"{_shown(part)}"
                )


def _fits(value: Any, hint: Any) -> bool:
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        parts = typing.get_args(hint)
        if Any in parts:  # TensorLike, or None
            return value is None or isinstance(value, (list, tuple)) or holds_numbers(value)
        return any(_fits(value, part) for part in parts)
    if hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    if isinstance(value, bool):
        return False
    if hint is int:
        return hasattr(value, "__index__") and not isinstance(value, Tensor)
    if hint is float:
        return isinstance(value, float) or (
            (hasattr(value, "__index__") or hasattr(value, "__float__"))
            and not isinstance(value, (str, Tensor))
            and not getattr(value, "shape", ())
        )
    if origin is Sequence:
        (item,) = typing.get_args(hint)
        return isinstance(value, (list, tuple)) and all(_fits(part, item) for part in value)
    if origin is Callable:
        return callable(value)
    return isinstance(value, hint) if isinstance(hint, type) else True


_WORDS = {int: "an integer", float: "a number", bool: "True or False", str: "a word"}


def _words(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(part) for part in typing.get_args(hint))
    if origin is Sequence:
        return {int: "several integers", float: "several numbers"}.get(
            typing.get_args(hint)[0], "several"
        )
    if origin is Callable:
        return "a layer or function"
    if hint is Any:
        return "a tensor"
    return "None" if hint is type(None) else _WORDS.get(hint, str(hint))


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = ""
    return text if text and len(text) <= 60 else f"a {type(value).__name__}"


def described(layer: Layer) -> str:
    """The class, the arguments that are attributes, parts, and the shapes of parameters."""
    shown: dict[str, str] = {}
    rest: list[str] = []
    named = vars(layer)
    for name, parameter in _arguments_of(type(layer)).items():
        value = named.get(name)
        if parameter.kind is _REST and isinstance(value, (list, tuple)):
            rest = [_described(part) for part in value]
        if parameter.kind is not _REST and not isinstance(value, Tensor) and value is not None:
            shown[name] = f"{name}={_described(value)}"
    for name, value in named.items():
        if isinstance(value, Tensor):
            shown[name] = f"{name}: {tuple(value.shape)}"
        elif name not in shown and not rest and _holds_layers(value):
            shown[name] = f"{name}={_described(value)}"
    return f"{type(layer).__name__}({', '.join([*rest, *shown.values()])})"


def _arguments_of(cls: type) -> dict[str, inspect.Parameter]:
    """The constructor's arguments, with those that it hands on to its bases'."""
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        made: Any = vars(base).get("__init__")
        if not inspect.isfunction(inspect.unwrap(made)):
            continue
        parameters = inspect.signature(made).parameters
        found |= {n: p for n, p in parameters.items() if n not in found and n != "self"}
        if not any(p.kind is _KEYWORDS for p in parameters.values()):
            break
    return found


def _is_layer(value: Any) -> bool:
    return hasattr(value, "named_parameters")


def _holds_layers(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_layer, value.values()))
    return any(map(_is_layer, value)) if isinstance(value, (list, tuple)) else _is_layer(value)


def _described(value: Any) -> str:
    if callable(value) and not _is_layer(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return repr(value)


# What layers read of a tensor before any op does.
_OF_TENSORS = frozenset(["shape", "dtype", "ndim"])


def refuse_other(layer: str, error: AttributeError, given: Sequence[Any]) -> None:
    """Raises TypeError in the layer's name where the error is that an argument is no tensor."""
    if error.name not in _OF_TENSORS or isinstance(error.obj, TensorBase):
        return
    several = (list, tuple, bytes, bytearray)
    inside = [part for arg in given if isinstance(arg, several) for part in arg]
    is_text = isinstance(error.obj, str)  # each part of which is another string
    if is_text or any(error.obj is part for part in (*given, *inside)):
        got = type(error.obj).__name__
        raise ParameterError(
            "must be called with tensors", op=layer, got=f"{got}", fix="see tl.tensor"
        ) from None
