"""Running statistics are rebound like any value: on tensor-likes, under transforms, recomputed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import nn

RNG = np.random.default_rng(3)


class Plain(tl.Carrier):
    """A carrier under transforms."""


LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (5, 3)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), (5, 3, 2, 4)),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(3), (2, 3, 2, 2, 2)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(3, track_running_stats=True), (5, 3, 4)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, track_running_stats=True), (5, 3, 2, 4)),
}


def statistics(layer: Any) -> list[Any]:
    return [np.asarray(buffer) for _, buffer in layer.named_buffers()]


def plain(make: Any, x: Any) -> tuple[Any, list[Any]]:
    layer = make()
    return np.asarray(layer(tl.tensor(x)).detach()), statistics(layer)


@pytest.mark.parametrize("name", LAYERS)
def test_statistics_are_those_of_plain_tensors_on_every_tensor_like(name: str) -> None:
    make, shape = LAYERS[name]
    x = RNG.normal(2, 3, shape).astype(np.float32)
    y, wanted = plain(make, x)
    layer = make()
    np.testing.assert_allclose(np.asarray(layer(tl.Tensor(Plain(x))).detach()), y, rtol=1e-5)
    assert isinstance(layer.running_mean.__wrapped__, Plain)
    for found, right in zip(statistics(layer), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6)
    listing, layer = tl.Listing(), make()
    layer(listing.input("x", shape))
    values = listing.run([buffer for _, buffer in layer.named_buffers()], x)
    for found, right in zip(values, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(found.detach()), right, rtol=1e-6)
    layer = make()
    assert layer(tl.ShapeTensor(shape)).shape == shape
    assert isinstance(layer.running_var.__wrapped__, tl.ShapeTensor)


def squared(layer: Any) -> Any:
    return lambda x: F.sum(layer(x) ** 2)


@pytest.mark.parametrize("name", LAYERS)
def test_transforms_leave_plain_statistics(name: str) -> None:
    make, shape = LAYERS[name]
    x = RNG.normal(2, 3, shape).astype(np.float32)
    _, wanted = plain(make, x)
    runs = {
        "grad": lambda f: tl.grad(f)(tl.tensor(x)),
        "jvp": lambda f: tl.jvp(f, (tl.tensor(x),), (tl.tensor(x),)),
        "checkpoint": lambda f: F.sum(
            tl.checkpoint(f)(tl.tensor(x, requires_grad=True))
        ).backward(),
        "grad of checkpoint": lambda f: tl.grad(tl.checkpoint(f))(tl.tensor(x)),
    }
    for how, run in runs.items():
        layer = make()
        run(squared(layer))
        for found, right in zip(statistics(layer), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-6, err_msg=how)
        assert isinstance(layer.running_mean.__wrapped__, tl.RawTensor)


@pytest.mark.parametrize("name", LAYERS)
def test_statistics_under_vmap_are_the_mean_over_the_examples(name: str) -> None:
    make, shape = LAYERS[name]
    xs = RNG.normal(2, 3, (4, *shape)).astype(np.float32)
    singles = [plain(make, x) for x in xs]
    for transform in (
        lambda f: tl.vmap(f),
        lambda f: lambda x: tl.vmap(tl.vmap(f))(F.reshape(x, (2, 2, *shape))),
        lambda f: tl.vmap(tl.checkpoint(f)),
    ):
        layer = make()
        y = transform(layer)(tl.tensor(xs))
        np.testing.assert_allclose(
            np.asarray(y.detach()).reshape(xs.shape), np.stack([y for y, _ in singles]), rtol=1e-4,
            atol=1e-5,
        )  # fmt: skip
        for i, found in enumerate(statistics(layer)):
            mean = np.mean([buffers[i] for _, buffers in singles], axis=0)
            np.testing.assert_allclose(found, mean, rtol=1e-5)
        assert isinstance(layer.running_mean.__wrapped__, tl.RawTensor)


def test_a_checkpointed_layer_keeps_its_statistics_once() -> None:
    x = tl.tensor(RNG.normal(2, 3, (5, 3)).astype(np.float32))
    layer, again = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    F.sum(layer(x) ** 3).backward()
    F.sum(tl.checkpoint(again)(x) ** 3).backward()
    for found, right in zip(statistics(again), statistics(layer), strict=True):
        assert found.tolist() == right.tolist()
    np.testing.assert_allclose(again.weight.grad.numpy(), layer.weight.grad.numpy(), rtol=1e-6)
