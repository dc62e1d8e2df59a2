"""What stays between the runs of a program: parameters, buffers, the state of optimisers.

Tensors of these kinds say here that they have been made. Whoever builds a program makes them
variables of it; where nobody does, nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol


class Keeper(Protocol):
    """Who builds a program."""

    def keep(self, tensor: Any, kind: str) -> None:
        """Makes a variable of a tensor, which stays between runs."""
        ...

    def start_from(self, tensor: Any, value: Any) -> bool:
        """Whether a tensor stays between runs; then this is what it starts from."""
        ...

    def parameters(self) -> Sequence[Any]:
        """The tensors that learn, of those that have become variables."""
        ...

    def append_backward(
        self, loss: Any, parameters: Sequence[Any], no_grad_set: Iterable[Any]
    ) -> Sequence[tuple[Any, Any]]:
        """Adds the gradients of a loss: each parameter that it depends on, and its gradient."""
        ...


keeping: ContextVar[Keeper | None] = ContextVar("tensorlike_keeping", default=None)


def keep(tensor: Any, kind: str) -> None:
    """A tensor that stays between runs has been made; `kind` is what it is."""
    keeper = keeping.get()
    if keeper is not None:
        keeper.keep(tensor, kind)


def starts_from(tensor: Any, value: Any) -> bool:
    """Whether a tensor stays between the runs of a program that is built, which now start from it.

    Values that are loaded are first values: the tensor goes on standing for what the program makes
    of it.
    """
    keeper = keeping.get()
    return keeper is not None and keeper.start_from(tensor, value)
