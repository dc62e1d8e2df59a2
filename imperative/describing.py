"""How tensors and tensor-likes print."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _C
from .arrays import for_numpy


def describe(x: Any, tensor: type[Any]) -> str:
    """As NumPy prints, and what is special about the tensor-like; `tensor` is the class Tensor.

    A tensor-like may name another one that is printed in its place, as `printed`.
    """
    inner = x
    notes = []
    if isinstance(x, tensor) and x.requires_grad:
        wrapped = x.__wrapped__
        notes.append("requires_grad=True" if x.is_leaf else f"grad_op={wrapped.op}")
    while isinstance(inner, (_C.TensorWrapper, _C.Tracer)):
        inner = inner.primal if isinstance(inner, _C.Tracer) else inner.__wrapped__
    inner = getattr(inner, "printed", inner)
    name = "tensor" if isinstance(x, tensor) else type(x).__name__
    if isinstance(inner, _C.ShapeTensor):
        text = f"ShapeTensor({inner.shape}, {inner.dtype.name})"
        return text if inner is x else f"{name}({', '.join([text, *notes])})"
    if not isinstance(inner, _C.RawTensor):
        return f"{name}({', '.join([repr(inner), *notes])})"
    array = for_numpy(inner)
    body = np.array2string(array, separator=", ", prefix=f"{name}(", threshold=1000)
    if array.size > 1000 or array.size == 0:
        notes.insert(0, f"shape={array.shape}")
    if inner.dtype not in (_C.float32, _C.int64, _C.bool_):
        notes.insert(0, f"dtype={inner.dtype.name}")
    if inner is x:
        notes.append(f"device={inner.device!r}")
    elif inner.device != "cpu":
        notes.insert(0, f"device={inner.device!r}")
    return f"{name}({', '.join([body, *notes])})"
