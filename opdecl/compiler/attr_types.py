"""The types that attributes are declared to have: one table, of which all else is read.

A row says in which forms an op holds such a value, in which a call may give it, and what becomes of
it elsewhere. The compiler reads it here; `emit_attr_types.py` writes it for the core, from which
the binding and the transforms have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

from .expression import AttrLiteral, Category


@dataclass(frozen=True, slots=True)
class Form:
    """What a value may be: an alternative of the core's `Attr`, in its order, or read as one.

    Args:
        name: its name; `Form` of csrc/op/attr.h has it too.
        held: the annotation of an attribute that an op holds so; none for what few ops take.
        given: that of what calls give, where it is another one.
        tag: the word under which it stands in a file; without one, JSON has it as it is.
    """

    name: str
    held: str = ""
    given: str = ""
    tag: str = ""


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form("none", "None"),
        Form("bool", "bool"),
        Form("int", "int"),
        Form("float", "float"),
        Form("str", "str"),
        Form("ints", "tuple[int, ...]", "Sequence[int]"),
        Form("dtype", "object", tag="dtype"),
        Form("complex", tag="complex"),
        Form("wide"),  # an integer beyond int64
        Form("pairs"),  # pairs of integers in a list, which is held flat
    )
}
# Forms that a declaration can write down, by their classes.
_LITERALS = {
    type(None): "none", bool: "bool", int: "int", float: "float", str: "str", tuple: "ints",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AttrType:
    """A type of attributes.

    Args:
        name: what declarations call it.
        doc: what it is.
        holds: the forms in which an op has it.
        takes: those in which calls may give it, in the order of annotations; else those. Where it
            takes integers and holds lists, an integer stands for the list of it alone.
        defaults: the forms of defaults, and of literals in bodies; else those that an op holds.
        default_words: the same in words.
        wanted: what a call must give, in words; else the name.
        called: what errors call it; else the name.
        calculated: the kinds of expressions of a body that give it.
        number: what number it is in formulas; None where it is none.
        follows: what becomes of it where there is an axis of examples in front: "axes", which
            count from the front, move; "shape", that of a result, has one size more; "" stays.
        front: the integers that come before it then.
        examples: values of it, for tests.
    """

    name: str
    doc: str
    holds: tuple[str, ...]
    takes: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    default_words: str
    wanted: str = ""
    called: str = ""
    calculated: tuple[str, ...] = ()
    number: Category | None = None
    follows: str = ""
    front: tuple[int, ...] = ()
    examples: tuple[AttrLiteral, ...]

    def __post_init__(self) -> None:
        """Fills in what follows from other columns."""
        name = self.called or self.name
        usual = {"takes": self.holds, "defaults": self.holds, "called": name,
                 "wanted": f"of type {name}"}  # fmt: skip
        for column, value in usual.items():
            object.__setattr__(self, column, getattr(self, column) or value)

    def accepts(self, value: object) -> TypeGuard[AttrLiteral]:
        """Whether a declaration may write this."""
        return _LITERALS.get(type(value), "") in self.defaults

    def held(self, value: AttrLiteral) -> AttrLiteral:
        """A default as an op holds it."""
        return float(value) if type(value) is int and "int" not in self.holds else value

    @property
    def names_axes(self) -> bool:
        """Whether it says along which axes of the first argument an op goes."""
        return self.follows == "axes" and not self.front

    @property
    def rank(self) -> int | None:
        """The rank of the number that it is; None where it is none, or the value says it."""
        return self.number.rank if self.number is not None and len(self.holds) == 1 else None

    @property
    def held_annotation(self) -> str:
        """The Python type of an op's attribute."""
        return _union([FORMS[name].held for name in self.holds])

    @property
    def given_annotation(self) -> str:
        """The Python type of what functional calls take."""
        return _union([FORMS[name].given or FORMS[name].held for name in self.takes])


def is_int(value: object) -> bool:
    """Whether it is an integer, and no boolean."""
    return type(value) is int


def _union(annotations: Sequence[str]) -> str:
    return "object" if "object" in annotations else " | ".join(filter(None, annotations))


# Calls of a body from which numbers are calculated.
_NUMBERS = ("dim", "arithmetic", "size", "rank")
# A whole slice, as csrc/op/index.h reads the items of an index.
_WHOLE = (1, -(2**63), -(2**63), -(2**63))
_LISTS = ((2, 2), (1,), (0,), (1, 1), (1, 1, 1), (0, 1))
_int = partial(
    AttrType, holds=("int",), default_words="an integer", calculated=_NUMBERS,
    number=Category.INTEGER, examples=(1,),
)  # fmt: skip
_ints = partial(
    AttrType, holds=("ints",), takes=("int", "ints"),
    wanted="an integer, or a sequence of integers",
    defaults=("none", "ints"), default_words="null or a list of integers",
    calculated=("shape", "list", "tuple"), examples=_LISTS,
)  # fmt: skip
_TYPES = (
    AttrType(
        name="bool", doc="true or false.", holds=("bool",), number=Category.BOOLEAN,
        defaults=("none", "bool"), default_words="true, false or null", examples=(True, False),
    ),
    _int(name="int", doc="an integer."),
    AttrType(
        name="float", doc="a real number.", holds=("float",), number=Category.REAL_FLOATING,
        defaults=("int", "float"), default_words="a number", calculated=_NUMBERS, examples=(0.5,),
    ),
    AttrType(
        name="str", doc="text.", holds=("str",), default_words="text",
        examples=("sum", "cumulative_sum"),
    ),
    AttrType(
        name="choice", doc="one of the words under `of`.", holds=("str",), called="str",
        default_words="one of its words", examples=("sum",),
    ),
    AttrType(
        name="dtype", doc="a dtype, its name, or Python's or NumPy's class.", holds=("dtype",),
        defaults=("none", "str"), default_words="null or the name of a dtype",
        calculated=("dtype",), examples=("float32",),
    ),
    AttrType(
        name="device", doc="the name of a device.", holds=("str",),
        defaults=("none",), default_words="null", examples=("cpu",),
    ),
    AttrType(
        name="axis", doc="an axis, several, or None, which is all of them.",
        holds=("int", "ints", "none"), default_words="null, an integer or a list of integers",
        calculated=(*_NUMBERS, "tuple"), follows="axes", examples=(0, (0, 1), None),
    ),
    _int(name="one_axis", doc="an axis.", follows="axes"),
    _ints(
        name="axes", doc="axes.", calculated=("list", "tuple"), follows="axes",
        examples=((1,), (0,), (0, 1)),
    ),
    _ints(name="shape", doc="the shape of a result.", follows="shape"),
    _ints(name="sizes", doc="sizes that are the same for every example."),
    _ints(
        name="widths", doc="two sizes for each dimension, before and after it.",
        wanted="two integers for each dimension, in pairs or in one sequence, such as "
        "((0, 0), (1, 1))",
        takes=("int", "ints", "pairs"), defaults=("ints",), default_words="a list of integers",
        calculated=("tuple",), front=(0, 0), examples=((1, 0, 0, 1),),
    ),
    _ints(
        name="permutation", doc="all axes, in another order.",
        wanted="a sequence of integers", defaults=("ints",), default_words="a list of integers",
        calculated=("list", "tuple"), follows="axes", front=(0,), examples=((1, 0),),
    ),
    AttrType(
        name="padding", doc="a word, or sizes.", holds=("str", "ints"),
        takes=("str", "int", "ints"), default_words="a word or a list of integers",
        calculated=("tuple",), examples=_LISTS,
    ),
    AttrType(
        name="scalar", doc="a number of any kind, or a boolean.",
        holds=("bool", "int", "float", "complex", "wide"), number=Category.REAL_NUMERIC,
        defaults=("none", "bool", "int", "float"), default_words="a number, a boolean or null",
        calculated=_NUMBERS, examples=(1.0,),
    ),
    AttrType(
        name="index", doc="the items of an index, four integers each.", holds=("ints",),
        defaults=("none",), default_words="null", calculated=("tuple",), front=_WHOLE,
        examples=((0, 1, 0, 0),),
    ),
    AttrType(
        name="any", doc="anything of these.",
        holds=tuple(form for form in FORMS if form != "pairs"),
        takes=("bool", "int", "float", "str", "ints", "complex", "wide", "none"),
        default_words="anything", calculated=(*_NUMBERS, "shape", "dtype", "list", "tuple"),
        examples=(1,),
    ),
)  # fmt: skip
ATTR_TYPES: Mapping[str, AttrType] = {kind.name: kind for kind in _TYPES}
# The kinds of expressions of a body that give attributes, literals and attributes aside.
CALCULATED = frozenset(part for kind in _TYPES for part in kind.calculated)
