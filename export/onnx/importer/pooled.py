"""MaxPool before what keeps the order of elements, as it is of what is there before that.

The largest of what relu makes is what it makes of the largest, to the bit, and so it is of
DequantizeLinear with a positive scale: what follows is done to fewer elements, and bytes are
compared as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .... import functional as F
from ....imperative import Tensor
from ....imperative.blocks import is_symbolic
from .dequantised import dequantised
from .entries import apply_entry, entries
from .graph import Node


def pooled_first(
    node: Node, values: Mapping[str, Any], makers: Mapping[str, Node], find: Callable[[str], Any]
) -> Any:
    """The result of a MaxPool behind relu, DequantizeLinear or both; None: it is behind others.

    Args:
        node: it.
        values: of its inputs and attributes, by the names that its entry has for them.
        makers: by a name, the node that makes it.
        find: the value of a name.
    """
    if node.domain or node.op != "MaxPool" or len(node.outputs) != 1:
        return None
    name, maker = node.inputs[0], makers.get(node.inputs[0])
    is_relu = maker is not None and not maker.domain and maker.op == "Relu"
    if is_relu:
        assert maker is not None
        name, maker = maker.inputs[0], makers.get(maker.inputs[0])
    found = _of_bytes(maker, values, find)
    if found is None and is_relu and isinstance(find(name), Tensor):
        found = _pooled(find(name), values)
    return F.relu(found) if found is not None and is_relu else found


def _of_bytes(maker: Node | None, values: Mapping[str, Any], find: Callable[[str], Any]) -> Any:
    x = dequantised(maker, find)
    if x is None or not x.is_single or is_symbolic(x.scale):
        return None
    scale = np.asarray(x.scale)
    if not np.all((scale > 0) & np.isfinite(scale)):
        return None
    (dequantize,) = entries()["", "DequantizeLinear"]
    given = {"x": _pooled(x.value, values), "scale": x.scale, "zero": x.zero}
    return apply_entry(dequantize, {**dequantize.attrs, **given}, 1)[0]


def _pooled(x: Any, values: Mapping[str, Any]) -> Any:
    (pool,) = entries()["", "MaxPool"]
    return apply_entry(pool, {**values, "x": x}, 1)[0]
