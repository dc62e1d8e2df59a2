"""Ops of the domain com.microsoft and quantised ones, in both readers, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_models import FLOAT, by_onnxruntime, model_of, port, weight
from support.tl_run import run

import tensorlike as tl

KINDS = {
    "float32": FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8, "int8": TensorProto.INT8,
}  # fmt: skip
RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def integers(dtype: Any, *shape: int) -> Any:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def scale(number: float) -> Any:
    return np.array(number, np.float32)


def one_node(op: str, inputs: list[Any], outputs: list[str], **attributes: Any) -> tuple[Any, Any]:
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    made = [f"y{i}" if kind else "" for i, kind in enumerate(outputs)]
    node = helper.make_node(op, names, made, domain="com.microsoft", **attributes)
    ports = [
        port(n, list(x.shape), KINDS[x.dtype.name]) for n, x in zip(names, inputs, strict=True) if n
    ]
    results = [port(n, None, KINDS[k]) for n, k in zip(made, outputs, strict=True) if n]
    imports = [helper.make_opsetid("com.microsoft", 1)]
    feed = {n: x for n, x in zip(names, inputs, strict=True) if n}
    return model_of([node], ports, results, imports=imports), feed


X = floats(2, 4, 8)
IDS = RANDOM.integers(0, 10, (2, 4)).astype(np.int32)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
BYTES = integers(np.uint8, 2, 4, 8)
MIDDLE = np.array(120, np.uint8)
TURNS = [np.cos(floats(9, 2)), np.sin(floats(9, 2))]
PLACES = np.array([[0, 3, 1, 5], [2, 2, 8, 0]])
FOURS = [integers(np.uint8, 5, 3, 8), np.abs(floats(15)) + 0.1]
CASES = {
    "QLinearSoftmax": (
        [BYTES, scale(0.05), MIDDLE, scale(0.004), np.array(3, np.uint8)], ["uint8"],
        {"axis": -1, "opset": 13},
    ),
    "QLinearSoftmax, older": (
        [BYTES, scale(0.01), MIDDLE, scale(0.004), np.array(0, np.uint8)], ["uint8"],
        {"axis": 1, "opset": 12},
    ),
    "RotaryEmbedding": ([X, PLACES, *TURNS], ["float32"], {}),
    "RotaryEmbedding, from a place on": (
        [X, np.array([3]), *TURNS], ["float32"], {"interleaved": 1}
    ),
    "RotaryEmbedding, of heads": (
        [floats(2, 3, 4, 4), PLACES, *TURNS], ["float32"], {}
    ),
    "RotaryEmbedding, in part": (
        [floats(2, 4, 12), PLACES, *TURNS], ["float32"],
        {"rotary_embedding_dim": 4, "num_heads": 2},
    ),
    "MatMulNBits": (
        [floats(2, 3, 48), *FOURS], ["float32"], {"K": 48, "N": 5, "bits": 4, "block_size": 16}
    ),
    "MatMulNBits, cut": (
        [floats(3, 42), *FOURS, integers(np.uint8, 5, 2), None, floats(5)], ["float32"],
        {"K": 42, "N": 5, "bits": 4, "block_size": 16},
    ),
    "FusedMatMul": (
        [floats(3, 2, 4), floats(3, 2, 5)], ["float32"], {"transA": 1, "alpha": 0.5}
    ),
    "Gelu": ([X], ["float32"], {}),
    "BiasGelu": ([X, floats(8)], ["float32"], {}),
    "FastGelu": ([X, floats(8)], ["float32"], {}),
    "QuickGelu": ([X], ["float32"], {"alpha": 1.5}),
    "SkipLayerNormalization": (
        [X, floats(2, 4, 8), floats(8), floats(8), floats(8)], ["float32", "", "", "float32"], {}
    ),
    "SkipSimplifiedLayerNormalization": ([X, floats(2, 4, 8), floats(8)], ["float32"], {}),
    "EmbedLayerNormalization": (
        [IDS, IDS % 2, floats(10, 8), floats(6, 8), floats(2, 8), floats(8), floats(8), MASK],
        ["float32", "int32"], {},
    ),
    "Attention": (
        [X, floats(8, 24), floats(24), MASK], ["float32"], {"num_heads": 2}
    ),
    "Attention, causal with past": (
        [X, floats(8, 24), floats(24), None, floats(2, 2, 2, 3, 4)], ["float32", "float32"],
        {"num_heads": 2, "unidirectional": 1},
    ),
    "Attention, by lengths": (
        [X, floats(8, 24), floats(24), np.array([3, 2], np.int32)], ["float32"], {"num_heads": 2}
    ),
    "QAttention": (
        [BYTES, integers(np.int8, 8, 24), floats(24), scale(0.02), scale(0.01), MASK,
         np.array(120, np.uint8), np.array(0, np.int8)],
        ["float32"], {"num_heads": 2},
    ),
    "MultiHeadAttention": (
        [X, floats(2, 5, 8), floats(2, 5, 8), floats(24)], ["float32"], {"num_heads": 2}
    ),
    "DynamicQuantizeMatMul": (
        [X, integers(np.int8, 8, 5), scale(0.03), np.array(3, np.int8), floats(5)], ["float32"], {}
    ),
    "MatMulIntegerToFloat": (
        [BYTES, integers(np.int8, 8, 5), scale(0.03), scale(0.02), np.array(9, np.uint8),
         np.array(2, np.int8)],
        ["float32"], {},
    ),
    "QLinearAdd": (
        [BYTES, scale(0.1), np.array(3, np.uint8), integers(np.uint8, 8), scale(0.2),
         np.array(7, np.uint8), scale(0.3), np.array(11, np.uint8)],
        ["uint8"], {},
    ),
    "QLinearMul": (
        [BYTES, scale(0.1), np.array(3, np.uint8), integers(np.uint8, 8), scale(0.2),
         np.array(7, np.uint8), scale(3.0), np.array(11, np.uint8)],
        ["uint8"], {},
    ),
    "QGemm": (
        [
            integers(np.uint8, 3, 8), scale(0.1), np.array(120, np.uint8), integers(np.int8, 5, 8),
            scale(0.02), np.array(3, np.int8), RANDOM.integers(-900, 900, 5).astype(np.int32),
            scale(0.5), np.array(100, np.uint8),
        ],
        ["uint8"], {"transB": 1, "alpha": 0.5},
    ),
    "QLinearSigmoid": (
        [BYTES, scale(0.05), np.array(128, np.uint8), scale(1 / 256), np.array(0, np.uint8)],
        ["uint8"], {},
    ),
    "QLinearLeakyRelu": (
        [BYTES, scale(0.05), np.array(128, np.uint8), scale(0.04), np.array(90, np.uint8)],
        ["uint8"], {"alpha": 0.1},
    ),
    "QLinearGlobalAveragePool": (
        [integers(np.uint8, 2, 3, 4, 4), scale(0.05), np.array(128, np.uint8), scale(0.04),
         np.array(90, np.uint8)],
        ["uint8"], {},
    ),
    "QLinearConcat": (
        [scale(0.1), np.array(5, np.uint8), BYTES, scale(0.05), np.array(7, np.uint8), BYTES,
         scale(0.2), np.array(100, np.uint8)],
        ["uint8"], {"axis": 1},
    ),
    # One example: of several, the last bit of a state may decide how all are rounded.
    "DynamicQuantizeLSTM": (
        [
            floats(7, 1, 6), integers(np.int8, 2, 6, 20), integers(np.int8, 2, 5, 20),
            floats(2, 40), None, floats(2, 1, 5), floats(2, 1, 5), None,
            np.full((2, 20), 0.004, np.float32), np.zeros((2, 20), np.int8),
            scale(0.006)[None].repeat(2), np.zeros(2, np.int8),
        ],
        ["float32", "float32", "float32"], {"hidden_size": 5, "direction": "bidirectional"},
    ),
    "DynamicQuantizeLSTM, backwards, bounded": (
        [
            floats(9, 1, 3), integers(np.uint8, 1, 3, 16), integers(np.uint8, 1, 4, 16),
            floats(1, 32), None, None, None, None, scale(0.01)[None], np.array([131], np.uint8),
            scale(0.006)[None], np.array([99], np.uint8),
        ],
        ["float32", "", "float32"], {"hidden_size": 4, "direction": "reverse", "clip": 0.7},
    ),
    "FusedConv": (
        [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)], ["float32"],
        {"activation": "Relu", "pads": [1, 1, 1, 1]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_op_of_onnxruntime_gives_what_that_gives(name: str, tmp_path: Path) -> None:
    inputs, outputs, attributes = CASES[name]
    proto, feed = one_node(name.partition(",")[0], inputs, outputs, **attributes)
    wanted = by_onnxruntime(proto, feed)
    found = list(tl.export.onnx.load(proto).named(feed).values())
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    done, by_core = run(path, tmp_path, feed)
    assert done.returncode == 0, done.stderr
    for ours, theirs in zip([*found, *by_core], [*wanted, *wanted], strict=True):
        ours = np.asarray(ours)
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        # A quotient that lies between two bytes may be rounded to either.
        atol = 1.0 if ours.dtype.kind in "iu" and name.startswith("Q") else 1e-5
        wide = np.float64
        np.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), rtol=1e-4, atol=atol)


def test_a_norm_that_onnxruntime_writes_into_the_standards_domain(tmp_path: Path) -> None:
    node = helper.make_node("SimplifiedLayerNormalization", ["x", "w"], ["y"], epsilon=1e-5)
    proto = model_of([node], [port("x", ["n", 4, 8])], [port("y", None)], [weight("w", floats(8))])
    onnx.save(proto, tmp_path / "model.onnx")
    (wanted,) = by_onnxruntime(proto, {"x": X})
    done, (by_core,) = run(tmp_path / "model.onnx", tmp_path, {"x": X})
    assert done.returncode == 0, done.stderr
    for found in (tl.export.onnx.load(proto)(X), by_core):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-5)


def test_a_quantised_network_gives_the_bytes_of_onnxruntime() -> None:
    """QLinearConv for each channel, MatMulInteger, DynamicQuantizeLinear."""
    random = np.random.default_rng(1)
    x = random.standard_normal((1, 3, 6, 6)).astype(np.float32)
    w = random.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)

    weights = [
        weight("x_scale", scale(0.02)), weight("x_zero", np.array(128, np.uint8)),
        weight("w", w), weight("w_scale", np.array([0.1, 0.2, 0.3, 0.4], np.float32)),
        weight("w_zero", np.zeros(4, np.int8)), weight("y_scale", scale(1.5)),
        weight("y_zero", np.array(100, np.uint8)), weight("b", np.arange(4, dtype=np.int32) * 100),
        weight("m", random.integers(-128, 128, (4, 5)).astype(np.int8)),
    ]  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["q"]),
        helper.make_node(
            "QLinearConv",
            ["q", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"],
            ["c"], pads=[1, 0, 0, 1], strides=[2, 1],
        ),
        helper.make_node("DequantizeLinear", ["c", "y_scale", "y_zero"], ["d"]),
        helper.make_node("Transpose", ["d"], ["t"], perm=[0, 2, 3, 1]),
        helper.make_node("DynamicQuantizeLinear", ["t"], ["u", "u_scale", "u_zero"]),
        helper.make_node("MatMulInteger", ["u", "m", "u_zero"], ["y"]),
    ]  # fmt: skip
    proto = model_of(
        nodes, [port("x", [1, 3, 6, 6])],
        [port("c", None, TensorProto.UINT8), port("y", None, TensorProto.INT32)], weights,
    )  # fmt: skip
    model = tl.export.onnx.load(proto)
    assert model.why == ""
    c, y = by_onnxruntime(proto, {"x": x})
    ours_c, ours_y = map(np.asarray, model(x))
    np.testing.assert_allclose(ours_c.astype(int), c.astype(int), atol=1)
    if np.array_equal(ours_c, c):
        np.testing.assert_array_equal(ours_y, y)
    else:
        assert np.mean(ours_c != c) < 0.01


def test_sums_of_many_bytes_are_exact() -> None:
    """Of so many that float32 would round: by a matrix, and by windows of 3x3, which are tiles."""
    random = np.random.default_rng(2)
    x = random.integers(0, 256, (1, 64, 20, 20)).astype(np.uint8)
    w = random.integers(0, 256, (32, 64, 3, 3)).astype(np.uint8)
    a = random.integers(128, 256, (4, 3000)).astype(np.uint8)
    b = random.integers(128, 256, (3000, 5)).astype(np.uint8)
    nodes = [
        helper.make_node("ConvInteger", ["x", "w"], ["c"]),
        helper.make_node("MatMulInteger", ["a", "b"], ["m"]),
    ]
    byte = TensorProto.UINT8
    for weights in ((), ("w", "b")):
        given = {"x": x, "w": w, "a": a, "b": b}
        proto = model_of(
            nodes, [port(n, list(v.shape), byte) for n, v in given.items() if n not in weights],
            [port("c", None, TensorProto.INT32), port("m", None, TensorProto.INT32)],
            [weight(n, given.pop(n)) for n in weights],
        )  # fmt: skip
        found = tl.export.onnx.load(proto).named(given)
        np.testing.assert_array_equal(found["m"], a.astype(np.int64) @ b.astype(np.int64))
        rows = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.int64), (3, 3), (1, 2))
        wanted = np.einsum("chwij,ocij->ohw", rows, w.astype(np.int64))
        np.testing.assert_array_equal(found["c"][0], wanted)
