"""Batches of calls of every declared function: the arguments of several examples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.opdecl.compiler.model import OpEntry

from .cases import TESTED_BY_INDEXING, Case, cases_of
from .declarations import OPS, REDUCTIONS, SCALARS, Array
from .gradient_cases import in_the_domain

COUNT = 3
FACTORS = (1.0, 1.25, 0.75)  # they keep signs, orders and definiteness
SHAPES = [(3, 4), (4,), (3, 1), ()]


def of_examples(x: Array) -> Array:
    """One example more or less as the other, but not the same."""
    if x.dtype.kind in "fc":
        return np.stack([np.asarray(x * factor, dtype=x.dtype) for factor in FACTORS])
    return np.stack([np.roll(x.ravel(), k).reshape(x.shape) for k in range(COUNT)])


def cases() -> Iterator[Case]:
    for entry in SCALARS:
        for turn in range(2 if len(entry.args) > 1 else 1):
            shapes = [SHAPES[(i + turn) % 4] for i in range(len(entry.args))]
            yield Case(entry, tuple(in_the_domain(entry, shapes, turn)))
    for entry in REDUCTIONS:
        inputs = tuple(in_the_domain(entry, [(3, 4, 2)], 5))
        for attrs in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": (0, -1)},
                      {"keepdims": True}):  # fmt: skip
            if not (entry.is_native and isinstance(attrs.get("axis"), tuple)):
                yield Case(entry, inputs, attrs)
        yield Case(entry, (inputs[0][0, 0, 0],))
    for entry in OPS:
        if entry.args and entry.function not in TESTED_BY_INDEXING:
            for case in cases_of(entry, "float64"):
                if sum(x.size for x in case.inputs) < 200:
                    yield case


def choices(count: int) -> list[tuple[bool, ...]]:
    """Which arguments have examples: all, and each one alone."""
    alone = [tuple(i == j for i in range(count)) for j in range(count)]
    return [(True,) * count, *(alone if count > 1 else [])]


CASES = list(cases())
CALLS = [(case, chosen) for case in CASES for chosen in choices(len(case.inputs))]


def is_random(case: Case) -> bool:
    return any(attr.name in ("key", "seed") for attr in case.entry.attrs)


def depends_on_elements(case: Case) -> bool:
    """Whether the shape of the result does."""
    return isinstance(case.entry, OpEntry) and case.entry.batch in ("none", "masked")
