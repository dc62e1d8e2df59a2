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


PRODUCT_RULES: Mapping[str, Rule] = {"Linear": write_linear}
