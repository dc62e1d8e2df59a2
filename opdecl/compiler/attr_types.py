"""The types that attributes are declared to have, and what their defaults may be."""

from __future__ import annotations

from collections.abc import Callable


def is_int(value: object) -> bool:
    """Whether it is an integer, and no boolean."""
    return type(value) is int


def is_ints(value: object) -> bool:
    return isinstance(value, tuple)


# What a default may be: a test, and the words for a message.
ATTR_TYPES: dict[str, tuple[Callable[[object], bool], str]] = {
    "bool": (lambda value: value is None or isinstance(value, bool), "true, false or null"),
    "int": (is_int, "an integer"),
    "float": (lambda value: type(value) in (int, float), "a number"),
    "str": (lambda value: isinstance(value, str), "text"),
    "choice": (lambda value: isinstance(value, str), "one of its words"),
    "dtype": (lambda value: value is None, "null"),
    "device": (lambda value: value is None, "null"),
    "axis": (lambda value: value is None or is_int(value) or is_ints(value),
             "null, an integer or a list of integers"),
    "one_axis": (is_int, "an integer"),
    "axes": (lambda value: value is None or is_ints(value), "null or a list of integers"),
    "shape": (lambda value: value is None or is_ints(value), "null or a list of integers"),
    "sizes": (lambda value: value is None or is_ints(value), "null or a list of integers"),
    "widths": (is_ints, "a list of integers"),
    "permutation": (is_ints, "a list of integers"),
    "padding": (
        lambda value: isinstance(value, str) or is_ints(value), "a word or a list of integers"
    ),
    "scalar": (
        lambda value: value is None or isinstance(value, (bool, int, float)),
        "a number, a boolean or null",
    ),
    "index": (lambda value: value is None, "null"),
    "any": (lambda value: True, "anything"),
}  # fmt: skip
