"""Ops of more arguments than a machine word has bits: which may be written over is told of 32."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.static import CompiledProgram

F = tl.functional


@pytest.mark.parametrize("count", [31, 32, 33, 40, 64, 65, 200])
@pytest.mark.parametrize("join", [F.stack, F.concat])
def test_an_op_of_many_arguments_that_a_run_lets_go_is_run(count: int, join: object) -> None:
    listing = tl.Listing()
    x = listing.input("x", (3, 4))
    parts = [F.exp(x * (i / count)) for i in range(count)]
    y = join([*parts])  # type: ignore[operator]
    again = y + F.sum(parts[-1])  # which is read once more, so that nobody may write over it
    given = tl.tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    wanted = join([F.exp(given * (i / count)) for i in range(count)])  # type: ignore[operator]
    total = wanted + F.sum(F.exp(given * ((count - 1) / count)))
    for found in (listing.run((y, again), given), CompiledProgram(listing).run((y, again), given)):
        np.testing.assert_array_equal(found[0], wanted)
        np.testing.assert_array_equal(found[1], total)


@pytest.mark.parametrize("count", [33, 64, 100])
def test_gradients_of_many_arguments_are_those_of_each(count: int) -> None:
    xs = [tl.tensor([float(i), 1.0], requires_grad=True) for i in range(count)]
    F.sum(F.stack(xs) * F.stack(xs)).backward()
    for i, x in enumerate(xs):
        assert x.grad is not None
        assert x.grad.tolist() == [2.0 * i, 2.0]
