"""MaxPool before what keeps the order of elements, as it is of what is there before that.

The largest of what relu makes is what it makes of the largest, to the bit, and so it is of
DequantizeLinear with a positive scale: what follows is done to fewer elements, and bytes are
compared as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .... import functional as F
from ....imperative import Tensor
from ....imperative.blocks import is_symbolic
from .dequantised import dequantised
from .entries import apply_entry, entries
from .place import Place


def pooled_first(place: Place) -> Any:
    """The result of a MaxPool behind relu, DequantizeLinear or both; None: it is behind others."""
    node = place.node
    if not node.is_standard("MaxPool") or len(node.outputs) != 1:
        return None
    relu = place.maker(node.inputs[0], "Relu")
    if relu is None:
        return _of_bytes(place, node.inputs[0])
    name = relu.inputs[0]
    found = _of_bytes(place, name)
    if found is None and isinstance(place.find(name), Tensor):
        found = _pooled(place.find(name), place.values)
    return None if found is None else F.relu(found)


def _of_bytes(place: Place, name: str) -> Any:
    x = dequantised(place, name)
    if x is None or not x.is_single or is_symbolic(x.scale):
        return None
    scale = np.asarray(x.scale)
    if not np.all((scale > 0) & np.isfinite(scale)):
        return None
    (dequantize,) = entries()["", "DequantizeLinear"]
    given = {"x": _pooled(x.value, place.values), "scale": x.scale, "zero": x.zero}
    return apply_entry(dequantize, {**dequantize.attrs, **given}, 1)[0]


def _pooled(x: Any, values: Mapping[str, Any]) -> Any:
    (pool,) = entries()["", "MaxPool"]
    return apply_entry(pool, {**values, "x": x}, 1)[0]
