"""Networks of bytes: what quantisers write is computed with bytes, and gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RNG = np.random.default_rng(11)


def array(name: str, value: Any) -> Any:
    return numpy_helper.from_array(np.asarray(value), name)


def model(nodes: list[Any], constants: list[Any], shape: Any, opset: int = 17) -> Any:
    """Of one input x and one output y."""
    graph = helper.make_graph(
        nodes, "bytes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def applied(loaded: Any) -> list[str]:
    program, _ = loaded.compiled.optimised(loaded.results)
    return [type(step.op).__name__ for step in program.applied()]


def by_peer(made: Any, x: Any) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]


def check(made: Any, x: Any, op: str, without: str) -> None:
    """The op is there and the other is not; the results are those of ONNX Runtime."""
    loaded = tl.export.onnx.load(made)
    names = applied(loaded)
    assert op in names and without not in names, names
    wanted = by_peer(made, x)
    found = np.asarray(loaded(x))
    step = float(np.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * step, strict=True)


PADS = [[1, 1, 1, 1], [0, 0, 1, 1], [2, 0, 0, 1], [0, 3, 2, 0]]


@pytest.mark.parametrize("pads", PADS, ids=str)
@pytest.mark.parametrize(("strides", "is_dynamic"), [([1, 1], False), ([2, 3], True)], ids=str)
def test_bytes_by_their_own_range_are_convolved_as_bytes(
    pads: Any, strides: Any, is_dynamic: bool
) -> None:
    """What a dynamic quantiser writes, padded as it likes; the zero point is not 0."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node(
            "ConvInteger", ["q", "w", "zero", "w_zero"], ["sums"], pads=pads, strides=strides
        ),
        helper.make_node("Cast", ["sums"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["scale", "w_scale"], ["factor"]),
        helper.make_node("Mul", ["real", "factor"], ["scaled"]),
        helper.make_node("Add", ["scaled", "bias"], ["y"]),
    ]
    constants = [
        array("w", RNG.integers(0, 256, (6, 3, 3, 2)).astype(np.uint8)),
        array("w_zero", np.uint8(113)),
        array("w_scale", np.float32(0.01)),
        array("bias", RNG.standard_normal((6, 1, 1), np.float32)),
    ]
    shape = ["n", 3, "height", "width"] if is_dynamic else [2, 3, 11, 13]
    x = RNG.uniform(-1, 3, (2, 3, 11, 13)).astype(np.float32)
    check(model(nodes, constants, shape), x, "ConvInteger", "Convolution")


def pairs(name: str, made: str, scale: float, zero: int) -> tuple[list[Any], list[Any]]:
    """QuantizeLinear and DequantizeLinear behind a value."""
    inputs = [f"{name}_scale", f"{name}_zero"]
    nodes = [
        helper.make_node("QuantizeLinear", [name, *inputs], [f"{name}_bytes"]),
        helper.make_node("DequantizeLinear", [f"{name}_bytes", *inputs], [made]),
    ]
    return nodes, [array(inputs[0], np.float32(scale)), array(inputs[1], np.uint8(zero))]


def weights(shape: Any, axis: int | None, dtype: str) -> tuple[Any, list[Any]]:
    """DequantizeLinear of a weight: of one scale, or of one for each index of an axis."""
    info, size = np.iinfo(dtype), () if axis is None else (shape[axis],)
    constants = [
        array("w_bytes", RNG.integers(info.min, info.max + 1, shape).astype(dtype)),
        array("w_scale", RNG.uniform(0.005, 0.02, size).astype(np.float32)),
        array("w_zero", RNG.integers(info.min, info.max + 1, size).astype(dtype)),
    ]
    how = {} if axis is None else {"axis": axis}
    inputs = ["w_bytes", "w_scale", "w_zero"]
    return helper.make_node("DequantizeLinear", inputs, ["w"], **how), constants


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_convolution_of_dequantised_tensors_is_one_of_bytes(axis: Any, dtype: str) -> None:
    """But where scales lie along what is summed."""
    before, constants = pairs("x", "real", 0.02, 128)
    weight, more = weights((6, 4, 3, 3), axis, dtype)
    conv = helper.make_node("Conv", ["real", "w", "bias"], ["y"], pads=[1, 1, 0, 0])
    constants += [*more, array("bias", RNG.standard_normal(6, np.float32))]
    x = RNG.standard_normal((2, 4, 9, 9), np.float32)
    made = model([*before, weight, conv], constants, [2, 4, 9, 9])
    names = ("ConvInteger", "Convolution")
    check(made, x, *(reversed(names) if axis == 1 else names))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("transposes", [0, 1])
def test_products_of_dequantised_matrices_are_products_of_bytes(axis: Any, transposes: int) -> None:
    before, constants = pairs("x", "real", 0.03, 7)
    weight, more = weights((20, 16)[:: -1 if transposes else 1], axis, "int8")
    kind, product = "MatmulInteger", "MatMul"
    nodes = [
        helper.make_node("Gemm", ["real", "w", "c"], ["y"], transB=transposes, alpha=0.5, beta=2.0)
    ]
    constants += [*more, array("c", RNG.standard_normal(16, np.float32))]
    x = RNG.standard_normal((5, 20), np.float32)
    is_outside = axis is None or axis == (0 if transposes else 1)
    names = (kind, product) if is_outside else (product, kind)
    check(model([*before, weight, *nodes], constants, [5, 20]), x, *names)
    if not transposes:
        plain = [helper.make_node("MatMul", ["real", "w"], ["y"])]
        check(model([*before, weight, *plain], constants[:-1], [5, 20]), x, *names)


def test_a_quantised_network_of_pairs_gives_its_bytes_again() -> None:
    """Two layers with a requantisation between, as a static quantiser writes them."""
    first, constants = pairs("x", "real", 0.02, 128)
    weight, more = weights((6, 4, 3, 3), 0, "int8")
    second, others = pairs("hidden", "again", 0.05, 0)
    nodes = [
        *first, weight,
        helper.make_node("Conv", ["real", "w"], ["sums"]),
        helper.make_node("Relu", ["sums"], ["hidden"]),
        *second,
        helper.make_node("GlobalAveragePool", ["again"], ["y"]),
    ]  # fmt: skip
    x = RNG.standard_normal((2, 4, 9, 9), np.float32)
    made = model(nodes, [*constants, *more, *others], [2, 4, 9, 9])
    check(made, x, "ConvInteger", "Convolution")


@pytest.mark.parametrize("seed", range(6))
def test_a_convolution_of_integers_is_exported_as_products_of_integers(
    seed: int, tmp_path: Any
) -> None:
    rng = np.random.default_rng(seed)
    groups, count = int(rng.choice([1, 2])), int(rng.choice([1, 2]))
    kernel = tuple(map(int, rng.integers(1, 4, count)))
    x = rng.integers(0, 256, (2, 3 * groups, *[11] * count)).astype(np.uint8)
    weight = rng.integers(-128, 128, (4 * groups, 3, *kernel)).astype(np.int8)
    zeros = rng.integers(-128, 128, 4 * groups).astype(np.int8)
    how: Any = {"groups": groups, "dilation": int(rng.integers(1, 3))}
    how |= {"padding": "same"} if seed % 2 else {"padding": 2, "stride": int(rng.integers(1, 3))}
    path = tmp_path / "made.onnx"

    def convolved(given: Any) -> Any:
        return tl.functional.conv_integer(given, weight, 100, zeros, **how)

    tl.export.onnx.save(convolved, path, inputs=[tl.tensor(x)], verify=True)
    found = tl.export.onnx.load(path)(tl.tensor(x))
    np.testing.assert_array_equal(found, convolved(x))
