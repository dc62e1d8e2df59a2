"""Products of what DequantizeLinear makes, as products of the bytes themselves.

Quantisers write networks as real ones around pairs of QuantizeLinear and DequantizeLinear. A
product of two dequantised tensors is that of their bytes less zero points, times both scales, where
the scales stand outside of the sums; nobody reads the reals then, and they are not made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .... import functional as F
from ....imperative import Tensor
from .attribute_functions import normal_axis
from .element_types import converted
from .entries import apply_entry, entries
from .place import Place

BYTES = ("int8", "uint8")
AXIS = 1  # that of scales, where a node does not say


class Dequantised(NamedTuple):
    """What a DequantizeLinear reads."""

    value: Any
    scale: Any
    zero: Any
    axis: int

    @property
    def is_single(self) -> bool:
        """Whether all elements have one scale."""
        return len(self.scale.shape) == 0 or tuple(self.scale.shape) == (1,)

    def is_along(self, axis: int) -> bool:
        """Whether there is one scale, or one for each index of this axis."""
        return self.is_single or (
            len(self.scale.shape) == 1 and normal_axis(self.axis, len(self.value.shape)) == axis
        )


def dequantised(place: Place, name: str, dtypes: tuple[str, ...] = BYTES) -> Dequantised | None:
    """What is behind a name; None: it was not made of these, or in blocks, or as halves."""
    maker = place.makers.get(name)
    if maker is None or maker.op != "DequantizeLinear":
        return None
    known = maker.attributes
    if known.get("block_size") or known.get("output_dtype"):
        return None
    value, scale, zero = ([place.find(x) if x else None for x in maker.inputs] + [None])[:3]
    if not isinstance(value, Tensor) or not isinstance(scale, Tensor):
        return None
    if value.dtype.name not in dtypes or scale.dtype.name != "float32":
        return None
    return Dequantised(value, scale, zero, known.get("axis", AXIS))


def product_of_dequantised(place: Place) -> Any:
    """The result of a node that multiplies two such tensors; None: it does not."""
    node = place.node
    if not node.is_standard(*_PRODUCTS) or len(node.inputs) < 2:
        return None
    left, right = (dequantised(place, name) for name in node.inputs[:2])
    if left is None or right is None or not left.is_single:
        return None
    return _PRODUCTS[node.op](left, right, place.values)


def _convolution(x: Dequantised, w: Dequantised, values: Mapping[str, Any]) -> Any:
    if not w.is_along(0):
        return None
    names = ("auto_pad", "pads", "strides", "dilations", "group", "kernel_shape")
    how = {name: values[name] for name in names}
    zeros = {"x_zero": x.zero, "w_zero": w.zero}
    (entry,) = entries()["", "ConvInteger"]
    (sums,) = apply_entry(entry, {"x": x.value, "w": w.value, **zeros, **how}, 1)
    channels = (-1, *[1] * (len(x.value.shape) - 2))
    y = converted(sums, "float32") * F.reshape(x.scale * w.scale, channels)
    return y if values["b"] is None else y + F.reshape(values["b"], channels)


def _matrices(a: Dequantised, b: Dequantised, values: Mapping[str, Any]) -> Any:
    from .rules.quantising import product_of_bytes

    if len(b.value.shape) < 2 or not b.is_along(len(b.value.shape) - 1):
        return None
    sums = product_of_bytes(a.value, b.value, a.zero, b.zero)
    return converted(sums, "float32") * (F.reshape(a.scale, ()) * b.scale)


def _transposed(x: Dequantised, *, is_asked: int) -> Dequantised:
    if not is_asked:
        return x
    axis = 1 - normal_axis(x.axis, 2)
    return Dequantised(F.permute_dims(x.value, (1, 0)), x.scale, x.zero, axis)


def _general(a: Dequantised, b: Dequantised, values: Mapping[str, Any]) -> Any:
    found = _matrices(
        _transposed(a, is_asked=values["transA"]), _transposed(b, is_asked=values["transB"]), values
    )
    if found is None:
        return None
    alpha, beta, c = values["alpha"], values["beta"], values["c"]
    scaled = found if alpha == 1.0 else found * alpha
    return scaled if c is None else scaled + (c if beta == 1.0 else c * beta)


_PRODUCTS: Mapping[str, Callable[[Dequantised, Dequantised, Mapping[str, Any]], Any]] = {
    "Conv": _convolution,
    "Gemm": _general,
    "MatMul": _matrices,
}
