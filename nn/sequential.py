"""Sequential: layers and functions, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .layer import Layer


class Sequential(Layer):
    """Calls its parts in order, each on the result of the one before.

    Its parts are found by index; a slice is a Sequential of the same parts.

    Example:
        >>> import tensorlike as tl
        >>> net = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.functional.relu)
        >>> net(tl.tensor([[1.0, 2.0]])).shape
        (1, 3)
        >>> len(net), net[0].weight.shape
        (2, (2, 3))
    """

    def __init__(self, *parts: Callable[..., Any]) -> None:
        """Holds layers, or any functions."""
        self.parts = list(parts)

    def forward(self, x: Any) -> Any:
        """The result of the last part."""
        for part in self.parts:
            x = part(x)
        return x

    def __len__(self) -> int:
        """How many parts there are."""
        return len(self.parts)

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        """The parts in order."""
        return iter(self.parts)

    def __getitem__(self, index: int | slice) -> Any:
        """A part, or a Sequential of several.

        Raises:
            IndexError: there is no such part.
        """
        return Sequential(*self.parts[index]) if isinstance(index, slice) else self.parts[index]
