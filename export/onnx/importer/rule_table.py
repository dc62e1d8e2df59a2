"""The table of rules: what ops of ONNX mean that no body can say, by the names entries use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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
