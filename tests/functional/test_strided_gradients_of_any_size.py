"""Gradients of windows that step over rows: one program is right for every size of the image."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from support.exported_models import assert_same
from support.onnx_models import by_onnxruntime

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.export import onnx


class Windows(NamedTuple):
    """How the windows of a convolution lie."""

    spatial: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    groups: int

    def call(self, x: Any, weight: Any) -> Any:
        """The convolution."""
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self.spatial - 1]
        return convolve(
            x, weight, stride=self.stride, padding=self.padding, dilation=self.dilation,
            groups=self.groups,
        )  # fmt: skip

    def weight(self, rng: np.random.Generator) -> Any:
        shape = (4, 2 // self.groups, *(self.kernel,) * self.spatial)
        return rng.standard_normal(shape).astype(np.float32)

    @property
    def least(self) -> int:
        """The smallest image that a window fits into."""
        return max(1, (self.kernel - 1) * self.dilation + 1 - 2 * self.padding)


def windows(count: int = 10) -> list[Windows]:
    rng, found = np.random.default_rng(0), []
    for i in range(count):
        kernel, dilation = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        stride, padding, groups = (int(n) for n in rng.integers((1, 0, 1), (5, 3, 3)))
        found.append(Windows(1 + i % 3, kernel, stride, padding, dilation, groups))
    return found


def recorded(w: Windows, weight: Any) -> tuple[tl.Listing, list[Any]]:
    """The gradients, and those of a function of the gradients, of images of any size."""
    listing = tl.Listing()
    names = tuple(f"s{i}" for i in range(w.spatial))
    x = tl.Tensor(listing.input("x", (2, 2, *names)))
    return listing, slopes(w, x, tl.tensor(weight))


def slopes(w: Windows, x: Any, weight: Any) -> list[Any]:
    """The first gradients, and the second ones."""

    def loss(x: Any, weight: Any) -> Any:
        return F.sum(F.sin(w.call(x, weight)))

    def steep(x: Any, weight: Any) -> Any:
        return sum(F.sum(F.cos(dx)) for dx in tl.grad(loss, argnums=(0, 1))(x, weight))

    return [*tl.grad(loss, argnums=(0, 1))(x, weight), *tl.grad(steep, argnums=(0, 1))(x, weight)]


@pytest.mark.parametrize("w", windows(), ids=str)
def test_one_program_has_the_gradients_of_images_of_any_size(w: Windows) -> None:
    rng = np.random.default_rng(1)
    weight = w.weight(rng)
    listing, results = recorded(w, weight)
    for more in range(w.stride + 1):
        size = tuple(w.least + more + i for i in range(w.spatial))
        x = rng.standard_normal((2, 2, *size)).astype(np.float32)
        wanted = slopes(w, tl.tensor(x), tl.tensor(weight))
        for found, want in zip(listing.run(results, x), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(found), want.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("w", windows(count=4), ids=str)
def test_onnx_has_the_gradients_of_images_of_any_size(w: Windows) -> None:
    rng = np.random.default_rng(1)
    weight = w.weight(rng)
    listing, results = recorded(w, weight)
    model = onnx.to_model(listing, results={f"y{i}": y for i, y in enumerate(results[:2])})
    again = onnx.load(model)
    for more in range(w.stride + 1):
        x = rng.standard_normal((2, 2, *(w.least + more,) * w.spatial)).astype(np.float32)
        wanted = slopes(w, tl.tensor(x), tl.tensor(weight))
        found = zip(by_onnxruntime(model, {"x": x}), again(x), wanted, strict=False)
        for runtime, ours, want in found:
            assert_same(runtime, want.numpy())
            assert_same(ours.numpy(), want.numpy())


def test_a_transpose_gives_the_size_that_is_asked_for() -> None:
    rng = np.random.default_rng(0)
    x, weight = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 4), (3, 2, 3)))
    for size in (9, 10, 11):
        found = F.conv_transpose1d(x, weight, stride=3, padding=2, output_size=(size - 1,))
        wanted = F.conv_transpose1d(x, weight, stride=3, padding=2, output_padding=size - 9)
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    with pytest.raises(tl.ShapeError, match="output_size must be from 8 to 10 in spatial"):
        F.conv_transpose1d(x, weight, stride=3, padding=2, output_size=(11,))
