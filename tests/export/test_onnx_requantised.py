"""QuantizeLinear behind a product of bytes: bytes made of the sums, as ONNX Runtime makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

SCALES = {"x": 0.021, "w": 0.013, "y": 0.37}
ZEROS = {"x": 121, "w": 0, "y": 96}


def array(name: str, value: Any) -> Any:
    return numpy_helper.from_array(np.asarray(value), name)


class Layer:
    """A product of bytes between pairs of nodes, and its numbers."""

    def __init__(self, op: str, *, seed: int, per_channel: bool, has_bias: bool) -> None:
        rng = np.random.default_rng(seed)
        self.op, self.attrs = op, {}
        self.shape = (2, 5, 9, 8) if op == "Conv" else (7, 90)
        shape = (6, 5, 3, 3) if op == "Conv" else (90, 6)
        if op == "Conv":
            self.attrs = {"pads": [1, 1, 0, 1], "strides": [2, 1]}
        elif op == "Gemm":
            self.attrs, shape = {"transB": 1}, shape[::-1]
        self.axis = 1 if op == "MatMul" else 0
        self.w = rng.integers(-127, 128, shape).astype(np.int8)
        size = 6 if per_channel else ()
        self.w_scale = np.asarray(rng.uniform(0.5, 1.5, size) * SCALES["w"], np.float32)
        self.steps = np.float32(SCALES["x"]) * self.w_scale
        self.bias = rng.integers(-3000, 3000, 6).astype(np.int32) if has_bias else None
        self.x = rng.uniform(-3, 3, self.shape).astype(np.float32)

    def model(self, steps: Any = None) -> Any:
        """Of the bytes as reals; the bias has these steps, or those of the sums."""
        steps = self.steps if steps is None else steps
        quantised = ["x_scale", "x_zero"], ["y_scale", "y_zero"]
        along = {"axis": self.axis} if self.w_scale.ndim else {}
        nodes = [
            helper.make_node("QuantizeLinear", ["x", *quantised[0]], ["x_bytes"]),
            helper.make_node("DequantizeLinear", ["x_bytes", *quantised[0]], ["x_real"]),
            helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_real"], **along),
        ]
        zero = np.zeros(self.w_scale.shape, np.int8)
        constants = [array("w", self.w), array("w_scale", self.w_scale), array("w_zero", zero)]
        for name in "xy":
            constants.append(array(f"{name}_scale", np.float32(SCALES[name])))
            constants.append(array(f"{name}_zero", np.uint8(ZEROS[name])))
        reads = ["x_real", "w_real"]
        if self.bias is not None:
            how = {"axis": 0} if np.ndim(steps) else {}
            nodes.append(helper.make_node("DequantizeLinear", ["b", "b_scale"], ["b_real"], **how))
            constants += [array("b", self.bias), array("b_scale", steps)]
            reads.append("b_real")
        nodes += [
            helper.make_node(self.op, reads, ["real"], **self.attrs),
            helper.make_node("QuantizeLinear", ["real", *quantised[1]], ["y_bytes"]),
            helper.make_node("DequantizeLinear", ["y_bytes", *quantised[1]], ["y"]),
        ]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph(nodes, "layer", inputs, outputs, constants)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)

    def exact(self) -> Any:
        """Sums of integers, times one factor each, rounded."""
        bytes_ = np.clip(np.rint(self.x / np.float32(SCALES["x"])) + ZEROS["x"], 0, 255)
        x, w = (bytes_ - ZEROS["x"]).astype(np.int64), self.w.astype(np.int64)
        channels: tuple[int, ...] = (-1,)
        if self.op == "Conv":
            padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (1, 1)))
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2]
            sums = np.einsum("nchwij,ocij->nohw", windows, w)
            channels = (-1, 1, 1)
        else:
            sums = x @ (w.T if self.op == "Gemm" else w)
        if self.bias is not None:
            sums = sums + self.bias.reshape(channels)
        factor = self.steps / np.float32(SCALES["y"])
        factor = factor.reshape(channels) if factor.ndim else factor
        found = np.rint(sums.astype(np.float32) * factor) + ZEROS["y"]
        return np.clip(found, 0, 255)


LAYERS = [
    (op, per_channel, has_bias)
    for op in ("Conv", "Gemm", "MatMul")
    for per_channel in (False, True)
    for has_bias in (False, True)
    if not (op == "MatMul" and has_bias)
]


def bytes_of(y: Any) -> Any:
    return np.rint(np.asarray(y) / np.float32(SCALES["y"])) + ZEROS["y"]


@pytest.mark.parametrize(("op", "per_channel", "has_bias"), LAYERS)
def test_bytes_are_made_of_sums_in_one_step(op: str, per_channel: bool, has_bias: bool) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    for seed in range(4):
        layer = Layer(op, seed=seed, per_channel=per_channel, has_bias=has_bias)
        made = layer.model()
        found = np.asarray(tl.export.onnx.load(made)(layer.x))
        np.testing.assert_array_equal(bytes_of(found), layer.exact())
        session = onnxruntime.InferenceSession(
            made.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        np.testing.assert_array_equal(found, session.run(None, {"x": layer.x})[0])


@pytest.mark.parametrize("op", ["Conv", "Gemm"])
def test_a_bias_of_other_steps_is_added_as_reals(op: str) -> None:
    layer = Layer(op, seed=9, per_channel=False, has_bias=True)
    steps = np.float32(0.7) * layer.steps
    found = np.asarray(tl.export.onnx.load(layer.model(steps))(layer.x))
    assert layer.bias is not None
    layer.bias = np.rint(layer.bias * np.float64(0.7)).astype(np.int32)
    assert np.abs(bytes_of(found) - layer.exact()).max() <= 1
    assert np.any(bytes_of(found) != ZEROS["y"])


def test_no_reals_are_made_between_bytes() -> None:
    layer = Layer("Conv", seed=3, per_channel=True, has_bias=True)
    loaded = tl.export.onnx.load(layer.model())
    program, _ = loaded.compiled.optimised(loaded.results)
    names = [type(step.op).__name__ for step in program.applied()]
    assert "ConvInteger" in names and "Convolution" not in names
