"""What a conversion tells while it goes on, and whether functions are converted at all."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from ... import _C
from ...functional.arguments import integer

_Function = TypeVar("_Function", bound=Callable[..., Any])
_log = logging.getLogger("tensorlike.jit")


class _State:
    """What was set last, for all threads."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.verbosity = 0
        self.is_enabled = True
        self.is_raw = False


STATE = _State()


def set_code_level(level: int | None = 100) -> None:
    """Prints, from now on, what each conversion has made of a function's source.

    Args:
        level: after which transformer: 1 to 7, in their order; 100, or any above: the last one;
            None or 0: nothing is printed.

    Source:
        Paddle, ``paddle.jit.set_code_level``.

    Example:
        >>> import tensorlike as tl
        >>> tl.jit.set_code_level(None)
    """
    after = 0 if level is None else integer("set_code_level", "level", level, least=0)
    STATE.code = after or None


def set_verbosity(level: int = 0) -> None:
    """How much conversions tell by the logger ``tensorlike.jit``.

    Args:
        level: 0: nothing; 1: which functions are converted; 2: which are left as they are, too.

    Source:
        Paddle, ``paddle.jit.set_verbosity``.

    Example:
        >>> import tensorlike as tl
        >>> tl.jit.set_verbosity(0)
    """
    STATE.verbosity = integer("set_verbosity", "level", level, least=0)


def enable_to_static(enabled: bool) -> None:
    """Whether functions under `to_static` run as programs; else they run as they were written.

    Source:
        Paddle, ``paddle.jit.enable_to_static``.

    Example:
        >>> import tensorlike as tl
        >>> tl.jit.enable_to_static(True)
    """
    STATE.is_enabled = bool(enabled)


def show_raw_stack(shown: bool = True) -> None:
    """Whether tracebacks keep the frames of the generated code and of what it calls.

    Example:
        >>> import tensorlike as tl
        >>> tl.jit.show_raw_stack(False)
    """
    STATE.is_raw = bool(shown)


def not_to_static(function: _Function) -> _Function:
    """Marks a function that converted code calls as it is.

    Python's branches in it cannot depend on tensors of the program then.

    Source:
        Paddle, ``paddle.jit.not_to_static``.

    Example:
        >>> import tensorlike as tl
        >>> @tl.jit.not_to_static
        ... def scale(x, factor):
        ...     return x * factor
    """
    marked: Any = getattr(function, "__func__", function)
    try:
        if not callable(function):
            raise TypeError
        marked.__not_to_static__ = True
    except (AttributeError, TypeError):
        raise _C.ParameterError(
            "must be a function that can be marked", op="not_to_static", argument="function",
            got=f"a {type(function).__name__}", fix="wrap it: lambda x: f(x)",
        ) from None  # fmt: skip
    return function


def is_left(function: Any) -> bool:
    """Whether a function was marked by `not_to_static`."""
    return bool(getattr(function, "__not_to_static__", False))


def tell(level: int, message: str) -> None:
    """Logs what a conversion does."""
    if STATE.verbosity >= level:
        _log.warning("%s", message)


def show(level: int, transformer: str, text: Callable[[], str], last: int = 7) -> None:
    """Prints the source after a transformer, where that was asked for."""
    asked = STATE.code
    if asked is not None and min(asked, last) == level:
        print(f"# after transformer {level}, {transformer}:\n{text()}")
