"""The elements of a RawTensor as JSON: dtype, shape, and the memory in base 64."""

from __future__ import annotations

import math
from typing import Any

from .. import _C


def to_json(x: _C.RawTensor) -> dict[str, Any]:
    """The elements, bit by bit."""
    import base64

    import numpy as np

    plain = _C.bitcast(x, _C.uint16) if x.dtype is _C.bfloat16 else x
    data = np.ascontiguousarray(np.asarray(plain)).tobytes()
    return {
        "dtype": x.dtype.name,
        "shape": list(x.shape),
        "data": base64.b64encode(data).decode("ascii"),
    }


def from_json(record: dict[str, Any]) -> _C.RawTensor:
    """The tensor of what `to_json` wrote.

    Raises:
        ValueError: the memory is not that of such a tensor.
    """
    import base64

    import numpy as np

    name, shape = record["dtype"], record["shape"]
    data = base64.b64decode(record["data"], validate=True)
    plain = np.dtype("uint16" if name == "bfloat16" else name)
    if plain.kind not in "biufc":
        raise ValueError(f"the dtype must be one of numbers; got {name}")
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"the shape must be sizes; got {shape}")
    if math.prod(shape) * plain.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes are no {name} of shape {tuple(shape)}")
    array = np.frombuffer(data, np.uint8) != 0 if name == "bool" else np.frombuffer(data, plain)
    raw = _C.RawTensor(array.reshape(shape))
    return _C.bitcast(raw, _C.bfloat16) if name == "bfloat16" else raw
