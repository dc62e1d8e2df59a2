"""Specs as JSON: what the core reads of declarations, built in or made at run time.

The form is that of program files (docs/program_file.md), with what only this process has: sources
and wishes of kernels. What has its default value is left out, so that a line shows what an entry
says. The core reads it field by field: csrc/op/declaration_fields.h.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from .specs import FunctionSpec, IdentitySpec, OpSpec, ReductionSpec, ScalarSpec, Spec

_KINDS = {
    ScalarSpec: "scalar",
    ReductionSpec: "reduction",
    OpSpec: "op",
    FunctionSpec: "function",
    IdentitySpec: "identity",
}


def spec_text(spec: Spec | IdentitySpec) -> str:
    """A spec as a line of JSON."""
    return json.dumps({_KINDS[type(spec)]: _data(spec)}, separators=(",", ":"))


def specs_text(specs: Iterable[Spec | IdentitySpec]) -> str:
    """A list of them, each on a line of its own."""
    return "[" + ",\n".join(map(spec_text, specs)) + "]"


def _data(value: Any) -> Any:
    if is_dataclass(value):
        return {
            key: _data(getattr(value, field.name))
            for field in fields(value)
            if (key := field.metadata.get("key", field.name)) is not None
            and not _is_usual(field, getattr(value, field.name))
        }
    if isinstance(value, tuple):
        return [_data(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"bits": struct.unpack("<Q", struct.pack("<d", value))[0]}
    return value


def _is_usual(field: Field[Any], value: Any) -> bool:
    if field.default is MISSING:
        return False
    return type(value) is type(field.default) and bool(value == field.default)
