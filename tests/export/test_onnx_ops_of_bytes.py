"""Ops of quantised numbers on generated inputs, in ONNX Runtime and in the reader in Python: zero
points at the ends of their range, rows that are all equal, sizes that are no multiple of anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import by_onnxruntime, model_of, port

import tensorlike as tl

SIZES = (1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 63, 64, 65, 100)
MICROSOFT = "com.microsoft"


class Draw:
    """Arrays for a node, by a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.m, self.k, self.n = (int(self.rng.choice(SIZES)) for _ in range(3))
        self.left, self.right = (str(self.rng.choice(["int8", "uint8"])) for _ in range(2))

    def integers(self, dtype: str, *shape: int) -> Any:
        """Any, or only the ends."""
        info = np.iinfo(dtype)
        if self.rng.integers(3) == 0:
            return self.rng.choice([info.min, info.max], shape).astype(dtype)
        return self.rng.integers(info.min, info.max + 1, shape).astype(dtype)

    def zero(self, dtype: str, *shape: int) -> Any:
        """Zero points: one number or several, the ends as often as others."""
        info, how = np.iinfo(dtype), self.rng.integers(4)
        if how < 2:
            return np.full(shape, info.min if how else info.max, dtype)
        return self.integers(dtype, *shape)

    def scale(self, *shape: int, times: float = 1.0) -> Any:
        return (times * self.rng.uniform(0.005, 0.2, shape)).astype(np.float32)

    def numbers(self, *shape: int) -> Any:
        x = self.rng.standard_normal(shape).astype(np.float32)
        if self.rng.integers(2):
            x[self.rng.integers(len(x))] = self.rng.choice([0, 2.5, -1])
        return x

    def either(self, one: Any, other: Any) -> Any:
        return one if self.rng.integers(2) else other


Node = tuple[str, list[Any], list[str], dict[str, Any]]


def matmul_integer(d: Draw) -> Node:
    zero = d.either(d.zero(d.right, d.n), d.zero(d.right))
    a, b = d.integers("uint8", d.m, d.k), d.integers(d.right, d.k, d.n)
    return "MatMulInteger", [a, b, d.zero("uint8"), zero], ["int32"], {}


def linear_matmul(d: Draw) -> Node:
    left = [d.integers("uint8", d.m, d.k), d.scale(), d.zero("uint8")]
    right = [d.integers(d.right, d.k, d.n), d.scale(), d.zero(d.right)]
    out = [d.scale(times=30 * d.k**0.5), d.zero("uint8")]
    return "QLinearMatMul", left + right + out, ["uint8"], {}


def dynamic(d: Draw) -> Node:
    return "DynamicQuantizeLinear", [d.numbers(d.m, d.k)], ["uint8", "float32", "uint8"], {}


def quantise(d: Draw) -> Node:
    return "QuantizeLinear", [d.numbers(d.m, d.k), d.scale(), d.zero(d.left)], [d.left], {}


def dequantise(d: Draw) -> Node:
    given = [d.integers(d.left, d.m, d.k), d.scale(d.k), d.zero(d.left, d.k)]
    return "DequantizeLinear", given, ["float32"], {"axis": 1}


def dynamic_matmul(d: Draw) -> Node:
    scale, bias = d.either(d.scale(d.n), d.scale()), d.either(d.numbers(d.n), None)
    given = [d.numbers(d.m, d.k), d.integers("int8", d.k, d.n), scale, None, bias]
    return "DynamicQuantizeMatMul", given, ["float32"], {"domain": MICROSOFT}


def matmul_to_float(d: Draw) -> Node:
    right = "int8" if d.left == "int8" else d.right
    given = [d.integers(d.left, d.m, d.k), d.integers(right, d.k, d.n), d.scale(), d.scale()]
    given += [d.zero(d.left), d.zero(right), d.either(d.numbers(d.n), None)]
    return "MatMulIntegerToFloat", given, ["float32"], {"domain": MICROSOFT}


def _elementwise(op: str, times: float) -> Callable[[Draw], Node]:
    def node(d: Draw) -> Node:
        dtype = d.left
        sides = [d.integers(dtype, d.m, d.k), d.scale(), d.zero(dtype)]
        sides += [d.integers(dtype, d.k), d.scale(), d.zero(dtype)]
        given = [*sides, d.scale(times=times), d.zero(dtype)]
        return op, given, [dtype], {"domain": MICROSOFT}

    return node


def gemm(d: Draw) -> Node:
    given = [d.integers("uint8", d.m, d.k), d.scale(), d.zero("uint8")]
    given += [d.integers(d.right, d.k, d.n), d.scale(), d.zero(d.right)]
    given += [d.rng.integers(-900, 900, d.n).astype(np.int32)]
    given += [d.scale(times=30 * d.k**0.5), d.zero("uint8")]
    return "QGemm", given, ["uint8"], {"domain": MICROSOFT}


def convolution(d: Draw) -> Node:
    size, channels, out = (int(d.rng.integers(low, 9)) for low in (3, 1, 1))
    x, w = d.integers("uint8", 1, channels, size, size), d.integers("uint8", out, channels, 3, 3)
    return (
        "ConvInteger",
        [x, w, d.zero("uint8"), d.zero("uint8")],
        ["int32"],
        {"pads": [1, 0, 1, 2]},
    )


def linear_convolution(d: Draw) -> Node:
    size, channels, out = (int(d.rng.integers(low, 9)) for low in (3, 1, 1))
    given = [d.integers(d.left, 1, channels, size, size), d.scale(), d.zero(d.left)]
    given += [d.integers("int8", out, channels, 3, 3), d.scale(out), np.zeros(out, np.int8)]
    given += [d.scale(times=60), d.zero(d.left), d.rng.integers(-900, 900, out).astype(np.int32)]
    return "QLinearConv", given, [d.left], {"pads": [1, 0, 1, 2]}


NODES: dict[str, Callable[[Draw], Node]] = {
    f.__name__: f
    for f in (
        matmul_integer, linear_matmul, dynamic, quantise, dequantise, dynamic_matmul,
        matmul_to_float, gemm, convolution, linear_convolution,
    )
} | {"sum": _elementwise("QLinearAdd", 2), "product": _elementwise("QLinearMul", 20)}  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", NODES)
def test_ops_of_bytes_are_those_of_onnxruntime(name: str, seed: int) -> None:
    op, inputs, outputs, attributes = NODES[name](Draw(seed))
    named = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs) if x is not None}
    dtype = helper.np_dtype_to_tensor_dtype
    node = helper.make_node(
        op, [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)],
        [f"y{i}" for i in range(len(outputs))], **attributes,
    )  # fmt: skip
    proto = model_of(
        [node], [port(n, list(x.shape), dtype(x.dtype)) for n, x in named.items()],
        [port(f"y{i}", None, dtype(np.dtype(kind))) for i, kind in enumerate(outputs)], opset=21,
        imports=[helper.make_opsetid(MICROSOFT, 1)],
    )  # fmt: skip
    wanted = by_onnxruntime(proto, named)
    found = tl.export.onnx.load(proto).named(named).values()
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, strict=True)
