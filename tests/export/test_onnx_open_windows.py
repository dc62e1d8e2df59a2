"""Imported models whose images have any size: resizing and pooling are one program for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import FLOAT, INT64, by_onnxruntime, model_of, port, weight

import tensorlike as tl

IMAGES = [(2, 2, 5, 7), (1, 2, 8, 3), (1, 2, 6, 6), (3, 2, 4, 9)]
COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
SCALES = {"larger": [2.0, 3.0], "smaller": [0.5, 0.7], "mixed": [1.6, 0.6], "one axis": [1.0, 2.0]}


def image(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def of_sizes(proto: Any, feed: dict[str, Any]) -> Any:
    """The model for these sizes alone."""
    made = type(proto)()
    made.CopyFrom(proto)
    for one in made.graph.input:
        for dim, size in zip(one.type.tensor_type.shape.dim, feed[one.name].shape, strict=True):
            dim.dim_value = size
    return tl.export.onnx.load(made)


def check(proto: Any, names: tuple[str, ...] = ("x",), *, is_standard: bool = True) -> None:
    """Against ONNX Runtime; or by what known sizes give, where that leaves the standard."""
    model = tl.export.onnx.load(proto)
    assert model.why == ""
    for number, shape in enumerate(IMAGES):
        feed = {"x": image(shape)}
        if len(names) == 2:
            feed["like"] = image(IMAGES[number - 1][:2] + IMAGES[number - 2][2:])
        wanted = by_onnxruntime(proto, feed) if is_standard else of_sizes(proto, feed)(**feed)
        found = model(*feed.values())
        found = found if isinstance(found, tuple) else (found,)
        for a, b in zip(found, wanted if is_standard else [wanted], strict=True):
            a, b = np.asarray(a), np.asarray(b)
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, strict=True, err_msg=str(shape))


def resized(scales: list[float], **attributes: Any) -> Any:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    weights = [weight("scales", np.array([1.0, 1.0, *scales], np.float32))]
    return model_of([node], [port("x", ["n", 2, "h", "w"])], [port("y", [None] * 4)], weights, 19)


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_an_image_of_any_size_is_resized(mode: str, coordinates: str, scales: str) -> None:
    model = resized(SCALES[scales], mode=mode, coordinate_transformation_mode=coordinates)
    check(model, is_standard=all(n == int(n) for n in SCALES[scales]))


@pytest.mark.parametrize("near", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("scales", ["larger", "smaller"])
def test_the_nearest_elements_of_an_image_of_any_size(
    scales: str, coordinates: str, near: str
) -> None:
    model = resized(
        SCALES[scales], mode="nearest", coordinate_transformation_mode=coordinates,
        nearest_mode=near,
    )  # fmt: skip
    check(model, is_standard=scales == "larger")


@pytest.mark.parametrize(
    "more",
    [
        {"antialias": 1},
        {"exclude_outside": 1, "mode": "cubic"},
        {"cubic_coeff_a": -0.5, "mode": "cubic"},
    ],
)
def test_what_else_resizing_may_do(more: dict[str, Any]) -> None:
    check(resized([0.5, 0.4], **{"mode": "linear", **more}))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_an_image_takes_the_size_of_another_one(mode: str) -> None:
    """As in pyramids of features, where a map is added to a finer one."""
    nodes = [
        helper.make_node("Shape", ["like"], ["shape"]),
        helper.make_node("Slice", ["shape", "two", "four"], ["fine"]),
        helper.make_node("Shape", ["x"], ["own"]),
        helper.make_node("Slice", ["own", "zero", "two"], ["kept"]),
        helper.make_node("Concat", ["kept", "fine"], ["sizes"], axis=0),
        helper.make_node(
            "Resize", ["x", "", "", "sizes"], ["y"], mode=mode,
            coordinate_transformation_mode="asymmetric" if mode == "nearest" else "half_pixel",
            nearest_mode="floor",
        ),
    ]  # fmt: skip
    weights = [weight(n, np.array([i])) for n, i in (("zero", 0), ("two", 2), ("four", 4))]
    inputs = [port("x", ["n", 2, "h", "w"]), port("like", ["m", 2, "k", "l"])]
    check(model_of(nodes, inputs, [port("y", [None] * 4)], weights, 19), ("x", "like"))


@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [2, 2], "dilations": [2, 1]},
    ],
)
def test_places_of_what_is_largest_in_an_image_of_any_size(attributes: dict[str, Any]) -> None:
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], **attributes)
    outputs = [port("y", [None] * 4, FLOAT), port("places", [None] * 4, INT64)]
    check(model_of([node], [port("x", ["n", 2, "h", "w"])], outputs))
