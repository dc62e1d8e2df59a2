"""The lowered declarations: csrc/op/spec.h as Python data, field by field.

`specs_text` writes them as the core reads them, so that what is declared at run time becomes what
is built in: JSON, as program files have it (docs/program_file.md), with what only this process has,
sources and wishes of kernels. What has its default value is left out, so that a line shows what an
entry says. Words are those of csrc/op/declaration_fields.h: of a category the core's ("real
floating-point"), of a result "same", "bool", "int64", "sum", "real" or "complex". A field that the
core calls otherwise says so, and one that is Python's alone.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

from .expression import AttrLiteral, Value

OURS = {"key": None}  # a field that the core does not know


@dataclass(frozen=True, slots=True)
class AttrExpr:
    """A step's attribute: kind is "literal", "attr", "shape", "dim", "dtype", "arithmetic" (of the
    function `attr` on the `parts`) or "tuple" (of the `parts`). In declared shapes a slot is an
    argument, a "dim" may be along the axis that its one part gives, and there is "size", number
    `slot` of those that patterns name. "rank" is that of a slot, "flows" whether anything flows
    into it.
    """

    kind: str = "literal"
    literal: AttrLiteral = None
    attr: str = ""
    slot: int = 0
    dim: int = 0
    parts: tuple[AttrExpr, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One functional call, or a pseudo-call: `size`, `attribute`, `if`, `raise`."""

    call: str
    args: tuple[int, ...]
    attrs: tuple[tuple[str, AttrExpr], ...] = ()
    outputs: int = 1


@dataclass(frozen=True, slots=True)
class Body:
    """Straight-line calls. Slots: inputs, then constants, then the results of the steps."""

    inputs: int = 0
    constants: tuple[Value, ...] = ()
    steps: tuple[Step, ...] = ()
    results: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Grad:
    """The gradient of one input; the body reads inputs, outputs and cotangents.

    It has no results where the slope is declared to be unknown. A rule that `adds_up` reads what
    has arrived so far, too. Of several rules, each is for one value of the attribute `match`. The
    further results of a body are the gradients of the inputs `beside`.
    """

    input: int
    body: Body
    adds_up: bool = False
    match: str = ""
    choice: str = ""
    beside: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of arguments of a scalar function, or attributes of an op: the inputs."""

    text: str
    body: Body


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """A tensor argument."""

    name: str
    category: str = "all"
    variadic: bool = False
    optional: bool = False
    fallback: int | float | None = None


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """A mode of Elemwise."""

    name: str
    args: tuple[ArgSpec, ...]
    result: str = "same"
    outputs: int = 1
    grads: tuple[Grad, ...] = ()
    complex_grads: tuple[Grad, ...] = ()
    differentiable: bool = True
    expansion: Body = Body()
    derived: bool = False
    unchanged: str = ""  # the category of numbers that come out as they are
    conditions: tuple[Condition, ...] = ()
    linear: tuple[tuple[int, ...], ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class ReductionSpec:
    """A mode of Reduce."""

    name: str
    arg: ArgSpec
    result: str = "same"
    grads: tuple[Grad, ...] = ()
    complex_grads: tuple[Grad, ...] = ()
    differentiable: bool = True
    has_identity: bool = True
    single_axis: bool = False
    linear: bool = False
    # What one declared at run time means; the built-in ones are compiled.
    map: Body = Body()
    combine: Body = Body()
    finish: Body = Body()
    init: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class AttrSpec:
    """An attribute of an op class or a functional call."""

    name: str
    type: str
    required: bool = True
    fallback: AttrLiteral = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShapePart:
    """Part of a declared shape: a "size", "group", "resized", "reduced", "reduced some", "held"
    or "permuted".
    """

    kind: str = "size"
    group: int = 0
    size: AttrExpr = AttrExpr()
    axis: AttrExpr = AttrExpr()


@dataclass(frozen=True, slots=True)
class ArgShape:
    """The pattern of an argument's shape, or what it must broadcast to."""

    arg: int
    broadcasts: bool = False
    parts: tuple[ShapePart, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class ResultShape:
    """A result: `of` is "joint", "real", "complex", "arg", "given", "attr" or "scalar"."""

    of: str = "joint"
    start: int = field(default=0, metadata={"key": "from"})  # the argument, or the attribute
    dtype: str = ""
    parts: tuple[ShapePart, ...] = ()
    when: AttrExpr = AttrExpr("literal", literal=True)


@dataclass(frozen=True, slots=True)
class ShapeCase:
    """One way in which the shapes of arguments make those of results."""

    when: AttrExpr = AttrExpr("literal", literal=True)
    args: tuple[ArgShape, ...] = ()
    results: tuple[ResultShape, ...] = ()
    text: str = field(default="", metadata=OURS)


@dataclass(frozen=True, slots=True)
class SizeCondition:
    """What must hold of sizes."""

    text: str
    holds: AttrExpr


@dataclass(frozen=True, slots=True)
class ShapeSpec:
    """Inference as it is declared; `broadcast` is the number of the group `...`."""

    sizes: int = 0
    groups: int = 0
    broadcast: int = -1
    cases: tuple[ShapeCase, ...] = ()
    conditions: tuple[SizeCondition, ...] = ()


NO_SHAPES = ShapeSpec()


@dataclass(frozen=True, slots=True)
class MemorySpec:
    """What a kernel wants of memory; inputs are numbered."""

    view: bool = False
    contiguous: int = 0  # bit i: input i
    computes_in: str = ""  # "", "result" or "promoted"
    reuses: int = -1


@dataclass(frozen=True, slots=True)
class OpSpec:
    """An op class."""

    name: str
    args: tuple[ArgSpec, ...]
    attrs: tuple[AttrSpec, ...] = ()
    outputs: int = 1
    infer: str = ""
    kernel: str = ""
    grad: str = ""
    grads: tuple[Grad, ...] = ()
    complex_grads: tuple[Grad, ...] = ()
    differentiable: bool = True
    define: Body = Body()
    expand: str = ""
    linear: tuple[tuple[int, ...], ...] = ()
    batch: str = ""
    memory: MemorySpec = MemorySpec()
    conditions: tuple[Condition, ...] = ()
    shapes: ShapeSpec = NO_SHAPES
    effects: str = ""
    channels: tuple[tuple[int, ...], ...] = ()
    source: str = ""
    version: int = 1
    library: str = field(default="", metadata=OURS)  # the file that has its kernel


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A functional call: tensors, keyword attributes, and the op that they make."""

    name: str
    op: str
    fixed: tuple[tuple[str, AttrLiteral], ...] = ()
    args: tuple[ArgSpec, ...] = ()
    attrs: tuple[AttrSpec, ...] = ()
    doc: str = field(default="", metadata=OURS)


@dataclass(frozen=True, slots=True)
class IdentitySpec:
    """What is the same, written in two ways; it holds "exactly", "nearly", by "definition" or as a
    "body".
    """

    text: str
    holds: str
    before: OpSpec = field(metadata={"key": "from"})
    after: OpSpec = field(metadata={"key": "to"})


Spec: TypeAlias = ScalarSpec | ReductionSpec | OpSpec | FunctionSpec

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
