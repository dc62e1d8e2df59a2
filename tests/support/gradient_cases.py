"""Calls of every declared function where it is smooth, for the tests of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Category, Entry, is_differentiable

from .cases import TESTED_BY_INDEXING, Case, cases_of
from .declarations import (
    OPS,
    REDUCTIONS,
    SCALARS,
    UNKNOWN_SLOPES,
    Array,
    function_of,
)
from .oracle import EXACT, tuple_of

# Magnitudes, and whether both signs occur: the first for which the oracle finds no NaN is taken.
RANGES = [(0.4, 1.6, True), (0.1, 0.9, True), (0.2, 0.9, False), (1.2, 2.0, False)]
SHAPES = [(3, 4), (4,), (3, 1), ()]


def in_the_domain(entry: Entry, shapes: list[tuple[int, ...]], seed: int) -> list[Array]:
    for low, high, has_both_signs in RANGES:
        rng = np.random.default_rng(seed)
        signs = [-1.0, 1.0] if has_both_signs else [1.0]
        drawn = [
            np.asarray(rng.uniform(low, high, shape) * rng.choice(signs, shape)) for shape in shapes
        ]
        inputs = [
            {0: x > np.median(x), 1: np.asarray(x * 10, dtype=np.int64), 2: x}[
                min(arg.category.rank, 2)
            ]
            for arg, x in zip(entry.args, drawn, strict=True)
        ]
        if all(np.isfinite(part).all() for part in tuple_of(EXACT.call(entry.name, *inputs))):
            return inputs
    raise AssertionError(f"{entry.name} has no smooth range among {RANGES}")


def gradient_cases() -> list[Case]:
    cases = []
    unknown = {name for name, _ in UNKNOWN_SLOPES}  # the others: tests/opdecl/test_derivative.py
    for entry in SCALARS:
        if entry.name in unknown:
            continue
        count = len(entry.args)
        # Each argument broadcasts in one of the cases.
        turns = range(min(count, 4) if count > 1 else 1)
        for turn in turns:
            shapes = [SHAPES[(i + turn) % 4] for i in range(count)]
            cases.append(Case(entry, tuple(in_the_domain(entry, shapes, turn))))
    for entry in REDUCTIONS:
        inputs = tuple(in_the_domain(entry, [(3, 4, 2)], 5))
        for attrs in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}):
            if not (entry.is_native and isinstance(attrs.get("axis"), tuple)):
                cases.append(Case(entry, inputs, attrs))
    for entry in OPS:
        if entry.args and entry.function not in TESTED_BY_INDEXING:
            found = [case for case in cases_of(entry, "float64") if _size(case) < 100]
            cases += [_in_float64(case) for case in found]
    return cases


def _size(case: Case) -> int:
    return sum(x.size for x in case.inputs)


def _in_float64(case: Case) -> Case:
    inputs = tuple(
        x.astype(np.float64) if category_of(case.entry, i).rank >= 2 else x
        for i, x in enumerate(case.inputs)
    )
    return Case(case.entry, inputs, case.attrs)


def category_of(entry: Entry, position: int) -> Category:
    return entry.args[min(position, len(entry.args) - 1)].category


def has_gradient(case: Case, position: int) -> bool:
    """Whether the declaration lets a gradient flow to this input."""
    entry = case.entry
    if not is_differentiable(entry) or category_of(entry, position).rank < 2:
        return False
    arg = entry.args[min(position, len(entry.args) - 1)].name
    if arg in entry.unknown_slopes:
        return False
    rules = dict(entry.grad.rules) if entry.grad is not None else {}
    return rules.get(arg, "derived") is not None and chosen_dtype(case) in ("", "float64")


def chosen_dtype(case: Case) -> str:
    """The dtype that an attribute chooses, or nothing."""
    dtype = case.attrs.get("dtype", "")
    return getattr(dtype, "name", dtype)


CASES = gradient_cases()
FLOWING = [(c, i) for c in CASES for i in range(len(c.inputs)) if has_gradient(c, i)]
STOPPED = [
    (case, i)
    for case in CASES
    for i in range(len(case.inputs))
    if not has_gradient(case, i)
    and category_of(case.entry, i).rank >= 2
    and chosen_dtype(case) != "float32"
]


def as_real(y: Any) -> Any:
    """A number of both parts, where there are two."""
    is_complex = y.dtype.kind == "complex"
    return tl.functional.real(y) + 2 * tl.functional.imag(y) if is_complex else y


def loss_of(case: Case, seed: int = 3) -> Callable[..., Any]:
    """The sum of the outputs, each multiplied by a random constant."""
    rng = np.random.default_rng(seed)
    weights = [tl.tensor(np.asarray(rng.normal(size=y.shape))) for y in case.call()]

    def loss(*xs: Any) -> Any:
        out = function_of(case.entry)(*xs, **case.attrs)
        outputs = out if isinstance(out, tuple) else (out,)
        terms = [tl.functional.sum(as_real(y) * w) for y, w in zip(outputs, weights, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    return loss


def directions(case: Case) -> list[Array]:
    rng = np.random.default_rng(17)
    return [np.asarray(rng.normal(size=x.shape)) for x in case.inputs]
