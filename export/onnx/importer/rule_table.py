"""The table of rules: what ops of ONNX mean that no body can say, by the names entries use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .... import _C

MOST_PLACES = 2**26  # what rules work out with NumPy, of which tensors know nothing
RULES: dict[str, Callable[..., Any]] = {}
F = TypeVar("F", bound=Callable[..., Any])


def rule(function: F) -> F:
    """Adds a function to the table under its name.

    It takes inputs and attributes by their names, and gives a value, or a tuple of several; a list
    is one value, a sequence. One that has a parameter `outputs` is told how many the node has.
    """
    assert function.__name__ not in RULES, f"{function.__name__} is a rule already"
    RULES[function.__name__] = function
    return function


def bounded(op: str, *sizes: int) -> None:
    """Raises before a rule works out more than memory is to be had for.

    Raises:
        ShapeError: the sizes are more than `MOST_PLACES` together.
    """
    total = 1
    for size in sizes:
        total *= max(int(size), 1)
    if total > MOST_PLACES:
        raise _C.ShapeError(
            f"must have at most {MOST_PLACES} places to work out", op=op, got=f"{total}"
        )
