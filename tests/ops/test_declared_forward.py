"""Every declared function: forward mode, which nobody writes, against the gradients.

The dot-product test: moving x along t moves the loss by <gradient, t>, and by <w, tangent of y>.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.complex_cases import COMPLEX_CASES, flows
from support.declarations import Array, function_of
from support.gradient_cases import (
    CASES,
    FLOWING,
    chosen_dtype,
    directions,
    has_gradient,
    loss_of,
)

import tensorlike as tl

SMOOTH = list({id(case): case for case, _ in FLOWING}.values())
STEP = 1e-5


def moving(case: Case) -> list[int]:
    return [i for i in range(len(case.inputs)) if has_gradient(case, i)]


def outputs_of(case: Case, xs: Any) -> tuple[Any, ...]:
    out = function_of(case.entry)(*xs, **case.attrs)
    return out if isinstance(out, tuple) else (out,)


def push(case: Case, along: list[Array | None]) -> tuple[Any, Any]:
    xs = tuple(tl.tensor(x) for x in case.inputs)
    tangents = tuple(None if t is None else tl.tensor(np.asarray(t)) for t in along)
    return tl.jvp(lambda *xs: outputs_of(case, xs), xs, tangents)


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_tangents_and_gradients_agree(case: Case) -> None:
    chosen = moving(case)
    drawn = directions(case)
    along = [drawn[i] if i in chosen else None for i in range(len(drawn))]
    values, tangents = push(case, along)
    for y, plain, dy in zip(values, case.call(), tangents, strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(plain), rtol=1e-12, atol=1e-14)
        if dy is not None:
            assert (dy.shape, dy.dtype) == (y.shape, y.dtype)
    loss = loss_of(case)
    xs = [tl.tensor(x) for x in case.inputs]
    gradients = tl.grad(loss, argnums=tuple(chosen))(*xs)
    wanted = sum(
        float(np.sum(np.asarray(g) * along[i])) for g, i in zip(gradients, chosen, strict=True)
    )
    rng = np.random.default_rng(3)  # the weights of the loss
    found = 0.0
    for y, dy in zip(values, tangents, strict=True):
        weight = np.asarray(rng.normal(size=y.shape))
        if dy is None:
            continue
        moved = np.asarray(dy)
        moved = moved.real + 2 * moved.imag if moved.dtype.kind == "c" else moved
        found += float(np.sum(weight * moved))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_tangents_of_single_arguments_add_up(case: Case) -> None:
    chosen = moving(case)
    drawn = directions(case)
    if len(chosen) < 2:
        pytest.skip("one argument moves")
    both = push(case, [drawn[i] if i in chosen else None for i in range(len(drawn))])[1]
    single = [push(case, [drawn[i] if i == j else None for i in range(len(drawn))])[1]
              for j in chosen]  # fmt: skip
    for k, dy in enumerate(both):
        if dy is not None:
            total = sum(np.asarray(one[k]) for one in single)
            np.testing.assert_allclose(np.asarray(dy), total, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_tangents_of_gradients_are_those_of_differences(case: Case) -> None:
    """Forward over reverse: the Hessian times a vector."""
    chosen = moving(case)
    drawn = directions(case)
    xs = [np.asarray(x) for x in case.inputs]
    slope = tl.grad(loss_of(case), argnums=tuple(chosen))

    def at(shift: float) -> list[Array]:
        moved = [x + shift * t if i in chosen else x
                 for i, (x, t) in enumerate(zip(xs, drawn, strict=True))]  # fmt: skip
        return [np.asarray(g) for g in slope(*(tl.tensor(np.asarray(x)) for x in moved))]

    tangents = tuple(tl.tensor(t) if i in chosen else None for i, t in enumerate(drawn))
    _, found = tl.jvp(slope, tuple(tl.tensor(x) for x in xs), tangents)
    for got, after, before in zip(found, at(STEP), at(-STEP), strict=True):
        wanted = (after - before) / (2 * STEP)
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "case", [c for c in CASES if not moving(c) and chosen_dtype(c) == ""], ids=str
)
def test_what_is_not_differentiable_does_not_move(case: Case) -> None:
    along = [d if x.dtype.kind == "f" else None
             for x, d in zip(case.inputs, directions(case), strict=True)]  # fmt: skip
    for dy in push(case, along)[1]:
        assert dy is None or not np.asarray(dy).any()


def complex_direction(x: Array, rng: np.random.Generator) -> Array:
    along = rng.normal(size=x.shape)
    return np.asarray(along + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else along)


@pytest.mark.parametrize(
    "case", [c for c in COMPLEX_CASES if any(flows(c, i) for i in range(len(c.inputs)))], ids=str
)
def test_tangents_and_gradients_of_complex_numbers_agree(case: Case) -> None:
    """Under the real part of <gradient, t>: cotangents are the adjoints of tangents."""
    rng = np.random.default_rng(5)
    along = [
        complex_direction(x, rng) if flows(case, i) else None for i, x in enumerate(case.inputs)
    ]
    values, tangents = push(case, along)
    weights = [complex_direction(np.asarray(y), rng) for y in values]

    def loss(*xs: Any) -> Any:
        terms = [
            tl.sum(tl.functional.real(y * tl.tensor(np.conj(w))))
            for y, w in zip(outputs_of(case, xs), weights, strict=True)
        ]
        return sum(terms[1:], terms[0])

    chosen = tuple(i for i, t in enumerate(along) if t is not None)
    gradients = tl.grad(loss, argnums=chosen)(*(tl.tensor(x) for x in case.inputs))
    wanted = sum(
        float(np.sum(np.conj(np.asarray(g)) * along[i]).real)
        for g, i in zip(gradients, chosen, strict=True)
    )
    found = sum(
        float(np.sum(np.conj(w) * np.asarray(dy)).real)
        for w, dy in zip(weights, tangents, strict=True)
        if dy is not None
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
