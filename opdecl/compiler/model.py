"""What a declaration says, as immutable data.

One class for each kind of entry; what they share is in `Entry`. Expressions are parsed, names are
not yet resolved: that needs all files, and is `checks`' work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

from .errors import Place
from .expression import CATEGORIES as CATEGORIES
from .expression import AttrLiteral, Expr
from .expression import Category as Category
from .formula_text import FormulaText
from .memory import NO_WISHES, Memory
from .onnx_node import OnnxNode
from .specs import NO_SHAPES, ShapeSpec

# What the dtype of a result may be: of an op, of a scalar function, of a reduction.
OP_RESULTS = ("same", "bool", "int64")
SCALAR_RESULTS = (*OP_RESULTS, "real", "complex")
RESULTS = (*OP_RESULTS, "sum")


@dataclass(frozen=True, slots=True)
class Arg:
    """A tensor argument; a variadic one takes any number of tensors, an optional one or none.

    `default` is the number that it is where a functional call is not given it.
    """

    name: str
    category: Category
    is_variadic: bool = False
    is_optional: bool = False
    default: int | float | None = None


@dataclass(frozen=True, slots=True)
class AttrDecl:
    """An attribute of an op; `is_required` where no default is given."""

    name: str
    type: str
    is_required: bool = True
    default: AttrLiteral = None
    doc: str = ""
    choices: tuple[str, ...] = ()  # of the type `choice`: the words that it may be


# What an example gives an argument or an attribute: a number, a word, or lists of such.
ExampleValue: TypeAlias = bool | int | float | str | list["ExampleValue"] | None
Example: TypeAlias = tuple[tuple[str, ExampleValue], ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed expression or body: its text, its place, its results."""

    text: str
    place: Place
    results: tuple[Expr, ...]


# The attributes that one of several calls of an op decides, with their values.
FixedAttrs: TypeAlias = tuple[tuple[str, AttrLiteral], ...]
# What `numpy` may name: a function of NumPy, of numpy.linalg or of math. Else it is an expression.
NUMPY_NAME = re.compile(r"((linalg|math)\.)?[a-z][a-z0-9_]*\Z")

NONE, HANDWRITTEN, UNKNOWN = "none", "handwritten", "unknown"


@dataclass(frozen=True, slots=True)
class GradRules:
    """The key `grad`: "none", "handwritten", or "rules" for the arguments named in `rules`.

    A rule of None says that this argument has no gradient. Those by the arguments in `unknown`
    exist, but nobody has written them: asking for one is an error. Where rules differ by the value
    of the attribute `match`, `choices` has those for each value, and `rules` are the first one's.
    """

    kind: str
    rules: tuple[tuple[str, Formula | None], ...] = ()
    unknown: tuple[str, ...] = ()
    match: str = ""
    choices: tuple[tuple[str, GradRules], ...] = ()

    @property
    def each(self) -> tuple[GradRules, ...]:
        """The rules of every choice; where there is none, themselves."""
        return tuple(rules for _, rules in self.choices) or (self,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What all kinds of entry have."""

    name: str
    place: Place
    args: tuple[Arg, ...]
    doc: str
    see: str = ""
    numpy: str = ""
    grad: GradRules | None = None
    complex_grad: GradRules | None = None  # in place of `grad` where complex numbers flow
    result: str = "same"
    is_method: bool = False
    example: Example = ()
    requires: tuple[Formula, ...] = ()  # conditions on numbers that a call gives
    fixed: FixedAttrs = ()  # what the functional call decides of the op's attributes
    onnx: tuple[OnnxNode, ...] = ()  # the ops of ONNX that it is

    @property
    def kind(self) -> str:
        """The key that opens the entry."""
        raise NotImplementedError

    @property
    def source(self) -> str:
        """Where it is declared, as generated text says it: its line would change with others."""
        return f"{self.place.path}: {self.name}"

    @property
    def function(self) -> str:
        """The name of its functional call."""
        return self.name

    @property
    def attrs(self) -> tuple[AttrDecl, ...]:
        """The attributes of its functional call."""
        return ()

    @property
    def variants(self) -> tuple[Entry, ...]:
        """Further functional calls of the same op."""
        return ()

    @property
    def output_count(self) -> int:
        """How many tensors come out; -1 where attributes decide."""
        return 1

    @property
    def is_native(self) -> bool:
        """Whether its meaning is a kernel, not an expression."""
        raise NotImplementedError

    @property
    def is_newest(self) -> bool:
        """Whether code is generated from it: no later version is declared, nor is it raw."""
        return True

    @property
    def stem(self) -> str:
        """The name of its file, without folder and suffix."""
        return self.place.path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".yaml")

    def has_rule_for(self, arg: str) -> bool:
        """Whether `grad` speaks of `arg`."""
        rules = self.grad.rules if self.grad is not None else ()
        return any(name == arg for name, _ in rules) or arg in self.unknown_slopes

    @property
    def unknown_slopes(self) -> tuple[str, ...]:
        """The arguments by which a gradient cannot be had."""
        return self.grad.unknown if self.grad is not None else ()


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a scalar function."""

    name: str
    formula: Formula


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarEntry(Entry):
    """A scalar function: a mode of Elemwise. Without outputs here it is native, with one output."""

    outputs: tuple[Output, ...] = ()
    unchanged: Category | None = None  # the numbers that come out as they are
    formulas: tuple[FormulaText, ...] = ()  # of a native one, for devices without its kernel
    linear: tuple[tuple[str, ...], ...] = ()  # groups: linear in each by itself

    @property
    def kind(self) -> str:
        return "scalar"

    @property
    def output_count(self) -> int:
        return max(len(self.outputs), 1)

    @property
    def is_native(self) -> bool:
        return not self.outputs


AXIS = AttrDecl("axis", "axis", False, None, "the axis or axes to reduce; None reduces all.")
KEEPDIMS = AttrDecl("keepdims", "bool", False, False, "keep the reduced axes with size 1.")
SUM_DTYPE = AttrDecl(
    "dtype",
    "dtype",
    False,
    None,
    "the dtype that elements are converted to first, and the result's.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionEntry(Entry):
    """A reduction: a mode of Reduce."""

    map: Formula | None = None
    combine: Formula | None = None
    init: str = ""
    finish: Formula | None = None
    has_identity: bool = True

    @property
    def kind(self) -> str:
        return "reduction"

    @property
    def attrs(self) -> tuple[AttrDecl, ...]:
        return (AXIS, KEEPDIMS, SUM_DTYPE) if self.result == "sum" else (AXIS, KEEPDIMS)

    @property
    def is_native(self) -> bool:
        return self.map is None


@dataclass(frozen=True, slots=True)
class CallDecl:
    """A further functional call of an op: the same op with some attributes fixed."""

    name: str
    place: Place
    args: tuple[Arg, ...]
    fixed: FixedAttrs
    outputs: int
    doc: str
    example: Example = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpEntry(Entry):
    """An op class with its own attributes."""

    own_attrs: tuple[AttrDecl, ...] = ()
    outputs: int = 1
    infer: str = ""
    kernels: tuple[tuple[str, str], ...] = ()
    expand: str = ""  # the name of a body that stands in C++
    linear: tuple[tuple[str, ...], ...] = ()  # groups: linear in each by itself
    batch: str = ""  # how an axis of examples goes through it; "" where nothing is said
    memory: Memory = NO_WISHES
    shapes: ShapeSpec = NO_SHAPES
    effects: str = ""  # "random": nobody may repeat it, or do it before its time
    flops: str = ""  # what its products cost, from shapes and attributes
    channels: tuple[tuple[str, int], ...] = ()  # the axis of arguments, and of y, that is one
    call: str = ""
    calls: tuple[CallDecl, ...] = ()
    version: int = 1
    newest: str = ""  # of an older version: the name that the newest one has
    library: str = ""  # the file of the shared library that has its kernel

    @property
    def kind(self) -> str:
        return "op"

    @property
    def is_newest(self) -> bool:
        return not self.newest

    @property
    def function(self) -> str:
        return self.call

    @property
    def attrs(self) -> tuple[AttrDecl, ...]:
        return tuple(attr for attr in self.own_attrs if attr.name not in dict(self.fixed))

    @property
    def variants(self) -> tuple[OpEntry, ...]:
        """The further calls of this op, each as an entry with some attributes fixed."""
        return tuple(
            replace(
                self,
                place=call.place,
                call=call.name,
                args=call.args,
                calls=(),
                fixed=call.fixed,
                outputs=call.outputs,
                doc=call.doc,
                example=call.example,
            )
            for call in self.calls
        )

    @property
    def output_count(self) -> int:
        return self.outputs

    @property
    def kernel(self) -> str:
        """The name of its CPU kernel, or ""."""
        return dict(self.kernels).get("cpu", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedOp(OpEntry):
    """An op whose meaning is a body; a kernel beside it is an optimisation."""

    define: Formula

    @property
    def is_native(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeOp(OpEntry):
    """An op whose kernel and inference are written by hand."""

    @property
    def is_native(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RawOp(Entry):
    """An op whose class is written by hand, in a file of Python. Nothing is generated from it."""

    written_in: str

    @property
    def kind(self) -> str:
        return "op"

    @property
    def is_newest(self) -> bool:
        return False

    @property
    def is_native(self) -> bool:
        return False


def rule_names(entry: Entry) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the outputs and of their cotangents in the rules of `grad`.

    One output is `y`, or `out` where an argument is called `y`; several are `y0`, `y1`, ... So are
    those whose number attributes decide: as many as there are at most.
    """
    if entry.output_count == 1:
        taken = any(arg.name == "y" for arg in entry.args)
        return ("out" if taken else "y",), ("dy",)
    cases = entry.shapes.cases if isinstance(entry, OpEntry) else ()
    count = max([entry.output_count, *(len(case.results) for case in cases)])
    count = max(count, 0)
    return tuple(f"y{i}" for i in range(count)), tuple(f"dy{i}" for i in range(count))


def is_differentiable(entry: Entry) -> bool:
    """Whether gradients flow through it: some argument has them, the result can, none refuses."""
    if entry.grad is not None and entry.grad.kind == NONE:
        return False
    if entry.result in ("bool", "int64"):
        return False
    return any(arg.category.is_differentiable for arg in entry.args)


def takes_complex(entry: Entry) -> bool:
    """Whether complex numbers may flow in or out of it."""
    return entry.result == "complex" or any(arg.category.takes_complex for arg in entry.args)


def complex_names(entry: Entry) -> frozenset[str]:
    """The inputs and outputs, by their names in rules, that may be complex."""
    inputs = [a.name for a in entry.args if a.category.takes_complex and not a.is_variadic]
    keeps = entry.result in ("same", "sum") and bool(inputs)
    return frozenset([*inputs, *(rule_names(entry)[0] if keeps else ())])
