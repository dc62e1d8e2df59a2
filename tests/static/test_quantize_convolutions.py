"""Convolutions of programs in low precision, and how much a trained network loses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import static

HOWS: tuple[Any, ...] = ("bfloat16", "dynamic", "float16", "static")
CLASSES = 4


def pictures(count: int, seed: int) -> tuple[Any, Any]:
    """Bars that lie, stand, rise or fall, somewhere in noise; and which of them."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, CLASSES, count)
    x = rng.normal(0, 0.4, (count, 1, 12, 12)).astype(np.float32)
    for i, kind in enumerate(which):
        row, column = rng.integers(2, 7, 2)
        for step in range(-2, 3):
            down, right = [(0, step), (step, 0), (-step, step), (step, step)][kind]
            x[i, 0, row + 2 + down, column + 2 + right] += rng.uniform(0.8, 1.5)
    return tl.tensor(x), tl.tensor(which)


class Network(tl.nn.Layer):
    """Convolutions: strided, depthwise, 1x1, with and without a bias; and a linear layer."""

    def __init__(self) -> None:
        """Random numbers of fixed seeds."""
        super().__init__()
        self.first = tl.nn.Conv2d(1, 8, 3, padding=1, seed=0)
        self.wide = tl.nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False, seed=1)
        self.norm = tl.nn.BatchNorm2d(16)
        self.depthwise = tl.nn.Conv2d(16, 16, 3, padding=1, groups=16, seed=2)
        self.pointwise = tl.nn.Conv2d(16, 16, 1, seed=3)
        self.last = tl.nn.Linear(16, CLASSES, seed=4)

    def forward(self, x: Any) -> Any:
        """(images, 1, 12, 12) to (images, classes)."""
        x = F.relu(self.first(x))
        x = F.relu(self.norm(self.wide(x)))
        x = F.relu(self.pointwise(F.relu(self.depthwise(x))))
        return self.last(F.max(x, axis=(2, 3)))


@pytest.fixture(scope="module")
def trained() -> Network:
    network = Network()
    optimizer = tl.optim.Adam(network.parameters(), lr=0.01)
    for step in range(150):
        x, which = pictures(48, step)
        optimizer.zero_grad()
        F.cross_entropy(network(x), which).backward()
        optimizer.step()
    return network.eval()


def recorded(network: Network, images: Any) -> tuple[Any, Any]:
    main = static.Program()
    x = main.input("x", (images, 1, 12, 12))
    return main, network(tl.Tensor(x))


def share_right(found: Any, which: Any) -> float:
    return float(np.mean(np.argmax(np.asarray(found), -1) == np.asarray(which)))


@pytest.mark.parametrize("how", HOWS)
def test_a_trained_network_of_convolutions_keeps_its_accuracy(trained: Network, how: Any) -> None:
    x, which = pictures(500, 1000)
    main, y = recorded(trained, 500)
    samples = [[pictures(500, 2000 + i)[0]] for i in range(2)]
    made = static.quantize(main, [y], how, samples=samples, where=lambda _: True)
    (exact,), (found,) = main.run([y], x), made.program.run(made.results, x)
    right = share_right(exact, which)
    assert right > 0.95
    assert share_right(found, which) >= right - 0.01
    assert not np.array_equal(found, exact)
    names = [layer.op for layer in made.layers]
    assert names == ["Convolution"] * 4 + ["Linear"]
    assert made.layers[1].weight_shape == (16, 8, 3, 3)
    assert all(0 < layer.error < 0.04 for layer in made.layers)
    assert made.table().count("\n") == 5 and "Convolution" in made.table()


@pytest.mark.parametrize(("how", "name"), [("dynamic", "Dynamic"), ("static", "")])
def test_convolutions_of_integers_stand_in_the_place_of_convolutions(
    trained: Network, how: Any, name: str
) -> None:
    main, y = recorded(trained, 3)
    made = static.quantize(main, [y], how, samples=[[pictures(3, 7)[0]]], where=lambda _: True)
    applied = [type(step.op).__name__ for step in made.program.applied()]
    assert applied.count(f"{name}QuantizedConvolution") == 4
    assert applied.count(f"{name}QuantizedLinear") == 1
    assert not {"Convolution", "Linear"}.intersection(applied)


def test_a_batch_of_any_size_runs_through_quantised_convolutions(trained: Network) -> None:
    main, y = recorded(trained, "images")
    made = static.quantize(main, [y])
    compiled = static.CompiledProgram(made.program)
    for count in (1, 5, 40):
        x = pictures(count, count)[0]
        (found,) = made.program.run(made.results, x)
        (again,) = compiled.run(list(made.results), x)
        np.testing.assert_allclose(found, again, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found, trained(x).detach(), atol=1.0)


@pytest.mark.parametrize("how", HOWS)
def test_convolutions_that_integers_make_slower_stay_unless_they_are_asked_for(how: Any) -> None:
    """Those whose sums go through one channel or two: depthwise ones, and of one channel."""
    for channels, groups, gains in [(8, 8, False), (8, 4, False), (12, 4, True), (1, 1, False)]:
        layer, listing = tl.nn.Conv2d(channels, channels, 3, groups=groups, seed=0), tl.Listing()
        y = layer(listing.input("x", (2, channels, 9, 9)))
        samples = [[tl.ones((2, channels, 9, 9))]]
        is_in_integers = how in ("dynamic", "static")
        made = static.quantize(listing, [y], how, samples=samples)
        assert len(made.layers) == int(gains or not is_in_integers)
        asked = static.quantize(listing, [y], how, samples=samples, where=lambda _: True)
        assert len(asked.layers) == 1


def test_each_channel_has_a_scale_of_its_own() -> None:
    """One channel of large weights takes no steps of the others."""
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((6, 4, 3), np.float32)
    weight[2] *= 1000
    listing = tl.Listing()
    y = F.conv1d(listing.input("x", (2, 4, 30)), tl.tensor(weight))
    made = static.quantize(listing, [y])
    x = tl.tensor(rng.standard_normal((2, 4, 30), np.float32))
    (exact,), (found,) = listing.run([y], x), made.program.run(made.results, x)
    errors = np.abs(np.asarray(found) - np.asarray(exact)).max((0, 2))
    assert (errors < 0.02 * np.abs(np.asarray(exact)).max((0, 2))).all()


def test_convolutions_without_constant_weights_stay() -> None:
    listing = tl.Listing()
    weight = listing.input("weight", (6, 4, 3))
    y = F.conv1d(listing.input("x", (2, 4, 30)), weight)
    made = static.quantize(listing, [y])
    assert made.layers == ()
