"""Ops as bytes and back: the class's name and the parameters, as JSON.

Reading runs no code that the reader does not have already: classes written in Python are looked up
among those that are imported, and declarations come along as their text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from .. import _C
from . import builtin
from .arrays import from_json as array_from_json
from .arrays import to_json as array_to_json
from .base import OpBase, op_sources
from .opdef import OpDef
from .sources import restore
from .versions import class_of, name_and_version


def serialize(op: OpBase) -> bytes:
    """The op as bytes; ``deserialize(serialize(op)) == op``.

    Built-in ops, those declared at run time (with their declarations), Const of numbers and of
    arrays, and ops written in Python: `OpDef`s, and classes with annotated fields that a module
    has under their name. What has versions is written with its own.

    Raises:
        TypeError: nothing would find the class again, or a parameter has no known form.

    Example:
        >>> from tensorlike import ops
        >>> op = ops.Reduce(mode="sum", axis=(0, 1))
        >>> ops.deserialize(ops.serialize(op)) == op
        True
    """
    import json  # only here: importing the package needs none

    cls = type(op)
    record: dict[str, Any] = {"op": cls.__name__}
    if _is_built_in(cls):
        values = {name: getattr(op, name) for name in op.params()}
        record["params"] = _all_to_json(op, values)
        record["op"], version = name_and_version(cls)
        if version > 1:
            record["version"] = version
        if sources := op_sources(op):
            record["declarations"] = sources
    elif isinstance(op, OpDef):
        record["op"] = _registered_name(op)
        record["bytes"] = op.serialize().hex()
        record["params"] = {name: _parts(op, name) for name in op.param_names}
    else:
        record["op"] = _importable_name(cls)
        names = list(getattr(cls, "__dataclass_fields__", ()))
        record["params"] = _all_to_json(op, {name: getattr(op, name) for name in names})
    return json.dumps(record, sort_keys=True).encode()


# What decoding hostile bytes, and making an op of what they say, may raise.
_MISTAKES = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def deserialize(data: bytes) -> OpBase:
    """The op that `serialize` wrote.

    Declarations that it carries are declared, where they are not yet. An op of an older version
    is read by the declaration of that version.

    Raises:
        ValueError: the bytes are not an op that this process knows: the module of a class written
            in Python must have been imported, and its version declared.
    """
    import json

    try:
        record = json.loads(data)
        name = record["op"]
        params = record["params"]
        restore(record.get("declarations", ()))
        if ":" in name:
            return _imported_class(name)(**_all_from_json(params))
        if name not in builtin.__all__:
            raise KeyError(name)
        cls = class_of(name, record.get("version", 1))
        if issubclass(cls, OpDef):
            return _read_wrapped(cls, params, record["bytes"])
        op: OpBase = cls(**_all_from_json(params))
    except _MISTAKES as error:
        raise _C.ArgumentError(
            f"the bytes are not an op that is known ({error})", op="deserialize"
        ) from None
    return op


def _is_built_in(cls: type[OpBase]) -> bool:
    if not _C.is_native_op_class(cls):
        return False
    name, version = name_and_version(cls)
    return getattr(builtin, name, None) is not None and class_of(name, version) is cls


def _registered_name(op: OpDef) -> str:
    name = type(op).__name__[: -len("Def")]
    if getattr(builtin, name, None) is not type(op):
        raise _C.ParameterError(
            f"must be ops.builtin.{name}; another class has the name", op="serialize", argument=name
        )
    return name


def _importable_name(cls: type[OpBase]) -> str:
    name = f"{cls.__module__}:{cls.__qualname__}"
    if "__dataclass_fields__" not in vars(cls):
        raise _C.ParameterError(
            f"{cls.__name__} must have its parameters as annotated fields; it makes them in "
            "__init__, which only its author knows",
            op="serialize",
        )
    try:
        found = _imported_class(name)
    except (KeyError, AttributeError, TypeError):
        found = None
    if found is not cls:
        raise _C.ParameterError(
            f"{cls.__name__} must be found in a module by its name",
            op="serialize",
            got=f"{cls.__qualname__} in {cls.__module__}",
            fix="define it at the top of a module",
        )
    return name


def _imported_class(name: str) -> type[OpBase]:
    module_name, _, path = name.partition(":")
    if module_name not in sys.modules:
        raise KeyError(f"import {module_name} first, which defines {path}")
    found: Any = sys.modules[module_name]
    for part in path.split("."):
        found = vars(found)[part]
    is_op = isinstance(found, type) and issubclass(found, OpBase)
    if not is_op or "__dataclass_fields__" not in vars(found):
        raise TypeError(f"{name} must be a class of ops with annotated fields")
    return found  # type: ignore[no-any-return]


def _parts(op: OpDef, name: str) -> dict[str, Any]:
    """A parameter of a wrapped op: the class that it is of, and what that holds."""
    param = getattr(op, name)
    held = getattr(param, "__dict__", None)
    if held is None or vars(type(op)).get(type(param).__name__) is not type(param):
        raise _C.ParameterError(
            f"{name} of {type(op).__name__} must be of a class inside of it, with plain attributes",
            op="serialize",
            got=f"a {type(param).__name__}",
        )
    return {"class": type(param).__name__, "held": _all_to_json(op, held)}


def _read_wrapped(cls: type[OpDef], params: Any, wanted: str) -> OpDef:
    """The wrapped op whose parameters hold this; its own bytes say whether that is right."""
    op = cls.__new__(cls)
    for name in cls.param_names:
        param_class: Any = vars(cls)[params[name]["class"]]
        if not (isinstance(param_class, type) and hasattr(param_class, "serialize")):
            raise TypeError(f"{params[name]['class']} must be a class of parameters")
        param: Any = object.__new__(param_class)
        vars(param).update(_all_from_json(params[name]["held"]))
        object.__setattr__(op, name, param)
    if op.serialize().hex() != wanted:
        raise ValueError(f"the parameters of {cls.__name__} are not those that were written")
    return op


def _all_to_json(op: OpBase, values: dict[str, Any]) -> dict[str, Any]:
    return {name: _to_json(type(op).__name__, name, value) for name, value in values.items()}


def _all_from_json(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _from_json(value) for name, value in values.items()}


def _to_json(op: str, name: str, value: Any) -> Any:
    for tag, (kind, write, _) in TAGGED.items():
        if isinstance(value, kind):
            return {tag: write(value)}
    if isinstance(value, (list, tuple)):
        items = [_to_json(op, name, item) for item in value]
        return {"list": items} if isinstance(value, list) else items
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise _C.ParameterError(
        f"{name} of {op} must be a number, text, a dtype, an array, or a list or tuple of such",
        op="serialize",
        got=f"a {type(value).__name__}",
    )


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_from_json, value))
    if not isinstance(value, dict):
        return value
    ((tag, held),) = value.items()
    if tag == "list":
        return list(map(_from_json, held))
    return TAGGED[tag][2](held)


def _complex(parts: Any) -> complex:
    real, imaginary = parts
    return complex(real, imaginary)


def _dtype(name: str) -> _C.dtype:
    found = getattr(_C, {"bool": "bool_"}.get(name, name))
    if not isinstance(found, _C.dtype):
        raise TypeError(f"{name} must be a dtype")
    return found


# What JSON has no form of stands under a word: its class, how it is written, how it is read. The
# words of attributes are those of their forms, in opdecl/compiler/attr_types.py.
TAGGED: Mapping[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "array": (_C.RawTensor, array_to_json, array_from_json),
    "complex": (complex, lambda value: [value.real, value.imag], _complex),
    "dtype": (_C.dtype, lambda value: value.name, _dtype),
}
