"""Pooling that other ops make up: transforms, special values, what no table of PyTorch's shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

RNG = np.random.default_rng(6)
SHARES = RNG.uniform(size=(2, 3, 2))
CALLS: dict[str, Callable[..., Any]] = {
    "lp_pool2d": lambda x: F.lp_pool2d(x * x, 3.0, 2, stride=1),
    "max_pool2d_with_indices": lambda x: F.max_pool2d_with_indices(x, 3, padding=1),
    "adaptive": lambda x: F.adaptive_max_pool2d_with_indices(x, (2, 3)),
    "fractional": lambda x: F.fractional_max_pool2d(x, 2, output_size=3, samples=SHARES),
    "there and back": lambda x: F.max_unpool2d(*F.max_pool2d_with_indices(x, 2), 2),
    "pdist": lambda x: F.pdist(F.reshape(x, (5, -1))),
    "bilinear": lambda x: F.bilinear(x, x[..., :5], F.reshape(x[0, 0], (1, 6, 5))),
}


def first(y: Any) -> Any:
    return y[0] if isinstance(y, tuple) else y


@pytest.mark.parametrize("name", CALLS)
def test_a_batch_of_examples_is_as_each_of_them(name: str) -> None:
    call = CALLS[name]
    xs = tl.tensor(RNG.normal(size=(4, 2, 3, 5, 6)))
    together = tl.vmap(call)(xs)
    for i in range(4):
        alone = call(xs[i])
        pairs = (
            zip(together, alone, strict=True) if isinstance(alone, tuple) else [(together, alone)]
        )
        for y, wanted in pairs:
            np.testing.assert_allclose(np.asarray(y[i]), np.asarray(wanted), 1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_forward_and_second_derivatives_agree_with_backward(name: str) -> None:
    call = CALLS[name]
    x, dx = (tl.tensor(RNG.normal(size=(2, 3, 5, 6))) for _ in range(2))

    def loss(x: Any) -> Any:
        y = first(call(x))
        return F.sum(y * y * y)

    slope = tl.grad(loss)
    (_, along) = tl.jvp(loss, (x,), (dx,))
    np.testing.assert_allclose(along.item(), F.sum(slope(x) * dx).item(), 1e-9)
    step = 1e-5
    (_, curve) = tl.jvp(slope, (x,), (dx,))
    wanted = (np.asarray(slope(x + step * dx)) - np.asarray(slope(x - step * dx))) / (2 * step)
    np.testing.assert_allclose(np.asarray(curve), wanted, 1e-4, 1e-6)


def test_each_example_draws_windows_of_its_own() -> None:
    xs = tl.tensor(np.broadcast_to(RNG.normal(size=(1, 1, 1, 40, 40)), (3, 1, 1, 40, 40)).copy())
    ys = np.asarray(tl.vmap(lambda x: F.fractional_max_pool2d(x, 2, output_ratio=0.7))(xs))
    assert (ys[0] != ys[1]).any()
    again = np.asarray(tl.vmap(lambda x: F.fractional_max_pool2d(x, 2, output_ratio=0.7))(xs))
    np.testing.assert_array_equal(ys, again)


def test_nan_and_ties_have_the_first_place() -> None:
    x = tl.tensor([[[1.0, 1.0, np.nan, 5.0, np.nan, 2.0]]])
    y, places = F.max_pool1d_with_indices(x, 2)
    np.testing.assert_array_equal(np.asarray(y), [[[1.0, np.nan, np.nan]]])
    assert places.tolist() == [[[0, 2, 4]]]
    assert places.dtype == tl.int64
    z, there = F.fractional_max_pool2d_with_indices(F.reshape(x, (1, 1, 2, 3)), 2, output_size=1)
    assert np.isnan(z.item())
    assert there.item() in (2, 4)


def test_places_are_exact_where_half_precision_is_not() -> None:
    x = np.zeros((1, 1, 5000), np.float16)
    x[..., 4097] = 1
    y, places = F.max_pool1d_with_indices(tl.tensor(x), 5000)
    assert (y.dtype, places.item()) == (tl.float16, 4097)


def test_the_slope_of_an_empty_norm_is_nothing() -> None:
    slope = tl.grad(lambda x: F.sum(F.lp_pool1d(x, 2.0, 2)))(tl.tensor([[[0.0, 0.0, 3.0, 4.0]]]))
    np.testing.assert_allclose(np.asarray(slope), [[[0.0, 0.0, 0.6, 0.8]]], 1e-6)


def test_huge_results_are_refused_before_memory_is_taken() -> None:
    one, place = tl.ones((1, 1, 2)), tl.zeros((1, 1, 2), dtype="int64")
    with pytest.raises(tl.ShapeError, match="max_unpool1d: the result"):
        F.max_unpool1d(one, place, 2**60)
    with pytest.raises(tl.ShapeError, match="max_unpool1d: "):
        F.max_unpool1d(one, place, 1, stride=2**62)


def test_layers_give_places_where_asked() -> None:
    x = tl.tensor(RNG.normal(size=(2, 3, 6, 6)))
    y, places = nn.MaxPool2d(2, return_indices=True)(x)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(nn.MaxPool2d(2)(x)))
    assert nn.MaxUnpool2d(2)(y, places, output_size=x.shape).shape == x.shape
    for layer in (
        nn.AdaptiveMaxPool2d(2, return_indices=True),
        nn.FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True),
    ):
        values, found = layer(x)
        assert values.shape == found.shape
        flat = np.asarray(x).reshape(2, 3, -1)
        chosen = np.take_along_axis(flat, np.asarray(found).reshape(2, 3, -1), -1)
        np.testing.assert_array_equal(chosen, np.asarray(values).reshape(2, 3, -1))
    with pytest.raises(ValueError, match="FractionalMaxPool3d: give either"):
        nn.FractionalMaxPool3d(2)
    with pytest.raises(ValueError, match="Bilinear: sizes must be positive"):
        nn.Bilinear(0, 1, 1)


def test_running_statistics_of_instances_serve_evaluation() -> None:
    layer = nn.InstanceNorm1d(3, track_running_stats=True, momentum=1.0)
    x = RNG.normal(2.0, 3.0, size=(4, 3, 50))
    layer(tl.tensor(x))
    mean, var = x.mean(-1).mean(0), x.var(-1, ddof=1).mean(0)
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, 1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), var, 1e-5)
    y = layer.eval()(tl.tensor(x))
    wanted = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5)
    np.testing.assert_allclose(np.asarray(y), wanted, 1e-4, 1e-5)
    with pytest.raises(ValueError, match="more than one value"):
        layer.train()(tl.ones((2, 3, 1)))
    assert sorted(nn.InstanceNorm1d(3).state_dict()) == []


def test_multinomial_draws_by_its_seed() -> None:
    weights = tl.tensor([[0.0, 1.0, 2.0, 0.0, 5.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
    drawn = [np.asarray(F.multinomial(weights, 3, seed=seed)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert set(drawn[0][0].tolist()) == {1, 2, 4}
    many = np.asarray(F.multinomial(weights[0], 20_000, replacement=True, seed=3))
    shares = np.bincount(many, minlength=5) / many.size
    np.testing.assert_allclose(shares, [0, 0.125, 0.25, 0, 0.625], atol=0.015)
