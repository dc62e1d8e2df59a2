"""An op for each type of attributes: its kernel gives x back and notes what the attribute was."""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike import ops
from tensorlike.opdecl.compiler.attr_types import ATTR_TYPES, AttrType

SEEN: list[Any] = []

_KERNEL = """
  kernel: {cpu: "support.kept_attributes:keep"}
  infer: support.kept_attributes:same
"""
_ENTRY = """
- op: {name}
  args: [x: all]
  attrs: {{value: {attr}}}
  batch: each
  linear: [x]
  grad: none
  doc: The tensor itself.
"""


def keep(x: Any, value: Any) -> Any:
    """The kernel."""
    SEEN.append(value)
    return x.copy()


def same(x: Any, value: Any) -> Any:
    """The inference."""
    return x


def name_of(kind: AttrType) -> str:
    """The name of the op."""
    return "Keep" + kind.name.title().replace("_", "")


def entry_of(kind: AttrType) -> str:
    """Its declaration, but for the kernel."""
    words = f", of: [{', '.join(map(str, kind.examples))}]" if kind.name == "choice" else ""
    return _ENTRY.format(name=name_of(kind), attr=f"{{type: {kind.name}{words}}}")


DECLARED = tl.declare(
    "".join(entry_of(kind).rstrip() + _KERNEL for kind in ATTR_TYPES.values()), imports=True
)


def op_of(kind: AttrType, value: Any) -> Any:
    """The op with this attribute."""
    return getattr(ops.builtin, name_of(kind))(value=value)


def call_of(kind: AttrType) -> Any:
    """The functional call."""
    return DECLARED["keep_" + kind.name]
