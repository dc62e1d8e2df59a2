"""LSTM and GRU against the formulas, written with NumPy; gradients against differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

Array = np.ndarray[Any, Any]
LENGTH, BATCH, COLUMNS, HIDDEN = 5, 3, 4, 6


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm_step(x: Array, h: Array, c: Array, w: Mapping[str, Array], end: str) -> tuple[Array, ...]:
    sums = x @ w[f"weight_ih_{end}"].T + h @ w[f"weight_hh_{end}"].T
    sums = sums + w.get(f"bias_ih_{end}", 0) + w.get(f"bias_hh_{end}", 0)
    i, f, g, o = np.split(sums, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x: Array, h: Array, _: Array, w: Mapping[str, Array], end: str) -> tuple[Array, ...]:
    mine = x @ w[f"weight_ih_{end}"].T + w.get(f"bias_ih_{end}", 0)
    own = h @ w[f"weight_hh_{end}"].T + w.get(f"bias_hh_{end}", 0)
    r, z, n = np.split(mine, 3, axis=1)
    own_r, own_z, own_n = np.split(own, 3, axis=1)
    z = sigmoid(z + own_z)
    h = (1 - z) * np.tanh(n + sigmoid(r + own_r) * own_n) + z * h
    return h, h


STEPS = {nn.LSTM: lstm_step, nn.GRU: gru_step}


def reference(layer: Any, x: Array, states: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """The layer's formulas in float64: all hidden states, the last ones, the last cells."""
    weights = {name: value.astype(np.float64) for name, value in layer.state_dict().items()}
    lasts: list[tuple[Array, ...]] = []
    for index in range(layer.num_layers):
        ways = []
        for suffix in layer.suffixes:
            h, c = (part[len(lasts)] for part in states)
            steps = list(range(len(x)))[:: -1 if suffix else 1]
            seen = {}
            for t in steps:
                h, c = STEPS[type(layer)](x[t], h, c, weights, f"l{index}{suffix}")
                seen[t] = h
            ways.append(np.stack([seen[t] for t in range(len(x))]))
            lasts.append((h, c))
        x = np.concatenate(ways, axis=-1)
    return x, np.stack([h for h, _ in lasts]), np.stack([c for _, c in lasts])


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize(
    "options",
    [{}, {"num_layers": 2}, {"bias": False}, {"bidirectional": True, "num_layers": 2}],
    ids=str,
)
@pytest.mark.parametrize("has_start", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_a_layer_computes_its_formulas(
    kind: Any, options: dict[str, Any], has_start: bool, batch_first: bool
) -> None:
    layer = kind(COLUMNS, HIDDEN, batch_first=batch_first, seed=0, **options)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((LENGTH, BATCH, COLUMNS)).astype(np.float32)
    count = layer.num_layers * len(layer.suffixes)
    h, c = rng.standard_normal((2, count, BATCH, HIDDEN)).astype(np.float32) * has_start
    start = {nn.LSTM: (tl.tensor(h), tl.tensor(c)), nn.GRU: tl.tensor(h)}[kind]
    given = x.transpose(1, 0, 2) if batch_first else x
    y, last = layer(tl.tensor(given), start if has_start else None)
    wanted_y, wanted_h, wanted_c = reference(layer, x, (h, c))
    if batch_first:
        wanted_y = wanted_y.transpose(1, 0, 2)
    lasts = last if kind is nn.LSTM else (last,)
    for got, wanted in zip((y, *lasts), (wanted_y, wanted_h, wanted_c), strict=False):
        np.testing.assert_allclose(got.detach().numpy(), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("kind", STEPS)
def test_every_parameter_gets_the_gradient_that_differences_give(kind: Any) -> None:
    layer = kind(COLUMNS, HIDDEN, num_layers=2, seed=0)
    rng = np.random.default_rng(2)
    x = rng.standard_normal((LENGTH, BATCH, COLUMNS)).astype(np.float32)
    factors = rng.standard_normal((LENGTH, BATCH, HIDDEN)).astype(np.float32)
    y, _ = layer(tl.tensor(x))
    F.sum(y * tl.tensor(factors)).backward()
    zeros = np.zeros((2, BATCH, HIDDEN))
    start = {name: value.astype(np.float64) for name, value in layer.state_dict().items()}
    step = 1e-5

    for name, parameter in layer.named_parameters():
        direction = rng.standard_normal(parameter.shape)
        losses = []
        for sign in (1, -1):
            moved = {**start, name: start[name] + sign * step * direction}
            losses.append(loss_of(layer, moved, x, zeros, factors))
        wanted = (losses[0] - losses[1]) / (2 * step)
        got = float(np.sum(parameter.grad.numpy() * direction))
        assert got == pytest.approx(wanted, rel=1e-3, abs=1e-4), name


def loss_of(layer: Any, weights: dict[str, Array], x: Array, zeros: Array, factors: Array) -> float:
    """The loss at other weights, by the reference."""
    double: Any = type(layer).__new__(type(layer))
    double.num_layers, double.suffixes = layer.num_layers, layer.suffixes
    double.state_dict = lambda: weights
    y, _, _ = reference(double, x, (zeros, zeros))
    return float(np.sum(y * factors))


def test_parameters_have_the_names_and_shapes_that_saved_files_have() -> None:
    layer = nn.LSTM(3, 2, num_layers=2, bidirectional=True)
    shapes = {name: p.shape for name, p in layer.named_parameters()}
    assert shapes["weight_ih_l0"] == (8, 3)
    assert shapes["weight_hh_l1_reverse"] == (8, 2)
    assert shapes["weight_ih_l1"] == (8, 4)
    assert shapes["bias_hh_l0_reverse"] == (8,)
    assert len(shapes) == 16
    assert [name for name, _ in nn.GRU(3, 2, bias=False).named_parameters()] == [
        "weight_ih_l0",
        "weight_hh_l0",
    ]


def test_wrong_shapes_and_sizes_are_told() -> None:
    layer = nn.LSTM(4, 6, batch_first=True)
    with pytest.raises(ValueError, match=r"LSTM: sizes must be positive; got input_size=0"):
        nn.LSTM(0, 6)
    with pytest.raises(ValueError, match=r"LSTM: x must be \(batch, length, input_size\)"):
        layer(tl.tensor(np.zeros((2, 4), np.float32)))
    with pytest.raises(ValueError, match=r"input_size 4; got x.shape=\(2, 3, 5\)"):
        layer(tl.tensor(np.zeros((2, 3, 5), np.float32)))
    with pytest.raises(ValueError, match=r"length > 0"):
        layer(tl.tensor(np.zeros((2, 0, 4), np.float32)))
    state = tl.tensor(np.zeros((1, 3, 6), np.float32))
    with pytest.raises(ValueError, match=r"here \(1, 2, 6\); got \(1, 3, 6\), \(1, 3, 6\)"):
        layer(tl.tensor(np.zeros((2, 3, 4), np.float32)), (state, state))
