"""Calls of every declared function that takes complex numbers, for the tests of derivatives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorlike.opdecl.compiler.model import Entry, is_differentiable, takes_complex

from .cases import TESTED_BY_INDEXING, Case, cases_of
from .declarations import OPS, REDUCTIONS, SCALARS, Array

SHAPES = [(3, 4), (4,), (3, 1), ()]


def draw(shape: tuple[int, ...], is_complex: bool, rng: np.random.Generator) -> Array:
    """Away from zeros, poles and branch cuts of what is declared."""
    re = rng.uniform(0.4, 0.9, shape) * rng.choice([-1.0, 1.0], shape)
    im = rng.uniform(0.3, 0.8, shape) * rng.choice([-1.0, 1.0], shape)
    return np.asarray(re + 1j * im if is_complex else np.abs(re))


def may_be_complex(entry: Entry, position: int) -> bool:
    return entry.args[min(position, len(entry.args) - 1)].category.takes_complex


def with_complex_numbers(entry: Entry, shapes: list[tuple[int, ...]], real: int) -> Iterator[Array]:
    """Inputs; number `real` is real although it may be complex."""
    rng = np.random.default_rng(len(shapes) + real)
    for i, (arg, shape) in enumerate(zip(entry.args, shapes, strict=True)):
        if arg.category.rank == 0:
            yield rng.random(shape) < 0.5
        else:
            yield draw(shape, may_be_complex(entry, i) and i != real, rng)


def complex_cases() -> list[Case]:
    cases = []
    for entry in SCALARS:
        if not takes_complex(entry) or entry.result == "bool":
            continue
        count = len(entry.args)
        for turn in range(count if count > 1 else 1):
            shapes = [SHAPES[(i + turn) % 4] for i in range(count)]
            real = turn if count > 1 else -1
            cases.append(Case(entry, tuple(with_complex_numbers(entry, shapes, real))))
        cases.append(Case(entry, tuple(with_complex_numbers(entry, [(3,)] * count, -1))))
    for entry in REDUCTIONS:
        if is_differentiable(entry) and takes_complex(entry):
            inputs = tuple(with_complex_numbers(entry, [(3, 4, 2)], -1))
            for attrs in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}):
                cases.append(Case(entry, inputs, attrs))
    for entry in OPS:
        if entry.args and may_be_complex(entry, 0) and entry.function not in TESTED_BY_INDEXING:
            cases += [in_complex(case) for case in cases_of(entry, "float64") if fits(case)]
    return cases


def fits(case: Case) -> bool:
    """Small, and not about the order of numbers or another dtype."""
    is_small = sum(x.size for x in case.inputs) < 100
    return is_small and "dtype" not in case.attrs and has_complex_activation(case)


def has_complex_activation(case: Case) -> bool:
    return case.attrs.get("activation", "tanh") in ("tanh", "positive")


def in_complex(case: Case) -> Case:
    rng = np.random.default_rng(11)
    inputs = tuple(
        x.astype(np.float64) + 1j * rng.normal(size=x.shape)
        if may_be_complex(case.entry, i) and x.dtype.kind in "fi"
        else x
        for i, x in enumerate(case.inputs)
    )
    return Case(case.entry, inputs, case.attrs)


def flows(case: Case, position: int) -> bool:
    entry = case.entry
    if case.inputs[position].dtype.kind not in "fc":
        return False
    is_complex = any(x.dtype.kind == "c" for x in case.inputs)
    own = entry.complex_grad if entry.complex_grad is not None and is_complex else entry.grad
    return is_differentiable(entry) or (own is not None and own.kind == "rules")


COMPLEX_CASES = complex_cases()
COMPLEX_FLOWING = [
    (case, i) for case in COMPLEX_CASES for i in range(len(case.inputs)) if flows(case, i)
]
