"""Ops as older opsets have them, whose attributes became inputs later, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import FLOAT, INT64, by_onnxruntime, model_of, port, weight

import tensorlike as tl

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 3, 4, 5)).astype(np.float32)
SCALES = np.array([1, 1, 2, 3], np.float32)
CHANNELS = [RANDOM.random(3).astype(np.float32) for _ in range(4)]

# The opset, the op, its further inputs as initializers, its attributes; and, of more results than
# one of floats, the element types of all.
CASES: dict[str, tuple[int, str, list[Any], dict[str, Any], list[int]]] = {
    "Softmax, of rows behind an axis": (7, "Softmax", [], {"axis": 2}, []),
    "LogSoftmax, of rows behind an axis": (11, "LogSoftmax", [], {}, []),
    "Hardmax, of rows behind an axis": (11, "Hardmax", [], {"axis": -2}, []),
    "Clip by attributes": (7, "Clip", [], {"min": -0.5, "max": 0.25}, []),
    "Clip on one side": (10, "Clip", [], {"min": 0.1}, []),
    "Clip by inputs": (11, "Clip", [np.float32(-0.5), np.float32(0.25)], {}, []),
    "Pad by attributes": (
        7, "Pad", [], {"pads": [0, 0, 1, 2, 0, 0, 0, 1], "value": 3.0}, []
    ),
    "Pad that reflects": (9, "Pad", [], {"pads": [0, 0, 1, 2, 0, 0, 0, 1], "mode": "reflect"}, []),
    "Slice by attributes": (
        7, "Slice", [], {"starts": [1, -3], "ends": [9, -1], "axes": [1, 3]}, []
    ),
    "Slice by inputs": (
        10, "Slice", [np.array([3, -1]), np.array([0, -(2**62)]), np.array([2, 3]),
                         np.array([-1, -2])],
        {}, [],
    ),
    "TopK by an attribute": (7, "TopK", [], {"k": 2, "axis": 2}, [FLOAT, INT64]),
    "TopK by an input": (10, "TopK", [np.array([3])], {}, [FLOAT, INT64]),
    "Split by an attribute": (7, "Split", [], {"axis": 3, "split": [2, 3]}, [FLOAT, FLOAT]),
    "Split into equal parts": (11, "Split", [], {"axis": 2}, [FLOAT, FLOAT]),
    "Unsqueeze by an attribute": (7, "Unsqueeze", [], {"axes": [0, 3]}, []),
    "Unsqueeze from behind": (11, "Unsqueeze", [], {"axes": [-1]}, []),
    "ReduceSum by an attribute": (7, "ReduceSum", [], {"axes": [1, 3], "keepdims": 0}, []),
    "ReduceMean from behind": (11, "ReduceMean", [], {"axes": [-1]}, []),
    "ReduceMax of all": (11, "ReduceMax", [], {"keepdims": 0}, []),
    "Dropout": (7, "Dropout", [], {"ratio": 0.7}, []),
    "Dropout, by an input": (12, "Dropout", [np.float32(0.7)], {}, []),
    "BatchNormalization": (7, "BatchNormalization", CHANNELS, {"epsilon": 1e-3}, []),
    "Upsample by an attribute": (7, "Upsample", [], {"scales": [1.0, 1.0, 2.0, 3.0]}, []),
    "Upsample by an input": (9, "Upsample", [SCALES], {"mode": "linear"}, []),
    "Resize, nearest": (10, "Resize", [SCALES], {}, []),
    "Resize, linear": (10, "Resize", [SCALES], {"mode": "linear"}, []),
    "Resize of opset 11": (
        11, "Resize", [np.array([], np.float32), SCALES],
        {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}, [],
    ),
    "Flatten": (7, "Flatten", [], {"axis": 2}, []),
    "MaxPool": (7, "MaxPool", [], {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER"}, []),
    "MaxPool, with places": (
        8, "MaxPool", [], {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1]}, [FLOAT, INT64]
    ),
    "AveragePool, of uneven padding": (
        7, "AveragePool", [], {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1]}, []
    ),
    "AveragePool, rounded up": (
        10, "AveragePool", [], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, []
    ),
    "LpNormalization": (7, "LpNormalization", [], {"axis": 1, "p": 1}, []),
    "Transpose": (7, "Transpose", [], {}, []),
    "Gather, from behind": (11, "Gather", [np.array([[-1, 0]])], {"axis": 2}, []),
    "Scatter": (
        9, "Scatter", [np.zeros((1, 2, 2, 2), np.int64), np.ones((1, 2, 2, 2), np.float32)],
        {"axis": 1}, [],
    ),
    "InstanceNormalization": (7, "InstanceNormalization", CHANNELS[:2], {}, []),
    "LRN": (7, "LRN", [], {"size": 3}, []),
    "DepthToSpace": (7, "DepthToSpace", [], {"blocksize": 1}, []),
    "Cast": (7, "Cast", [], {"to": INT64}, [INT64]),
    "ArgMax": (7, "ArgMax", [], {"axis": 3}, [INT64]),
    "Mean": (8, "Mean", [X[0, 0]], {}, []),
    "Elu": (7, "Elu", [], {"alpha": 0.5}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_op_of_an_older_opset_gives_what_onnxruntime_gives(name: str) -> None:
    opset, op, more, attributes, kinds = CASES[name]
    weights = [weight(f"w{i}", value) for i, value in enumerate(more)]
    names = [f"y{i}" for i in range(len(kinds) or 1)]
    node = helper.make_node(op, ["x", *(one.name for one in weights)], names, **attributes)
    outputs = [port(n, None, kind) for n, kind in zip(names, kinds or [FLOAT], strict=True)]
    proto = model_of([node], [port("x", list(X.shape))], outputs, weights, opset=opset)
    wanted = by_onnxruntime(proto, {"x": X})
    model = tl.export.onnx.load(proto)
    found = model(X) if len(names) > 1 else (model(X),)
    for ours, theirs in zip(found, wanted, strict=True):
        assert np.asarray(ours).dtype == theirs.dtype
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
