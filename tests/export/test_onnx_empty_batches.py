"""Batches of no images, and rarer places: both readers give what ONNX Runtime gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tensorlike as tl

from ..support.onnx_models import by_onnxruntime, model_of, port, weight
from ..support.saved_runs import run_model

node = helper.make_node
RNG = np.random.default_rng(0)
SCALE = [weight("s", np.float32([1, 2, 3, 4])), weight("b", np.float32([0, 1, 0, 1]))]
SIZES = [weight("image", np.array([3, 4])), weight("block", np.array([2, 2]))]
# Nodes, what lies behind the batch of x, weights, opset.
CASES: dict[str, tuple[list[Any], tuple[int, ...], list[Any], int]] = {
    "LpPool": ([node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=3)], (2, 4, 5), [], 18),
    "AveragePool": (
        [node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], ceil_mode=1, strides=[2, 2])],
        (2, 5, 5), [], 19),
    "LRN": ([node("LRN", ["x"], ["y"], size=3)], (4, 3, 2), [], 18),
    "GroupNormalization": (
        [node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)], (4, 3), SCALE, 21),
    "GridSample": (
        [node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]),
         node("GridSample", ["x", "t"], ["y"], mode="linear")], (2, 4, 5), [], 20),
    "Col2Im": ([node("Col2Im", ["x", "image", "block"], ["y"])], (8, 6), SIZES, 18),
    "Softmax": ([node("Softmax", ["x"], ["y"], axis=1)], (3, 2), [], 11),
    "LogSoftmax": ([node("LogSoftmax", ["x"], ["y"], axis=-1)], (3, 2), [], 11),
    "Hardmax": ([node("Hardmax", ["x"], ["y"], axis=2)], (3, 2), [], 11),
    "Max": ([node("Max", ["x", "x"], ["m"]), node("Min", ["m", "x"], ["n"]),
             node("Sum", ["n", "m", "x"], ["o"]), node("Mean", ["o", "x"], ["y"])], (3,), [], 7),
}  # fmt: skip


def held(proto: Any, feed: dict[str, Any], folder: Path, wanted: Any) -> None:
    ours = np.asarray(tl.export.onnx.load(proto).named(feed)["y"])
    for found in (ours, run_model(proto, folder, feed)[1][0]):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("batch", [0, 2])
def test_a_batch_may_have_no_images(name: str, batch: int, tmp_path: Path) -> None:
    nodes, rest, weights, opset = CASES[name]
    x = RNG.standard_normal((2, *rest)).astype(np.float32)
    proto = model_of(nodes, [port("x", ["n", *rest])], [port("y", None)], weights, opset)
    (wanted,) = by_onnxruntime(proto, {"x": x})
    held(proto, {"x": x[:batch]}, tmp_path, wanted[:batch])


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [0, 1])
def test_places_between_two_elements_are_rounded_before_they_are_turned_back(
    padding_mode: str, align_corners: int, tmp_path: Path
) -> None:
    grid = np.stack(np.meshgrid(np.arange(-12, 12), [-5, -1, 0, 1, 2, 7]), -1)[None]
    attributes = {"padding_mode": padding_mode, "align_corners": align_corners}
    nodes = [node("GridSample", ["x", "grid"], ["y"], mode="nearest", **attributes)]
    weights = [weight("grid", grid.astype(np.float32))]
    proto = model_of(nodes, [port("x", [1, 1, 3, 2])], [port("y", None)], weights, 20)
    feed = {"x": np.arange(6, dtype=np.float32).reshape(1, 1, 3, 2)}
    held(proto, feed, tmp_path, by_onnxruntime(proto, feed)[0])


@pytest.mark.parametrize("sizes", [[2], [2, -1]])
def test_the_middle_of_other_axes_than_there_are_sizes(sizes: list[int], tmp_path: Path) -> None:
    nodes = [node("CenterCropPad", ["x", "sizes"], ["y"], axes=[0, 1])]
    weights = [weight("sizes", np.array(sizes))]
    proto = model_of(nodes, [port("x", [3, 4])], [port("y", None)], weights)
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(tl.ArgumentError, match="CenterCropPad: shape must have a size for each"):
        tl.export.onnx.load(proto)(x)
    with pytest.raises(AssertionError, match="CenterCropPad: shape must"):
        run_model(proto, tmp_path, {"x": x})
