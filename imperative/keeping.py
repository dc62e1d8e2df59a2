"""What stays between the runs of a program: parameters, buffers, the state of optimisers.

Tensors of these kinds say here that they have been made. Whoever builds a program makes them
variables of it; where nobody does, nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from .. import _C
from .nested import innermost

if TYPE_CHECKING:  # importing the package makes neither class

    class Keeper(Protocol):
        """Who builds a program, in a block (`nested.py`)."""

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

    class Recorder(Protocol):
        """Who records a function that is called again and again."""

        collection: int  # in which it began

        def made(self, tensor: Any) -> None:
            """What stays between calls has been made inside of one."""
            ...

        def number(self, holder: Any, key: Any, dtype: Any) -> Any:
            """A number of Python as a tensor, which each call reads anew."""
            ...

        def count(self, holder: Any, key: Any) -> Any:
            """A number that each call counts on by one, as a tensor of float64 behind that."""
            ...


keeping: ContextVar[Keeper | None] = ContextVar("tensorlike_keeping", default=None)


def keeper_now() -> Keeper | None:
    """Who builds a program, if anybody does."""
    found: Keeper | None = innermost(keeping)
    return found


def keep(tensor: Any, kind: str) -> None:
    """A tensor that stays between runs has been made; `kind` is what it is."""
    keeper = keeper_now()
    if keeper is not None:
        keeper.keep(tensor, kind)
    found = recorder_now()
    if found is not None:
        found.made(tensor)


def starts_from(tensor: Any, value: Any) -> bool:
    """Whether a tensor stays between the runs of a program that is built, which now start from it.

    Values that are loaded are first values: the tensor goes on standing for what the program makes
    of it.
    """
    keeper = keeper_now()
    return keeper is not None and keeper.start_from(tensor, value)


recorder: ContextVar[Recorder | None] = ContextVar("tensorlike_recorder", default=None)


def recorder_now() -> Recorder | None:
    """Who records a function; what finalizers call is none of it."""
    found = recorder.get()
    return found if found is not None and found.collection == _C.collection() else None


def number_in(holder: Any, name: str, dtype: Any) -> Any:
    """A setting that may be another in each call: a number, or, where one is recorded, a tensor."""
    value = getattr(holder, name)
    found = recorder_now()
    if found is None or not isinstance(value, (int, float)):
        return value
    return found.number(holder, name, dtype)


def counted(counts: list[int], indices: Sequence[int]) -> Any:
    """Counts on by one what has been counted as far: the number, or a tensor of float64.

    A tensor where a call is recorded, in which each is counted alone.
    """
    found = recorder_now()
    if found is not None:
        (index,) = indices
        return found.count(counts, index)
    number = counts[indices[0]] + 1
    for index in indices:
        counts[index] = number
    return number
