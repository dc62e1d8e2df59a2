"""Ops as bytes and back: the class's name and the parameters, as JSON."""

from __future__ import annotations

from typing import Any

from .. import _C
from . import builtin
from .base import OpBase


def serialize(op: OpBase) -> bytes:
    """The op as bytes; ``deserialize(serialize(op)) == op``.

    Raises:
        TypeError: the op was written in Python, so that only its author knows its parameters.

    Example:
        >>> from tensorlike import ops
        >>> op = ops.Reduce(mode="sum", axis=(0, 1))
        >>> ops.deserialize(ops.serialize(op)) == op
        True
    """
    import json  # only here: importing the package needs none

    cls = type(op)
    if getattr(builtin, cls.__name__, None) is not cls or not _C.is_native_op_class(cls):
        raise TypeError(f"serialize: {cls.__name__} is not a built-in op; it has no known form")
    params = {name: _to_json(getattr(op, name)) for name in op.params()}
    return json.dumps({"op": cls.__name__, "params": params}, sort_keys=True).encode()


# What decoding hostile bytes, and making an op of what they say, may raise.
_MISTAKES = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def deserialize(data: bytes) -> OpBase:
    """The op that `serialize` wrote.

    Raises:
        ValueError: the bytes are not an op that this version knows.
    """
    import json

    try:
        record = json.loads(data)
        name = record["op"]
        if name not in builtin.__all__:
            raise KeyError(name)
        params = {key: _from_json(value) for key, value in record["params"].items()}
        op: OpBase = getattr(builtin, name)(**params)
    except _MISTAKES as error:
        raise ValueError(f"deserialize: the bytes are not a built-in op ({error})") from None
    return op


def _to_json(value: Any) -> Any:
    if isinstance(value, _C.RawTensor):
        raise TypeError("serialize: a Const of an array has no known form; keep the array apart")
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return {"dtype": value.name} if isinstance(value, _C.dtype) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict) and "complex" in value:
        real, imaginary = value["complex"]
        return complex(real, imaginary)
    if isinstance(value, dict):
        name: str = value["dtype"]
        return getattr(_C, {"bool": "bool_"}.get(name, name))
    return tuple(value) if isinstance(value, list) else value
