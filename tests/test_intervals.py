"""Intervals of `examples/tensor_likes`: bounds are sound, and what has none is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.models import models
from support.tensor_likes import worked

import tensorlike as tl
import tensorlike.functional as F

MODELS = list(models())
RNG = np.random.default_rng(5)


def interval(low: Any, high: Any) -> Any:
    return tl.Tensor(worked("intervals").Interval(low, high))


def bounds(y: Any) -> Any:
    return tl.stop_gradient(y).__wrapped__


def assert_sound(function: Any, low: Any, high: Any, points: int = 40) -> None:
    """Bounds hold for the corners and for random points between them."""
    y = bounds(function(interval(low, high)))
    shares = [0.0, 1.0, *RNG.random((points, *low.shape))]
    for share in shares:
        value = np.asarray(tl.stop_gradient(function(tl.tensor(low + share * (high - low)))))
        assert (np.asarray(y.low) <= value).all()
        assert (value <= np.asarray(y.high)).all()


SOUND = {
    "x + 1": lambda x: x + 1,
    "x - x": lambda x: x - x,
    "x * y": lambda x: x * tl.tensor([[-2.0], [3.0]], dtype=x.dtype),
    "x * x": lambda x: x * x,
    "1 / (x + 3)": lambda x: 1 / (x + 3),
    "x @ w": lambda x: x @ tl.tensor(np.linspace(-1, 1, 12).reshape(3, 4), dtype=x.dtype),
    "relu": F.relu,
    "exp": tl.exp,
    "sum": lambda x: tl.sum(x, axis=0),
    "mean": tl.mean,
    "abs": abs,
    "square": tl.square,
    "max": lambda x: tl.max(x, axis=1),
    "gelu": F.gelu,
    "sigmoid": F.sigmoid,
    "tanh": tl.tanh,
    "softmax": F.softmax,
    "transposed": lambda x: x.T[1:] - 0.5,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SOUND)
def test_bounds_are_sound(name: str, dtype: str) -> None:
    low = RNG.normal(size=(2, 3)).astype(dtype)
    assert_sound(SOUND[name], np.asarray(low), np.asarray(low + RNG.random((2, 3)).astype(dtype)))


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_bounds_of_models_are_sound(name: str) -> None:
    model = models()[name]
    radius = np.float32(0.02)
    assert_sound(model.network, model.inputs - radius, model.inputs + radius, 10)


def test_an_op_without_a_body_or_a_rule_is_refused_by_name() -> None:
    model = models()["lstm"]
    with pytest.raises(tl.DispatchError) as caught:
        model.loss(lambda x: interval(x - np.float32(0.1), x))
    assert str(caught.value).startswith(
        "Recurrence(cell='lstm', reverse=False): a rule must say what this op means"
    )


@pytest.mark.parametrize("name", MODELS)
def test_points_are_what_all_models_compute(name: str) -> None:
    """Tokens are points: intervals of them have no meaning."""
    model = models()[name]
    y = bounds(model.loss(lambda x: interval(x, x)))
    assert y.low.item() == model.loss().item() == y.high.item()


def test_a_divisor_that_may_be_zero_is_refused() -> None:
    with pytest.raises(ArithmeticError, match="low must be at most high"):
        1 / interval(np.array([-1.0]), np.array([1.0]))


def test_intervals_refuse_a_step_that_has_no_bounds() -> None:
    model = models()["residual"]
    with pytest.raises((ArithmeticError, tl.DispatchError)):
        model.step(lambda x: interval(x - np.float32(0.1), x + np.float32(0.1)))
