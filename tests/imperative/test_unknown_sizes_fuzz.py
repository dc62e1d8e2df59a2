"""Random chains of calls with an unknown size: what is recorded gives what plain calls give, or
refuses; it is never another value."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.unknown_sizes import MISTAKES

import tensorlike as tl
import tensorlike.functional as F


def column(x: Any) -> Any:
    """The numbers of rows, to be added to them."""
    return F.reshape(F.arange(x.shape[0]) * 1.0, (x.shape[0], *[1] * (x.ndim - 1)))


STEPS: list[Callable[[Any, random.Random], Any]] = [
    lambda x, _: F.sin(x),
    lambda x, _: x * x + 1,
    lambda x, _: F.reshape(x, (-1, x.shape[-1])),
    lambda x, _: F.concat([x, x], axis=0),
    lambda x, chance: x[: chance.randrange(1, 4)],
    lambda x, chance: x[chance.randrange(2) :],
    lambda x, _: x[::2],
    lambda x, _: F.flip(x, axis=0),
    lambda x, _: x / x.shape[0],
    lambda x, _: x - F.mean(x, axis=0),
    lambda x, _: F.softmax(x, axis=0),
    lambda x, _: F.permute_dims(x, tuple(reversed(range(x.ndim)))),
    lambda x, _: F.reshape(x, (x.size,)),
    lambda x, _: F.expand_dims(x, axis=0) if x.ndim < 3 else F.sum(x, axis=0),
    lambda x, _: F.cumulative_sum(x, axis=0),
    lambda x, _: F.matmul(x, F.permute_dims(x, (1, 0))) if x.ndim == 2 else x,
    lambda x, _: F.broadcast_to(F.sum(x, axis=0, keepdims=True), x.shape),
    lambda x, _: F.tile(x, (2, *[1] * (x.ndim - 1))),
    lambda x, _: F.pad(x, ((1, 1), *[(0, 0)] * (x.ndim - 1))),
    lambda x, _: x + tl.zeros(x.shape) + column(x),
    lambda x, _: F.var(x, axis=0, keepdims=True) * x,
    lambda x, _: F.where(x > 0, x, 0.0),
    lambda x, _: F.stack([x, x], axis=0) if x.ndim < 3 else x,
    lambda x, _: tl.vmap(lambda row: F.sum(row) * row)(x),
    lambda x, _: F.sort(x, axis=0),
]


def chain(seed: int) -> Callable[[Any], Any]:
    chance = random.Random(seed)
    plan = [(chance.choice(STEPS), chance.random()) for _ in range(chance.randrange(2, 7))]

    def call(x: Any) -> Any:
        for step, number in plan:
            x = step(x, random.Random(number)) if x.ndim else x
        return x

    return call


def compared(call: Callable[[Any], Any]) -> int:
    """How many sizes the program ran for, with the values of plain calls."""
    listing = tl.Listing()
    try:
        result = call(tl.Tensor(listing.input("x", (None, 3))))
    except MISTAKES:
        return 0
    count = 0
    for size in (1, 2, 4, 7):
        x = np.random.default_rng(size).normal(size=(size, 3)).astype(np.float32)
        try:
            found = listing.run(result, x)
        except MISTAKES:
            continue
        wanted = np.asarray(call(tl.tensor(x)))
        np.testing.assert_allclose(np.asarray(found), wanted, 2e-3, 1e-4, strict=True)
        count += 1
    return count


@pytest.mark.parametrize("part", range(5))
def test_random_chains_are_never_another_value(part: int) -> None:
    counts = []
    for seed in range(part * 50, part * 50 + 50):
        call = chain(seed)
        counts.append(compared(call))
        counts.append(
            compared(lambda x, f=call: tl.grad(lambda y: F.sum(F.sin(f(y))))(x))  # type: ignore[misc]
        )
    assert np.mean(counts) > 3  # of four sizes
