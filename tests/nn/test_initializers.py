"""Initialisers: bounds, variances and fans; and `Layer.initialize`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import nn
from tensorlike.nn import initializers as init

SHAPE = (300, 400)


@pytest.mark.parametrize(
    ("initializer", "mean", "std", "bound"),
    [
        (init.Constant(0.5), 0.5, 0.0, 0.5),
        (init.Uniform(-2, 1), -0.5, 3 / math.sqrt(12), 2.0),
        (init.Normal(1.0, 0.1), 1.0, 0.1, 2.0),
        (init.TruncatedNormal(0.0, 0.5), 0.0, 0.5 * 0.8796, 1.0),
        (init.XavierUniform(), 0.0, math.sqrt(2 / 700), math.sqrt(6 / 700)),
        (init.XavierNormal(2.0), 0.0, 2 * math.sqrt(2 / 700), 1.0),
        (init.KaimingUniform(), 0.0, math.sqrt(2 / 300), math.sqrt(6 / 300)),
        (init.KaimingNormal(1.0), 0.0, 1 / math.sqrt(300), 1.0),
    ],
)
def test_moments_and_bounds(initializer: Any, mean: float, std: float, bound: float) -> None:
    tl.manual_seed(0)
    array = initializer(SHAPE).numpy()
    assert array.shape == SHAPE and array.dtype == np.float32
    assert abs(array.mean() - mean) < 5 * max(std, 1e-6) / math.sqrt(array.size)
    assert array.std() == pytest.approx(std, rel=0.02, abs=1e-6)
    assert np.abs(array).max() <= bound * (1 + 1e-6)
    tl.manual_seed(0)
    np.testing.assert_array_equal(initializer(SHAPE).numpy(), array)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (8, 2, 3, 3), (2, 3, 3)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    flat = init.Orthogonal(2.0)(shape).numpy().reshape(shape[0], -1)
    few = flat if flat.shape[0] <= flat.shape[1] else flat.T
    np.testing.assert_allclose(few @ few.T, 4 * np.eye(len(few)), atol=1e-5)


def test_fans_of_convolutions_count_the_window() -> None:
    assert init.fans((16, 8, 3, 5)) == (8 * 15, 16 * 15)
    with pytest.raises(tl.ShapeError, match="two dimensions or more"):
        init.XavierNormal()((3,))
    assert init.KaimingUniform()((0, 3)).shape == (0, 3)


def test_a_model_is_initialised_by_the_last_parts_of_names() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    before = model[0].weight
    assert model.initialize(weight=init.Constant(2.0), bias=np.ones) is model
    assert model[0].weight is before and before.requires_grad
    assert model[1].bias.tolist() == [1.0] and model[1].weight.tolist() == [[2.0]] * 3
    with pytest.raises(KeyError, match="wait"):
        model.initialize(weight=init.Constant(7.0), wait=init.Constant(0))
    assert model[1].weight.tolist() == [[2.0]] * 3
    with pytest.raises(tl.ShapeError):
        model.initialize(bias=lambda shape: np.zeros(7))


def test_a_sequential_is_a_sequence() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(model) == 3 and [type(part).__name__ for part in model][1] == "ReLU"
    assert model[-1] is list(model)[2] and model[:2](tl.zeros((1, 2))).shape == (1, 3)
    assert model[:2][0] is model[0]
    with pytest.raises(IndexError):
        model[3]
