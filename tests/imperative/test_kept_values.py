"""What a tape keeps for gradients: no more than the rules read of inputs that gradients flow to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.gradient_cases import FLOWING, loss_of

import tensorlike as tl
from tensorlike import functional as F

SIZE = 30_000  # float32: too few for operators of one line to run as one program
POSITIONS: dict[int, list[int]] = defaultdict(list)
for _case, _position in FLOWING:
    POSITIONS[id(_case)].append(_position)


@pytest.mark.parametrize(("case", "position"), FLOWING, ids=str)
def test_constants_beside_it_change_no_bit_of_a_gradient(case: Case, position: int) -> None:
    tensors = [tl.tensor(x) for x in case.inputs]
    (alone,) = tl.grad(loss_of(case), argnums=(position,))(*tensors)
    positions = POSITIONS[id(case)]
    together = tl.grad(loss_of(case), argnums=tuple(positions))(*tensors)
    np.testing.assert_array_equal(alone.numpy(), together[positions.index(position)].numpy())


def buffers_of(run: Callable[[Any, Any], Any], *, is_learnt: bool) -> int:
    """How many results stay in memory while that of a computation does."""
    x = tl.tensor(np.full(SIZE, 0.5, np.float32), requires_grad=True)
    c = tl.tensor(np.full(SIZE, 1.5, np.float32), requires_grad=is_learnt)
    tl.memory.empty_cache()  # a block of what was there before may be larger than what is asked for
    before = tl.memory.stats()["allocated"]
    result = run(x, c)
    kept = tl.memory.stats()["allocated"] - before
    result.sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    return round(kept / (4 * SIZE))


@pytest.mark.parametrize(
    ("run", "beside_a_constant", "beside_a_parameter"),
    [
        (lambda x, c: ((x * c) * c) * c, 1, 3),
        (lambda x, c: ((x + c) * c) + c, 1, 2),
        (lambda x, c: F.exp(x * c) * c, 2, 2),
        (lambda x, c: (x / c) / c, 1, 2),
        (lambda x, c: (x * c) * (x * c), 3, 3),
    ],
)
def test_values_that_only_slopes_of_constants_read_are_let_go(
    run: Callable[[Any, Any], Any], beside_a_constant: int, beside_a_parameter: int
) -> None:
    assert buffers_of(run, is_learnt=False) == beside_a_constant
    assert buffers_of(run, is_learnt=True) == beside_a_parameter


def test_derivatives_of_gradients_need_no_constants_slope() -> None:
    x, c = tl.tensor([0.5, 2.0], requires_grad=True), tl.tensor([3.0, 4.0])
    (first,) = tl.autograd.grad((x * c * x).sum(), [x], create_graph=True)
    np.testing.assert_array_equal(first.detach().numpy(), [3.0, 16.0])
    (second,) = tl.autograd.grad(first.sum(), [x])
    np.testing.assert_array_equal(second.numpy(), [6.0, 8.0])


def test_sums_of_cotangents_leave_what_others_hold_as_it_is() -> None:
    """They are added in the memory of one of them where the pass alone has it."""
    x = tl.tensor(np.full(SIZE, 2.0, np.float32), requires_grad=True)
    given = tl.tensor(np.full(SIZE, 3.0, np.float32))
    seen: list[Any] = []
    a, b = x * 1.0, x * 2.0
    for part in (a, b):
        part.register_hook(seen.append)
    y = a + b + a + F.reshape(b, (SIZE, 1))[:, 0] + x + a
    y.backward(given)
    assert x.grad.numpy().tolist() == [3.0 * 8] * SIZE
    assert given.numpy().tolist() == [3.0] * SIZE
    assert sorted(g.numpy()[0] for g in seen) == [6.0, 9.0]
    assert all((g.numpy() == g.numpy()[0]).all() for g in seen)
