"""Convolution and pooling layers: shapes, parameters, initial values, training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import nn

IMAGE = {1: (2, 4, 9), 2: (2, 4, 9, 8), 3: (2, 4, 5, 6, 7)}


def image(spatial: int) -> Any:
    return tl.tensor(np.random.default_rng(0).normal(size=IMAGE[spatial]).astype("float32"))


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_convolution_layers_apply_their_functions(spatial: int) -> None:
    x = image(spatial)
    layer = getattr(nn, f"Conv{spatial}d")(4, 6, 3, stride=2, padding=1, groups=2, seed=3)
    call = getattr(tl.functional, f"conv{spatial}d")
    wanted = call(x, layer.weight, layer.bias, stride=2, padding=1, groups=2)
    np.testing.assert_array_equal(layer(x).detach(), wanted.detach())
    assert layer.weight.shape == (6, 2, *[3] * spatial)
    back = getattr(nn, f"ConvTranspose{spatial}d")(6, 4, 3, stride=2, padding=1, groups=2, seed=4)
    assert back.weight.shape == (6, 2, *[3] * spatial)
    assert back(layer(x)).shape[:2] == (2, 4)
    names = [name for name, _ in layer.named_parameters()]
    assert names == ["weight", "bias"]
    assert getattr(nn, f"Conv{spatial}d")(4, 6, 3, bias=False).bias is None


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_pooling_layers_apply_their_functions(spatial: int) -> None:
    x = image(spatial)
    for kind in ("max", "avg"):
        layer = getattr(nn, f"{kind.capitalize()}Pool{spatial}d")(3, 2, 1)
        call = getattr(tl.functional, f"{kind}_pool{spatial}d")
        np.testing.assert_array_equal(layer(x), call(x, kernel_size=3, stride=2, padding=1))
        layer = getattr(nn, f"Adaptive{kind.capitalize()}Pool{spatial}d")(2)
        assert layer(x).shape == (2, 4, *[2] * spatial)


def test_initial_values_keep_to_their_bound_and_their_seed() -> None:
    layer = nn.Conv2d(8, 16, 3, seed=1)
    bound = 1 / np.sqrt(8 * 9)
    for values in (layer.state_dict()["weight"], layer.state_dict()["bias"]):
        assert 0.5 * bound < np.abs(values).max() <= bound
    again = nn.Conv2d(8, 16, 3, seed=1).state_dict()
    np.testing.assert_array_equal(layer.state_dict()["weight"], again["weight"])


@pytest.mark.parametrize(
    ("args", "word"),
    [((0, 1, 3), "positive"), ((1, 1, 0), "positive"), ((3, 4, 1, 1, 0, 1, 2), "divide"),
     ((1, 1, (1, 2, 3)), "kernel_size"), ((1, 1, 3, (1,)), "stride")],
)  # fmt: skip
def test_wrong_sizes_are_refused(args: tuple[Any, ...], word: str) -> None:
    with pytest.raises(ValueError, match=f"{word}.*; got "):
        nn.Conv2d(*args)


def test_a_small_network_learns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 1, 8, 8)).astype("float32")
    labels = (x[:, 0, :4].mean((1, 2)) > x[:, 0, 4:].mean((1, 2))).astype("int64")
    first, last = nn.Conv2d(1, 8, 3, padding=1, seed=0), nn.Linear(8 * 4, 2, seed=1)
    pool = nn.MaxPool2d(4)
    optimizer = tl.optim.Adam([*first.parameters(), *last.parameters()], lr=0.02)
    losses = []
    for _ in range(40):
        hidden = tl.functional.relu(pool(first(tl.tensor(x))))
        logits = last(tl.functional.reshape(hidden, shape=(32, 32)))
        loss = tl.functional.cross_entropy(logits, tl.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
