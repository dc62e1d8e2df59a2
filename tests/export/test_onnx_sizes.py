"""Shapes that graphs calculate from sizes stay open: one program for every batch and length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import FLOAT, INT64, by_onnxruntime, model_of, port, weight

import tensorlike as tl


def attention() -> Any:
    """Two heads over (batch, length, 8), with positions, as exporters of networks write them."""
    random = np.random.default_rng(0)
    weights = [
        weight("w", (random.standard_normal((8, 24)) / 3).astype(np.float32)),
        weight("places", random.standard_normal((32, 8)).astype(np.float32)),
        weight("zero", np.int64(0)), weight("one", np.int64(1)), weight("at", np.array([0])),
        weight("two", np.array([2])), weight("rest", np.array([-1])),
        weight("eight", np.array([8])),
        weight("parts", np.array([8, 8, 8])), weight("scale", np.float32(0.5)),
        weight("row", np.array([1])), weight("minus", np.array(-1)),
    ]  # fmt: skip
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"]),
        helper.make_node("Gather", ["shape", "one"], ["t"]),
        helper.make_node("Range", ["zero", "t", "one"], ["steps"]),
        # Expand as it is exported: sizes that are -1 are those of the tensor.
        helper.make_node("Unsqueeze", ["steps", "at"], ["line"]),
        helper.make_node("Unsqueeze", ["n", "at"], ["n1"]),
        helper.make_node("Unsqueeze", ["t", "at"], ["t1"]),
        helper.make_node("Concat", ["n1", "rest"], ["asked"], axis=0),
        helper.make_node("Equal", ["asked", "minus"], ["is_open"]),
        helper.make_node("Where", ["is_open", "row", "asked"], ["wanted"]),
        helper.make_node("Expand", ["line", "wanted"], ["ids"]),
        helper.make_node("Gather", ["places", "ids"], ["placed"]),
        helper.make_node("Add", ["x", "placed"], ["h"]),
        helper.make_node("MatMul", ["h", "w"], ["packed"]),
        helper.make_node("Split", ["packed", "parts"], ["q", "k", "v"], axis=2),
        helper.make_node("Concat", ["n1", "t1", "two", "rest"], ["heads"], axis=0),
    ]
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            helper.make_node("Reshape", [name, "heads"], [f"{name}4"]),
            helper.make_node("Transpose", [f"{name}4"], [f"{name}h"], perm=perm),
        ]
    nodes += [
        helper.make_node("MatMul", ["qh", "kh"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "vh"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["moved"], perm=[0, 2, 1, 3]),
        helper.make_node("Concat", ["n1", "t1", "eight"], ["whole"], axis=0),
        helper.make_node("Reshape", ["moved", "whole"], ["y"]),
    ]
    return model_of(nodes, [port("x", ["n", "t", 8])], [port("y", ["n", "t", 8])], weights)


def test_attention_of_any_batch_and_length_is_one_program() -> None:
    proto = attention()
    model = tl.export.onnx.load(proto)
    assert model.why == ""
    for n, t in ((2, 5), (1, 7), (3, 1), (1, 1)):
        x = np.random.default_rng(n).standard_normal((n, t, 8)).astype(np.float32)
        (wanted,) = by_onnxruntime(proto, {"x": x})
        np.testing.assert_allclose(model(x), wanted, rtol=1e-4, atol=1e-5)


CALCULATED = {
    "Slice": [helper.make_node("Slice", ["shape", "one", "three"], ["s"])],
    "Slice, backwards": [
        helper.make_node("Slice", ["shape", "far", "near", "zero", "minus"], ["s"])
    ],
    "Squeeze": [
        helper.make_node("Gather", ["shape", "zero"], ["a"]),
        helper.make_node("Squeeze", ["a", "zero"], ["b"]),
        helper.make_node("Unsqueeze", ["b", "zero"], ["s"]),
    ],
    "sums and products": [
        helper.make_node("Mul", ["shape", "three"], ["a"]),
        helper.make_node("Add", ["a", "one"], ["b"]),
        helper.make_node("Sub", ["b", "shape"], ["s"]),
    ],
    "quotients without a rest": [
        helper.make_node("Mul", ["shape", "three"], ["a"]),
        helper.make_node("Div", ["a", "three"], ["s"]),
    ],
    "a product of all": [helper.make_node("ReduceProd", ["shape"], ["s"])],
    "another width": [
        helper.make_node("Cast", ["shape"], ["a"], to=6),
        helper.make_node("Cast", ["a"], ["b"], to=7),
        helper.make_node("Identity", ["b"], ["s"]),
    ],
    "another shape": [
        helper.make_node("Reshape", ["shape", "three"], ["a"]),
        helper.make_node("ReduceProd", ["a"], ["b"], keepdims=0),
        helper.make_node("Reshape", ["b", "one"], ["s"]),
    ],
    "a float": [
        helper.make_node("Cast", ["shape"], ["a"], to=1),
        helper.make_node("Mul", ["a", "half"], ["b"]),
        helper.make_node("Cast", ["b"], ["s"], to=7),
    ],
    "a comparison": [
        helper.make_node("Greater", ["shape", "three"], ["a"]),
        helper.make_node("Cast", ["a"], ["s"], to=7),
    ],
    "a size": [
        helper.make_node("Size", ["x"], ["a"]),
        helper.make_node("Unsqueeze", ["a", "zero"], ["s"]),
    ],
}


@pytest.mark.parametrize("name", CALCULATED)
def test_what_is_calculated_of_sizes_is_what_onnxruntime_calculates(name: str) -> None:
    nodes = [helper.make_node("Shape", ["x"], ["shape"]), *CALCULATED[name]]
    weights = [
        weight("zero", np.array([0])), weight("one", np.array([1])), weight("three", np.array([3])),
        weight("half", np.float32(0.5)), weight("minus", np.array([-1])),
        weight("far", np.array([9])), weight("near", np.array([-9])),
    ]  # fmt: skip
    if name == "another shape":
        weights[2] = weight("three", np.array([3, 1]))
    proto = model_of(nodes, [port("x", ["n", 4, "m"], FLOAT)], [port("s", None, INT64)], weights)
    model = tl.export.onnx.load(proto)
    assert model.why == ""
    for n, m in ((2, 5), (1, 3), (6, 1)):
        feed = {"x": np.zeros((n, 4, m), np.float32)}
        np.testing.assert_array_equal(model.named(feed)["s"], by_onnxruntime(proto, feed)[0])


def test_sizes_that_come_often_have_a_program_of_their_own() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["zeros"]),
        helper.make_node("Add", ["x", "zeros"], ["added"]),
        helper.make_node("Mul", ["added", "w"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, 1, ["n", 3]) for name in ("x", "y")]
    weight = helper.make_tensor("w", 1, [3], [1.0, 2.0, 3.0])
    graph = helper.make_graph(nodes, "open", ports[:1], ports[1:], [weight])
    opsets = [helper.make_opsetid("", 17)]
    model = tl.export.onnx.load(helper.make_model(graph, opset_imports=opsets, ir_version=8))
    assert not model.why
    xs = {n: np.arange(3.0 * n, dtype=np.float32).reshape(n, 3) for n in (1, 2, 5, 7)}
    for n in (1, 2, 5) * 9 + (7, 1, 2, 5):
        np.testing.assert_array_equal(np.asarray(model(xs[n])), xs[n] * [1, 2, 3])
    usual = model._usual
    assert set(usual) == {((2, 3),), ((5, 3),)}, "the latest of those that came often"
    assert len(usual[(5, 3),].program.steps()) < len(model.program.steps())
    model.scope.set("w", tl.tensor([2.0, 2.0, 2.0]))
    np.testing.assert_array_equal(np.asarray(model(xs[5])), xs[5] * 2)
