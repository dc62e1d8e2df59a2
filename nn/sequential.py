"""Sequential: layers and functions, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .layer import Layer


class Sequential(Layer):
    """Calls its parts in order, each on the result of the one before.

    Example:
        >>> import tensorlike as tl
        >>> net = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.functional.relu)
        >>> net(tl.tensor([[1.0, 2.0]])).shape
        (1, 3)
    """

    def __init__(self, *parts: Callable[..., Any]) -> None:
        """Holds layers, or any functions."""
        self.parts = list(parts)

    def forward(self, x: Any) -> Any:
        """The result of the last part."""
        for part in self.parts:
            x = part(x)
        return x
