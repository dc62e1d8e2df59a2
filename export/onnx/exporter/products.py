"""Rules of matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....ops import Elemwise
from .graph import Value
from .site import Rule, Site, Spec

_TYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint32", "uint64")


def write_linear(site: Site) -> list[str] | None:
    """MatMul, Add and the activation: plain nodes, which tools know to be a layer."""
    from .writer import write_op

    graph, activation = site.graph, site.known("activation")
    entry = site.writer.entries.get(activation)
    if entry is None or len(entry.args) != 1 or entry.result != "same":
        return None
    dtype = site.y.dtype
    if dtype.name not in _TYPES:
        return None
    x, weight, bias = (graph.cast(value.name, value.dtype, dtype) for value in site.inputs)
    total = graph.one("Add", graph.one("MatMul", x, weight), bias)
    if activation == "positive":
        return [total]
    inner = replace(
        site, op=Elemwise(mode=activation), inputs=[Value(total, dtype, site.y.shape)],
        outputs=[Spec(dtype, site.y.shape)], attrs={"mode": activation}, expressions={},
    )  # fmt: skip
    return write_op(inner)


def write_matmul(site: Site) -> list[str] | None:
    """MatMul of matrices; a vector is one for a moment.

    ONNX Runtime 1.32 multiplies a transposed matrix by a vector as if it were not transposed.
    """
    graph, (x1, x2) = site.graph, site.inputs
    if len(x1.shape) > 1 and len(x2.shape) > 1:
        return None
    names = [graph.cast(value.name, value.dtype, site.y.dtype) for value in (x1, x2)]
    gone = []
    if len(x2.shape) == 1:
        names[1] = graph.one("Unsqueeze", names[1], graph.ints([1]))
        gone.append(-1)
    if len(x1.shape) == 1:
        names[0] = graph.one("Unsqueeze", names[0], graph.ints([0]))
        gone.append(-2)
    product = graph.one("MatMul", *names)
    return [graph.one("Squeeze", product, graph.ints(gone))]


PRODUCT_RULES: Mapping[str, Rule] = {"Linear": write_linear, "MatMul": write_matmul}
