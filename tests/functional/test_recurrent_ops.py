"""A recurrence over a sequence: what tables cannot say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

RNG = np.random.default_rng(0)
LENGTH, BATCH, SIZE = 4, 3, 2
SHAPES = [(LENGTH, BATCH, 4 * SIZE), (4 * SIZE, SIZE), (BATCH, SIZE), (BATCH, SIZE)]


def tensors(shapes: list[tuple[int, ...]]) -> list[Any]:
    return [tl.tensor(RNG.normal(size=shape)) for shape in shapes]


def by_steps(sums: Any, weight: Any, hidden: Any, cell: Any, *, reverse: bool = False) -> Any:
    """The same in calls of other ops."""
    states, cells, gates = {}, {}, {}
    for time in range(sums.shape[0])[:: -1 if reverse else 1]:
        gates[time] = sums[time] + F.matmul(hidden, F.permute_dims(weight, axes=(1, 0)))
        hidden, cell = F.lstm_cell(*F.split(gates[time], (weight.shape[1],) * 4, axis=1), cell)
        states[time], cells[time] = hidden, cell
    return tuple(F.stack([part[t] for t in sorted(part)]) for part in (states, cells, gates))


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_every_order_are_those_of_the_steps(reverse: bool) -> None:
    inputs = tensors(SHAPES)
    weights = tensors([(LENGTH, BATCH, SIZE)] * 2 + [(LENGTH, BATCH, 4 * SIZE)])

    def loss_by(function: Callable[..., Any]) -> Callable[..., Any]:
        def loss(*xs: Any) -> Any:
            parts = function(*xs, reverse=reverse)
            terms = [F.sum(y * w) for y, w in zip(parts, weights, strict=True)]
            return terms[0] + terms[1] + terms[2]

        return loss

    def steepness_by(function: Callable[..., Any]) -> Callable[..., Any]:
        def steepness(*xs: Any) -> Any:
            slopes = tl.grad(loss_by(function), argnums=(0, 1, 2, 3))(*xs)
            terms = [F.sum(slope * slope) for slope in slopes]
            return terms[0] + terms[1] + terms[2] + terms[3]

        return steepness

    for make in (loss_by, steepness_by):
        found = tl.grad(make(F.lstm), argnums=(0, 1, 2, 3))(*inputs)
        wanted = tl.grad(make(by_steps), argnums=(0, 1, 2, 3))(*inputs)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-10, 1e-12)


def run_of_a_batch() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    shapes = [(5, 61, 4 * 70), (4 * 70, 70), (61, 70), (61, 70)]
    xs = [tl.tensor(rng.normal(size=s).astype(np.float32), requires_grad=True) for s in shapes]
    states, cells, _ = F.lstm(*xs)
    F.sum(states * cells).backward()
    return [np.asarray(t.detach()) for t in (states, cells, *(x.grad for x in xs))]


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    before = tl.num_threads()
    try:
        runs = []
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            runs.append(run_of_a_batch())
    finally:
        tl.set_num_threads(before)
    for other in runs[1:]:
        for a, b in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_views_that_lie_out_of_order_and_mixed_dtypes() -> None:
    sums, weight, hidden, cell = (RNG.normal(size=s).astype(np.float32) for s in SHAPES)
    plain = F.lstm(*map(tl.tensor, (sums, weight, hidden, cell)))
    turned = F.lstm(
        F.permute_dims(tl.tensor(sums.transpose(2, 0, 1).copy()), axes=(1, 2, 0)),
        F.permute_dims(tl.tensor(weight.T.copy()), axes=(1, 0)),
        tl.tensor(hidden.astype(np.float64)),
        tl.tensor(cell),
    )
    assert all(y.dtype == tl.float64 for y in turned)
    for a, b in zip(plain, turned, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("changed", "shape", "pattern"),
    [
        (0, (BATCH, 8), r"LSTM: sums must have the shape \(length, batch, 4 \* hidden size\)"),
        (0, (LENGTH, BATCH, 7), r"LSTM: sums.shape must be \(4, 3, 8\), .*; got \(4, 3, 7\)"),
        (1, (8, 3), r"LSTM: weight.shape must be \(8, 2\), .*; got \(8, 3\)"),
        (2, (SIZE,), r"LSTM: hidden must have the shape \(batch, hidden size\)"),
        (3, (BATCH + 1, SIZE), r"LSTM: cell.shape must be \(3, 2\), as hidden; got \(4, 2\)"),
    ],
)
def test_wrong_shapes_are_told(changed: int, shape: tuple[int, ...], pattern: str) -> None:
    shapes = list(SHAPES)
    shapes[changed] = shape
    with pytest.raises(tl.ShapeError, match=pattern):
        F.lstm(*tensors(shapes))


def test_complex_numbers_are_refused() -> None:
    xs = tensors(SHAPES)
    with pytest.raises(tl.DTypeError, match=r"LSTM: .*weight"):
        F.lstm(xs[0], tl.tensor(np.ones((8, 2), np.complex64)), xs[2], xs[3])
