"""A recurrence over a sequence: what tables cannot say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.threads import by_threads

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


def gru_by_steps(sums: Any, weight: Any, hidden: Any, bias: Any, *, reverse: bool = False) -> Any:
    size, states = weight.shape[1], {}
    for time in range(sums.shape[0])[:: -1 if reverse else 1]:
        own = F.matmul(hidden, F.permute_dims(weight, axes=(1, 0))) + bias
        theirs, mine = (F.split(part, (size,) * 3, axis=1) for part in (sums[time], own))
        reset, update = theirs[0] + mine[0], theirs[1] + mine[1]
        hidden = F.gru_cell(reset, update, theirs[2], mine[2], hidden)
        states[time] = hidden
    return (F.stack([states[t] for t in sorted(states)]),)


def rnn_by_steps(activation: str) -> Callable[..., Any]:
    def rnn(sums: Any, weight: Any, hidden: Any, *, reverse: bool = False) -> Any:
        states = {}
        for time in range(sums.shape[0])[:: -1 if reverse else 1]:
            hidden = F.rnn_cell(sums[time], weight, hidden, activation=activation)
            states[time] = hidden
        return (F.stack([states[t] for t in sorted(states)]),)

    return rnn


def alone(function: Callable[..., Any], **attrs: Any) -> Callable[..., Any]:
    return lambda *xs, **more: (function(*xs, **attrs, **more),)


GRU_SHAPES = [(LENGTH, BATCH, 3 * SIZE), (3 * SIZE, SIZE), (BATCH, SIZE), (3 * SIZE,)]
RNN_SHAPES = [(LENGTH, BATCH, SIZE), (SIZE, SIZE), (BATCH, SIZE)]
CELLS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[tuple[int, ...]]]] = {
    "lstm": (F.lstm, by_steps, SHAPES),
    "gru": (alone(F.gru), gru_by_steps, GRU_SHAPES),
    "tanh": (alone(F.rnn), rnn_by_steps("tanh"), RNN_SHAPES),
    "relu": (alone(F.rnn, activation="relu"), rnn_by_steps("relu"), RNN_SHAPES),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_derivatives_of_every_order_are_those_of_the_steps(cell: str, reverse: bool) -> None:
    ours, steps, shapes = CELLS[cell]
    inputs = tensors(shapes)
    every = tuple(range(len(inputs)))
    weights = [tl.tensor(RNG.normal(size=y.shape)) for y in ours(*inputs)]

    def loss_by(function: Callable[..., Any]) -> Callable[..., Any]:
        def loss(*xs: Any) -> Any:
            parts = function(*xs, reverse=reverse)
            return sum((F.sum(y * w) for y, w in zip(parts, weights, strict=True)), start=0)

        return loss

    def steepness_by(function: Callable[..., Any]) -> Callable[..., Any]:
        def steepness(*xs: Any) -> Any:
            slopes = tl.grad(loss_by(function), argnums=every)(*xs)
            return sum((F.sum(slope * slope) for slope in slopes), start=0)

        return steepness

    for make in (loss_by, steepness_by):
        found = tl.grad(make(ours), argnums=every)(*inputs)
        wanted = tl.grad(make(steps), argnums=every)(*inputs)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-10, 1e-12)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("mapped", [0, 1, 2, 3])
def test_examples_are_sequences_more(cell: str, mapped: int) -> None:
    ours, _, shapes = CELLS[cell]
    if mapped >= len(shapes):
        pytest.skip("the cell has no such input")
    inputs = tensors(shapes)
    inputs[mapped] = tl.tensor(RNG.normal(size=(3, *shapes[mapped])))
    axes = tuple(0 if i == mapped else None for i in range(len(inputs)))

    def slopes(*xs: Any) -> Any:
        return tl.grad(lambda *xs: F.sum(F.square(ours(*xs)[0])), argnums=(0, 1))(*xs)

    for function in (ours, slopes):
        together = tl.vmap(function, in_axes=axes)(*inputs)
        for i in range(3):
            one = [x[i] if j == mapped else x for j, x in enumerate(inputs)]
            for a, b in zip(together, function(*one), strict=True):
                np.testing.assert_allclose(np.asarray(a[i]), np.asarray(b), 1e-9, 1e-12)


def run_of_a_batch(cell: str) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    rows = {"lstm": 4, "gru": 3}.get(cell, 1) * 70
    last = {"lstm": [(61, 70)], "gru": [(rows,)]}.get(cell, [])
    shapes = [(5, 61, rows), (rows, 70), (61, 70), *last]
    xs = [tl.tensor(rng.normal(size=s).astype(np.float32), requires_grad=True) for s in shapes]
    states = CELLS[cell][0](*xs)[0]
    F.sum(states * states).backward()
    return [np.asarray(t.detach()) for t in (states, *(x.grad for x in xs))]


@pytest.mark.parametrize("cell", CELLS)
def test_the_number_of_threads_does_not_change_a_bit(cell: str) -> None:
    runs = by_threads(lambda: run_of_a_batch(cell))
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
        (0, (BATCH, 8), r"lstm: sums must have the shape \(length, batch, 4 \* hidden size\)"),
        (0, (LENGTH, BATCH, 7), r"lstm: sums.shape must be \(4, 3, 8\), .*; got \(4, 3, 7\)"),
        (1, (8, 3), r"lstm: weight.shape must be \(8, 2\), .*; got \(8, 3\)"),
        (2, (SIZE,), r"lstm: hidden must have the shape \(batch, hidden size\)"),
        (3, (BATCH + 1, SIZE), r"lstm: cell.shape must be \(3, 2\), as hidden; got \(4, 2\)"),
    ],
)
def test_wrong_shapes_are_told(changed: int, shape: tuple[int, ...], pattern: str) -> None:
    shapes = list(SHAPES)
    shapes[changed] = shape
    with pytest.raises(tl.ShapeError, match=pattern):
        F.lstm(*tensors(shapes))


def test_complex_numbers_are_refused() -> None:
    xs = tensors(SHAPES)
    with pytest.raises(tl.DTypeError, match=r"lstm: .*weight"):
        F.lstm(xs[0], tl.tensor(np.ones((8, 2), np.complex64)), xs[2], xs[3])
