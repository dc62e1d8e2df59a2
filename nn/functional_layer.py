"""Functional: a functional call as a layer, with the arguments that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..imperative import Tensor, TensorLike
from ..imperative.calls import call_with
from .layer import Buffer, Layer

Ints = int | Sequence[int]


def held(value: Ints) -> int | tuple[int, ...]:
    """One number or several, which nobody changes any more."""
    return int(value) if isinstance(value, int | np.integer) else tuple(value)


def kept(value: TensorLike | None) -> Buffer | None:
    """A tensor among the arguments, as a part of the layer's state."""
    return None if value is None else Buffer(value)


class Functional(Layer):
    """A functional call, `call`, on the layer's inputs and the arguments that it was made with.

    The arguments are attributes; which ones there are is what a subclass's `__init__` says.
    """

    call: ClassVar[Callable[..., Tensor]]

    def __init__(self, **arguments: Any) -> None:
        """Keeps the arguments, under their names."""
        self._names = tuple(arguments)
        for name, value in arguments.items():
            setattr(self, name, value)

    def forward(self, *xs: TensorLike) -> Tensor:
        """The result of the call."""
        return call_with(type(self).call, xs, self, self._names)
