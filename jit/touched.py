"""What a recording has met: tensors from outside, values that were read, numbers that count."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..imperative import Tensor
from ..imperative.levels import is_differentiated
from .places import CountPlace, TensorPlace
from .recorded_tensor import RecordedTensor


class Touched:
    """A Tensor that stands for an input while the function is recorded.

    Attributes:
        tensor: it.
        place: where it is found at the next call.
        number: the input.
        is_leaf: whether gradients accumulate in it.
        is_differentiated: whether derivatives are wanted by it.
        gradient: the input that its `grad` was, with the value; None: it had none.
    """

    def __init__(self, tensor: Any, place: TensorPlace, number: int, original: Any) -> None:
        self.tensor = tensor
        self.place = place
        self.number = number
        self.original = original
        self.shadow: Any = original
        self.is_leaf = tensor.is_leaf
        self.is_differentiated = is_differentiated(original)
        self.gradient: RecordedTensor | None = None


class Counted:
    """Equal numbers of a list that steps count on.

    Attributes:
        place: where they are.
        times: how often each was counted on so far.
    """

    def __init__(self, place: CountPlace, start: Tensor) -> None:
        self.place = place
        self.times: dict[Any, int] = {}
        self._following = [start]

    def next(self, key: Any) -> Tensor:
        """One of them, counted on by one."""
        if key not in self.place.keys:
            self.place.keys.append(key)
        times = self.times[key] = self.times.get(key, 0) + 1
        if times == len(self._following):
            self._following.append(self._following[-1] + 1)
        return self._following[times]

    def ends(self) -> list[tuple[CountPlace, Tensor]]:
        """What becomes of them: where, and which value."""
        found = []
        for times in sorted(set(self.times.values())):
            keys = [key for key, count in self.times.items() if count == times]
            found.append((self.place.of_keys(keys), self._following[times]))
        return found


class Read:
    """A value that Python read while the function was recorded: the program depends on it.

    Attributes:
        number: the variable.
        value: what it was.
        line: where it was read.
    """

    def __init__(self, number: int, value: Any, line: str) -> None:
        self.number = number
        self.value = value
        self.line = line

    def __repr__(self) -> str:
        return f"a tensor's value was {np.asarray(self.value)} ({self.line})"
