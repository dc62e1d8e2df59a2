"""What a recording has met: tensors from outside, values that were read, numbers that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import _C
from ..imperative import Tensor
from ..imperative.levels import is_differentiated, stopped
from .places import CountPlace, TensorPlace
from .python_guards import Change
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

    def loses_leaf(self) -> bool:
        """Whether gradients would not accumulate in it any more, since it has got a history."""
        moves = self.is_differentiated and self.tensor.requires_grad
        return self.is_leaf and moves and not self.tensor.is_leaf

    def kind(self) -> tuple[bool, bool, bool] | None:
        """Of elements: whether they are on a tape, derivatives are wanted, it is a leaf.

        None: it was something else.
        """
        is_traced = isinstance(self.original, _C.Tracer)
        elements = stopped(self.original)
        is_nested = is_traced and isinstance(self.original.primal, _C.Tracer)
        has_history = is_traced and (self.original.is_leaf or self.original.op is not None)
        if type(elements) is not _C.RawTensor or (is_nested and not has_history):
            return None
        return is_traced, self.is_differentiated, self.is_leaf


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


def shown_elements(x: Any) -> str:
    """An array in a line, of a long one the beginning."""
    text = " ".join(str(np.asarray(x)).split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def same_elements(x: Any, expected: Any) -> bool:
    """Whether two arrays have the same bits, but for which NaN it is."""
    value = Tensor(stopped(x))._raw()
    if value.shape != expected.shape or value.dtype is not expected.dtype:
        return False
    a, b = np.asarray(value), np.asarray(expected)
    is_inexact = a.dtype.kind in "fc"
    return bool(np.array_equal(a, b, equal_nan=is_inexact))


class Reads:
    """The values that Python read while a function was recorded, in order.

    Attributes:
        known: they.
        first: which result of the program is the first of them.
    """

    def __init__(self, known: Sequence[Read], first: int) -> None:
        self.known = known
        self.first = first

    def __len__(self) -> int:
        return len(self.known)

    def __iter__(self) -> Iterator[Read]:
        return iter(self.known)

    def values(self, found: Sequence[Any]) -> list[Any]:
        """What they are in a run."""
        return [Tensor(stopped(y))._raw() for y in found[self.first :]]

    def agree(self, values: Sequence[Any]) -> bool:
        """Whether Python read these values first, as far as they are known.

        The same function on the same arguments reads the same variables up to the first that
        differs.
        """
        pairs = zip(values, self.known, strict=False)
        return len(values) <= len(self) and all(same_elements(x, r.value) for x, r in pairs)

    def differing(self, found: Sequence[Any]) -> int | None:
        """Which of them is another in a run; None: none is."""
        for index, read in enumerate(self.known):
            if not same_elements(found[self.first + index], read.value):
                return index
        return None

    def change(self, index: int, found: Sequence[Any]) -> Change:
        """What one has become in a run."""
        read = self.known[index]
        now = self.values(found)[index]
        return Change(
            "a tensor's value", read.line, shown_elements(read.value), shown_elements(now)
        )
