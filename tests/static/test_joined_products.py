"""The pass "products": products of a few rows by the same captured weights are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.static import CompiledProgram

STEPS, INNER, OUTER = 6, 256, 128
RNG = np.random.default_rng(0)
WEIGHT = tl.tensor(RNG.normal(size=(INNER, OUTER)) / 16).astype("float32")
BACK = tl.tensor(RNG.normal(size=(OUTER, INNER)) / 16).astype("float32")
SMALL = tl.tensor(RNG.normal(size=(INNER, 8)) / 16).astype("float32")
BIAS = tl.tensor(RNG.normal(size=OUTER)).astype("float32")
ROWS = tl.tensor(RNG.normal(size=(2, OUTER))).astype("float32")


def compiled(f: Callable[[Any], Any], x: Any) -> tuple[CompiledProgram, Any]:
    listing = tl.Listing()
    y = f(tl.Tensor(listing.input("x", x.shape, x.dtype)))
    return CompiledProgram(listing, ["dead_code", "cse", "products"]), y


def products_of(program: CompiledProgram, y: Any) -> int:
    text = program.text(y)
    return text.count("= MatMul") + text.count("= Linear")


def recurrence(x: Any) -> Any:
    """The products of the inputs need nothing of each other; those of the states do."""
    state = F.zeros((2, OUTER))
    for t in range(STEPS):
        own = F.linear(x[t], WEIGHT, BIAS)
        state = F.tanh(own + F.matmul(F.matmul(state, BACK), WEIGHT))
    return state


def apart(x: Any) -> Any:
    return F.stack([F.matmul(F.sin(x[t]) * t, WEIGHT) for t in range(STEPS)])


def of_different_rows(x: Any) -> Any:
    parts = [x[0], F.concat([x[1], x[2]]), x[3][:1]]
    return F.concat([F.matmul(part, WEIGHT) for part in parts])


def results(x: Any) -> Any:
    return [F.matmul(x[t], WEIGHT) for t in range(3)]


X = tl.tensor(RNG.normal(size=(STEPS, 2, INNER))).astype("float32")


def leaves(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]


JOINED: dict[str, tuple[Callable[[Any], Any], int]] = {
    # Those of the states, of which the first are 0, wait for each other.
    "a recurrence": (recurrence, 2 * STEPS - 1),
    "apart": (apart, 1),
    "of different rows": (of_different_rows, 1),
    "results": (results, 1),
}


@pytest.mark.parametrize("name", JOINED)
def test_products_by_the_same_weights_are_one(name: str) -> None:
    f, count = JOINED[name]
    program, y = compiled(f, X)
    assert products_of(program, y) == count
    found, wanted = program.run(y, X), f(X)
    pairs = (
        zip(found, wanted, strict=True) if isinstance(found, (list, tuple)) else [(found, wanted)]
    )
    for one, other in pairs:
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-5)


def two(product: Callable[[Any], Any], other: Callable[[Any], Any] | None = None) -> Any:
    """Of two rows of the input, added."""
    return lambda x: product(x[0]) + (other or product)(x[1])


KEPT: dict[str, tuple[Callable[[Any], Any], int]] = {
    "one after the other": (lambda x: F.matmul(F.matmul(F.matmul(x[0], WEIGHT), BACK), WEIGHT), 3),
    "small weights": (two(lambda x: F.matmul(x, SMALL)), 2),
    "many rows": (two(lambda x: F.matmul(F.tile(x, (20, 1)), WEIGHT)), 2),
    "another number for each row": (two(lambda x: F.linear(x, WEIGHT, ROWS)), 2),
    "other functions": (
        two(lambda x: F.linear(x, WEIGHT, BIAS), lambda x: F.tanh(F.matmul(x, WEIGHT))),
        2,
    ),
    "weights that are given": (lambda x: F.matmul(x[0], x[2].T) + F.matmul(x[1], x[2].T), 2),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_gains_nothing_or_would_be_another_stays(name: str) -> None:
    f, count = KEPT[name]
    program, y = compiled(f, X)
    assert products_of(program, y) == count
    np.testing.assert_array_equal(np.asarray(program.run(y, X)), np.asarray(f(X)))


def test_what_draws_is_not_moved() -> None:
    def f(x: Any) -> Any:
        first = F.matmul(x[0], WEIGHT)
        return first + F.matmul(F.dropout(x[1] + F.sum(first) * 0, p=0.5, seed=1), WEIGHT)

    program, y = compiled(f, X)
    assert products_of(program, y) == 2


def test_the_same_memory_seen_in_the_same_way_is_one_weight() -> None:
    def f(x: Any) -> Any:
        return F.stack([F.matmul(x[t], F.permute_dims(back, (1, 0))) for t in range(STEPS)])

    back = F.permute_dims(WEIGHT, (1, 0)) + 0
    listing = tl.Listing()
    y = f(tl.Tensor(listing.input("x", X.shape, X.dtype)))
    program = CompiledProgram(listing, ["fold", "cse", "products"])
    assert products_of(program, y) == 1
    np.testing.assert_allclose(np.asarray(program.run(y, X)), np.asarray(f(X)), atol=1e-5)


def test_gradients_go_through() -> None:
    listing = tl.Listing()
    y = apart(tl.Tensor(listing.input("x", X.shape, X.dtype)))
    program = CompiledProgram(listing, ["products"])

    def loss(f: Callable[[Any], Any]) -> Any:
        return tl.grad(lambda x: F.sum(F.sin(f(x))))(X)

    found = loss(lambda x: program.run(y, x))
    np.testing.assert_allclose(np.asarray(found), np.asarray(loss(apart)), rtol=1e-4, atol=1e-4)
