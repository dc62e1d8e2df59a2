"""What QuantizeLinear makes of a product of bytes, from the sums of the product themselves.

A quantiser writes a layer as DequantizeLinear, a product with a bias, QuantizeLinear. By way of
reals, sums are multiplied by one scale, rounded, given a bias and divided by another; in one step
they are integers, bias and all, that one factor brings into the steps of the result. The second
is what the ops of bytes mean (QLinearConv), and what ONNX Runtime makes of the nodes. The two give
bytes one step apart where the real number is next to the middle of two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .... import functional as F
from ....imperative import Tensor
from ....imperative.blocks import is_symbolic
from .dequantised import BYTES, Dequantised, dequantised
from .entries import Entry, apply_entry, entry_for
from .graph import Node, Reference
from .place import Place

_OPSET = 21  # whose ops of bytes are meant
_NEARLY = 1e-6  # of a scale: as float32 rounds the product of two


def requantised_product(place: Place) -> Any:
    """The result of a QuantizeLinear that reads such a product; None: it does not."""
    node, values = place.node, place.values
    if not node.is_standard("QuantizeLinear") or values["block_size"] or values["precision"]:
        return None
    maker = place.maker(node.inputs[0], *_PRODUCTS)
    if maker is None:
        return None
    known, scale, zero = _attributes(maker), values["scale"], values["zero"]
    left, right = (dequantised(place, name) for name in maker.inputs[:2])
    if known is None or left is None or right is None or not left.is_single:
        return None
    if not isinstance(zero, Tensor) or zero.dtype.name not in BYTES or zero.size != 1:
        return None
    if not isinstance(scale, Tensor) or scale.dtype.name != "float32" or scale.size != 1:
        return None
    name = maker.inputs[2] if len(maker.inputs) > 2 else ""
    bias = _steps(dequantised(place, name, ("int32",)), left, right) if name else None
    if name and bias is None:
        return None
    return _PRODUCTS[maker.op](left, right, bias, F.reshape(scale, ()), zero, known)


def _attributes(node: Node) -> dict[str, Any] | None:
    """Those of a node and what its entry has for others; None: some are a function's."""
    if not isinstance(node.target, Entry):
        return None
    if any(isinstance(value, Reference) for value in node.attributes.values()):
        return None
    return {**node.target.attrs, **node.attributes}


def _steps(bias: Dequantised | None, left: Dequantised, right: Dequantised) -> Any:
    """The integers of a bias whose steps are those of the sums; None: it has others."""
    if bias is None or (bias.zero is not None and (is_symbolic(bias.zero) or np.any(bias.zero))):
        return None
    scales = [x.scale for x in (bias, left, right)]
    if any(map(is_symbolic, scales)):
        return None
    own, x, w = (np.asarray(scale, np.float64).ravel() for scale in scales)
    return bias.value if np.all(np.abs(own - x * w) <= _NEARLY * x * w) else None


def _meant(op: str, values: dict[str, Any], domain: str = "") -> Any:
    """What an op of bytes gives."""
    entry = entry_for(domain, op, _OPSET)
    assert entry is not None
    return apply_entry(entry, {**entry.attrs, **values}, 1)[0]


def _convolution(
    x: Dequantised, w: Dequantised, bias: Any, scale: Any, zero: Any, known: Mapping[str, Any]
) -> Any:
    if not w.is_along(0):
        return None
    names = ("auto_pad", "pads", "strides", "dilations", "group", "kernel_shape")
    values = {
        "x": x.value, "x_scale": x.scale, "x_zero": x.zero, "w": w.value, "w_scale": w.scale,
        "w_zero": w.zero, "y_scale": scale, "y_zero": zero, "b": bias,
    }  # fmt: skip
    return _meant("QLinearConv", {**values, **{name: known[name] for name in names}})


def _matrices(
    a: Dequantised, b: Dequantised, bias: Any, scale: Any, zero: Any, known: Mapping[str, Any]
) -> Any:
    if len(b.value.shape) < 2 or not b.is_along(len(b.value.shape) - 1):
        return None
    values = {
        "a": a.value, "a_scale": a.scale, "a_zero": a.zero, "b": b.value, "b_scale": b.scale,
        "b_zero": b.zero, "y_scale": scale, "y_zero": zero,
    }  # fmt: skip
    return _meant("QLinearMatMul", values)


def _general(
    a: Dequantised, b: Dequantised, bias: Any, scale: Any, zero: Any, known: Mapping[str, Any]
) -> Any:
    if known["alpha"] != 1.0 or (bias is not None and known["beta"] != 1.0):
        return None
    if not b.is_along(0 if known["transB"] else 1):
        return None
    values = {
        "a": a.value, "a_scale": F.reshape(a.scale, ()), "a_zero": a.zero, "b": b.value,
        "b_scale": b.scale, "b_zero": b.zero, "c": bias, "y_scale": scale, "y_zero": zero,
        "transA": known["transA"], "transB": known["transB"],
    }  # fmt: skip
    return _meant("QGemm", values, "com.microsoft")


_PRODUCTS: Mapping[str, Callable[..., Any]] = {
    "Conv": _convolution,
    "Gemm": _general,
    "MatMul": _matrices,
}
