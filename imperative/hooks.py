"""Hooks: users' functions of gradients, run when those are complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C


class HookHandle:
    """What `Tensor.register_hook` returns.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor(1.0, requires_grad=True)
        >>> handle = x.register_hook(lambda gradient: gradient * 10)
        >>> tl.autograd.grad(x * 2, x)[0].item()
        20.0
        >>> handle.remove()
        >>> tl.autograd.grad(x * 2, x)[0].item()
        2.0
    """

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        """Made by `register_hook`."""
        self._function: Callable[[Any], Any] | None = function

    def remove(self) -> None:
        """Ends the hook; once is enough, more does no harm."""
        self._function = None

    def __call__(self, gradient: Any) -> Any:
        """What takes the gradient's place; None: nothing does."""
        return None if self._function is None else self._function(gradient)


def register_hook(x: Any, function: Callable[[Any], Any]) -> HookHandle:
    """Runs a function on the gradient of x, as `Tensor.register_hook` says."""
    if not callable(function):
        raise _C.ParameterError("takes a function", op="register_hook", got=type(function).__name__)
    handle = HookHandle(function)
    _C.add_hook(x, handle)
    return handle
