"""Subject: a tensor-like under test, and how its results are held against plain ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..imperative import Carrier, RawTensor, Tracer, stop_gradient
from ..imperative.levels import unwrapped
from .agreement import differ


class Passing(Carrier):
    """The other tensor-like that the one under test meets: it adds nothing."""


class Subject:
    """A tensor-like under test."""

    def __init__(
        self, cls: type, make: Callable[[Any], Any], value: Callable[[Any], Any], rtol: float | None
    ) -> None:
        self.cls = cls
        self.make = make
        self.value = value
        self.rtol = rtol
        self.around = type("Around", (Passing,), {}, above=cls)

    def array(self, y: Any) -> Any:
        """The elements under everything that may be around them."""
        y = stop_gradient(y)
        while not isinstance(y, RawTensor):
            y = unwrapped(y)
            if isinstance(y, self.cls):
                y = self.value(y)
            elif isinstance(y, Passing):
                y = y.value
            elif isinstance(y, Tracer):
                y = y.primal
            elif not isinstance(y, RawTensor):
                y = y.elements
        return np.asarray(y)

    def compare(self, found: Sequence[Any], wanted: Sequence[Any], rtol: float | None) -> None:
        """Holds results against plain ones: how many, shapes, dtypes, elements."""
        if len(found) != len(wanted):
            raise AssertionError(f"gave {len(found)} outputs; {len(wanted)} are right")
        for i, (y, right) in enumerate(zip(found, wanted, strict=True)):
            if (y is None) != (right is None):
                raise AssertionError(f"output {i}: got {y!r} where {right!r} is right")
            if y is None:
                continue
            expected = np.asarray(right)
            if (tuple(y.shape), y.dtype.name) != (expected.shape, expected.dtype.name):
                raise AssertionError(
                    f"output {i}: says {y.dtype.name}{tuple(y.shape)}; "
                    f"{expected.dtype.name}{expected.shape} is right"
                )
            got = self.array(y)
            if self.rtol is None:
                text = "" if got.shape == expected.shape else f"elements of shape {got.shape}"
            elif max(self.rtol, rtol or 0.0) == 0.0:
                same = np.array_equal(got, expected, equal_nan=got.dtype.kind in "fc")
                text = "" if same else differ(got, expected, 0.0) or "elements differ"
            else:
                text = differ(got, expected, max(self.rtol, rtol or 0.0))
            if text:
                raise AssertionError(f"output {i}: {text}")

    def all_are(self, found: Sequence[Any], kind: type | None = None) -> None:
        """Whether the results are of the kind under test, in wrappers or not."""
        for i, y in enumerate(found):
            inner = y if kind is None else getattr(y, "__wrapped__", None)
            if type(inner) is not self.cls:
                is_bare = inner is None or inner is y
                got = type(y).__name__ if is_bare else f"Tensor of a {type(inner).__name__}"
                raise AssertionError(f"output {i}: is a {got}, not a {self.cls.__name__}")
