"""Batched: a tensor-like that stands for many examples at once.

Its shape is that of one example; the elements of all lie in one value, with an axis for the
examples in front. What an op does to it is said in calls, and so above the functional API, in
`transforms/batching.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C
from .batch import Batch
from .levels import TransformValue, stopped


class Batched(TransformValue):
    """The examples of a batch.

    Args:
        value: a tensor-like of any kind; its first axis counts the examples.
        batch: the `vmap` that it belongs to.
    """

    __slots__ = ("batch", "value")

    def __init__(self, value: Any, batch: Batch) -> None:
        """Made by `vmap`, and by applying ops."""
        self.value = value
        self.level = self.batch = batch
        self.priority = 100.0 + batch.number

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of one example."""
        return self.value.shape[1:]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> _C.dtype:
        """The element type."""
        return self.value.dtype  # type: ignore[no-any-return]

    @property
    def inner(self) -> Any:
        """The examples, with their axis in front."""
        return self.value

    @property
    def outside(self) -> Batched:
        """Nothing else: there is no one example that would stand for all."""
        return self

    def with_inner(self, value: Any, other: Callable[[Any], Any]) -> Batched:
        """The same around other examples."""
        return Batched(value, self.batch)

    def refuse_outside(self) -> None:
        """Raises: what was made before the `vmap` has one value for all examples.

        Raises:
            DispatchError: always.
        """
        raise _C.DispatchError(
            "a tensor that was made outside must not be set to a value that differs between "
            "examples",
            op="vmap",
            got="one",
            fix="return it from the function, or pass the tensor as an argument",
        )

    @property
    def elements(self) -> Any:
        """Those of one example are not at hand.

        Raises:
            DispatchError: always.
        """
        raise _C.DispatchError(
            "inside, the elements of an example must not be read",
            op="vmap",
            got="a tensor that differs between examples",
            fix="use where in place of if, or None in in_axes",
        )

    def stopped(self) -> Batched:
        """The same examples without history."""
        return Batched(stopped(self.value), self.batch)

    def __repr__(self) -> str:
        """The examples."""
        return f"Batched({self.value!r})"
