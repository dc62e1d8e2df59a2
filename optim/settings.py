"""Settings of optimisers: numbers, which are checked, or tensors, which may have no elements."""

from __future__ import annotations

from collections.abc import Callable

from ..imperative import ArgumentError, TensorBase

# A number, or a tensor of one element, by which a step can be differentiated.
Number = float | TensorBase


def is_rate(number: float) -> bool:
    """Whether a moving average may go on by it."""
    return 0 <= number < 1


def is_used(number: Number) -> bool:
    """Whether it is not 0, as far as is known without its elements."""
    return isinstance(number, TensorBase) or number != 0


def check(
    owner: str, name: str, value: Number, holds: Callable[[float], bool], wanted: str
) -> None:
    """Raises for a number out of range; the elements of a tensor may not be at hand."""
    if not isinstance(value, TensorBase) and not holds(value):
        raise ArgumentError(f"must be {wanted}", op=owner, argument=name, got=f"{value}")
