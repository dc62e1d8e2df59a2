"""Values for attributes, right and wrong, by what the table of their types says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike.opdecl.compiler.attr_types import FORMS, AttrType

# What a call gives in each form.
GIVEN: dict[str, list[Any]] = {
    "none": [None],
    "bool": [True, False],
    "int": [3, -1, 0, np.int64(2)],
    "float": [0.5, -math.inf, np.float32(0.25)],
    "str": ["sum", "none"],
    "ints": [(0, 1), [2, 2, 2], ()],
    "dtype": [tl.float32, tl.bool_],
    "complex": [1j, np.complex128(1 - 2j)],
    "wide": [2**63, 2**64 - 1],
    "pairs": [((0, 0), (1, 1)), [[0, 1]]],
}
NONSENSE = [object(), {1: 2}, b"sum", len, [0.5], [None], ["a"], [object()]]


def is_taken(kind: AttrType, form: str) -> bool:
    """What has a fraction takes whole numbers, too."""
    return form in kind.takes or ("float" in kind.takes and form in ("int", "wide"))


def accepted(kind: AttrType) -> list[Any]:
    """All values of the forms that it takes; of words that name something the examples alone."""
    if kind.name in ("choice", "device"):
        return list(kind.examples)
    return [*kind.examples, *(v for form in FORMS if is_taken(kind, form) for v in GIVEN[form])]


def refused(kind: AttrType) -> list[Any]:
    """Values of forms that it does not take, and such as no type takes."""
    wrong = [v for form in FORMS if not is_taken(kind, form) for v in GIVEN[form]]
    return [*wrong, *NONSENSE, *(["no name"] if kind.name in ("choice", "device") else [])]
