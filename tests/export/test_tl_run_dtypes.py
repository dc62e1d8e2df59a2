"""Element types in the core: what `tl-run` writes is what Python's reader makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tensorlike as tl

from ..support.onnx_models import model_of, port
from ..support.saved_runs import run_model

HALVES: dict[str, dict[str, Any]] = {
    "LpPool": {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [2, 2]},
    "AveragePool": {"kernel_shape": [2, 2], "dilations": [2, 2], "auto_pad": "SAME_UPPER"},
    "MaxPool": {"kernel_shape": [2, 2], "dilations": [2, 2], "auto_pad": "SAME_UPPER"},
    "ThresholdedRelu": {"alpha": 0.5},
    "Shrink": {"lambd": 0.5, "bias": 0.25},
    "LpNormalization": {"axis": 1, "p": 1},
}


@pytest.mark.parametrize("op", HALVES)
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_numbers_beside_a_condition_are_of_the_dtype_of_the_elements(
    op: str, dtype: Any, tmp_path: Path
) -> None:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node(op, ["x"], ["y"], **HALVES[op])
    inputs, outputs = [port("x", [1, 2, 5, 5], kind)], [port("y", None, kind)]
    proto = model_of([node], inputs, outputs, opset=22)
    x = np.random.default_rng(0).standard_normal((1, 2, 5, 5)).astype(dtype)
    wanted = np.asarray(tl.export.onnx.load(proto)(x))
    found = run_model(proto, tmp_path, {"x": x})[1][0]
    assert found.dtype == wanted.dtype == dtype
    np.testing.assert_allclose(found, wanted, 1e-2 if dtype is np.float16 else 1e-9)
