"""MaxPool behind DequantizeLinear and relu: done before them, to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 2], "strides": [1, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "dilations": [2, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
]


def model(kind: Any, scale: Any, zero: int, pool: dict[str, Any], *, is_relu: bool) -> Any:
    """Bytes, their reals, and the largest of these."""
    nodes = [helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["real"])]
    nodes += [helper.make_node("Relu", ["real"], ["positive"])] if is_relu else []
    nodes.append(helper.make_node("MaxPool", [nodes[-1].output[0]], ["y"], **pool))
    constants = [
        numpy_helper.from_array(np.asarray(scale, np.float32), "scale"),
        numpy_helper.from_array(np.asarray(zero, kind), "zero"),
    ]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = helper.make_graph(
        nodes,
        "pooled",
        [helper.make_tensor_value_info("x", element, [2, 3, 9, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        constants,
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def of_reals(x: Any, scale: float, zero: int, pool: dict[str, Any], *, is_relu: bool) -> Any:
    """The same by a model that has the reals as its input."""
    real = (x.astype(np.float32) - np.float32(zero)) * np.float32(scale)
    real = np.maximum(real, 0) if is_relu else real
    node = helper.make_node("MaxPool", ["x"], ["y"], **pool)
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "xy"]
    graph = helper.make_graph([node], "reals", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return np.asarray(tl.export.onnx.load(made)(real))


def pooled_dtypes(loaded: Any) -> set[str]:
    """What the pools of the programs that have run take."""
    programs = [one.program for one in (*loaded._usual.values(), *loaded._sized.values())]
    assert programs
    return {
        program.dtype(step.inputs[0]).name
        for program in programs
        for step in program.applied()
        if type(step.op).__name__ == "MaxPool"
    }


@pytest.mark.parametrize("is_relu", [False, True])
@pytest.mark.parametrize("pool", POOLS, ids=str)
@pytest.mark.parametrize(("kind", "zero"), [(np.int8, -5), (np.uint8, 130), (np.uint8, 0)])
def test_the_largest_is_that_of_the_bytes(
    kind: Any, zero: int, pool: dict[str, Any], is_relu: bool
) -> None:
    info = np.iinfo(kind)
    x = np.random.default_rng(0).integers(info.min, info.max + 1, (2, 3, 9, 8)).astype(kind)
    loaded = tl.export.onnx.load(model(kind, 0.037, zero, pool, is_relu=is_relu))
    found = np.asarray(loaded(x))
    wanted = of_reals(x, 0.037, zero, pool, is_relu=is_relu)
    np.testing.assert_array_equal(found, wanted)
    assert np.array_equal(np.signbit(found), np.signbit(wanted))
    assert "float32" not in pooled_dtypes(loaded)


@pytest.mark.parametrize("scale", [-0.5, 0.0, np.inf, np.nan])
def test_where_a_scale_turns_the_order_the_reals_are_compared(scale: float) -> None:
    x = np.random.default_rng(0).integers(-128, 128, (2, 3, 9, 8)).astype(np.int8)
    loaded = tl.export.onnx.load(model(np.int8, scale, 3, POOLS[0], is_relu=False))
    with np.errstate(invalid="ignore"):
        wanted = of_reals(x, scale, 3, POOLS[0], is_relu=False)
    np.testing.assert_array_equal(np.asarray(loaded(x)), wanted)
    assert pooled_dtypes(loaded) == {"float32"}


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int16", "uint16", "int64", "uint64"])
def test_whole_numbers_stay_what_they_are(name: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (1, 2, 6, 7)).astype(bool)
    if name != "bool":
        info = np.iinfo(name)
        x = rng.integers(info.min, info.max, (1, 2, 6, 7), dtype=name, endpoint=True)
    found = tl.functional.max_pool2d(tl.tensor(x), 2, stride=(2, 1))
    parts = [x[:, :, i::2, j : j + 6] for i in range(2) for j in range(2)]
    assert found.dtype.name == name
    np.testing.assert_array_equal(found.numpy(), np.max(parts, axis=0))


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_relu_is_done_to_the_largest_alone(pool: dict[str, Any]) -> None:
    x = np.random.default_rng(2).standard_normal((2, 3, 9, 8)).astype(np.float32)
    x[0, 0, :3, :3], x[0, 1, 2, 2], x[1, 0, 4:, 4:] = -0.0, np.nan, -np.inf
    nodes = [
        helper.make_node("Relu", ["x"], ["positive"]),
        helper.make_node("MaxPool", ["positive"], ["y"], **pool),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "xy"]
    ports[0] = helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)
    graph = helper.make_graph(nodes, "relu", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    loaded = tl.export.onnx.load(made)
    found = np.asarray(loaded(x))
    wanted = of_reals(np.maximum(x, 0), 1.0, 0, pool, is_relu=False)
    np.testing.assert_array_equal(found, wanted)
    assert np.array_equal(np.signbit(found), np.signbit(wanted))
    names = [str(step.op) for step in loaded.program.applied()]
    assert "relu" in names[-1], names
    slope, first = (
        tl.grad(lambda x, f=f: tl.functional.sum(f(x) * 3))(tl.tensor(np.abs(x[:1, 2:]) - 0.5))
        for f in (
            lambda x: tl.functional.relu(tl.functional.max_pool2d(x, 2)),
            lambda x: tl.functional.max_pool2d(tl.functional.relu(x), 2),
        )
    )
    np.testing.assert_array_equal(slope.numpy(), first.numpy())
