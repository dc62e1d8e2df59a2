"""The expression language's tree: numbers, names and calls.

One tree feeds every back end (C++, bodies of steps, derivatives, NumPy, LaTeX), so its nodes are
immutable and compare by a digest of their structure, made once from the digests of their parts.
Sharing is therefore free: an assignment of a body is the same node read twice, equal
subexpressions are equal keys of a dict, and no walk over a shared tree takes longer than the
number of its different nodes. Nothing here recurses, since bodies may chain deeply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import blake2b
from typing import TypeAlias

Value: TypeAlias = bool | int | float
AttrLiteral: TypeAlias = bool | int | float | str | tuple[int, ...] | None


class Category(Enum):
    """The Array API standard's dtype categories; `rank` is the highest kind of dtype within.

    Ranks order dtypes as promotion does: 0 boolean, 1 integer, 2 real floating-point, 3 complex.
    """

    ALL = ("all", "kAll", 3)
    NUMERIC = ("numeric", "kNumeric", 3)
    REAL_NUMERIC = ("real numeric", "kRealNumeric", 2)
    REAL_OR_BOOLEAN = ("real or boolean", "kRealOrBoolean", 2)
    FLOATING = ("floating-point", "kFloating", 3)
    REAL_FLOATING = ("real floating-point", "kRealFloating", 2)
    INTEGER = ("integer", "kInteger", 1)
    INTEGER_OR_BOOLEAN = ("integer or boolean", "kIntegerOrBoolean", 1)
    BOOLEAN = ("boolean", "kBoolean", 0)

    def __init__(self, text: str, cpp: str, rank: int) -> None:
        self.text = text
        self.cpp = cpp
        self.rank = rank

    @property
    def word(self) -> str:
        """What the core calls it."""
        return "floating" if self is Category.FLOATING else self.text

    @property
    def is_differentiable(self) -> bool:
        """Whether its dtypes have gradients at all."""
        return self.rank >= 2

    @property
    def takes_complex(self) -> bool:
        """Whether complex dtypes belong to it."""
        return self.rank >= 3


CATEGORIES: Mapping[str, Category] = {category.text: category for category in Category}

CONSTANTS: Mapping[str, float] = {
    "PI": math.pi,
    "E": math.e,
    "SQRT2": math.sqrt(2.0),
    "SQRT1_2": math.sqrt(0.5),
    "LN2": math.log(2.0),
    "LN10": math.log(10.0),
    "LOG2_E": 1.0 / math.log(2.0),
    "LOG10_E": 1.0 / math.log(10.0),
    "SQRT_2_OVER_PI": math.sqrt(2.0 / math.pi),
    "TWO_OVER_SQRT_PI": 2.0 / math.sqrt(math.pi),
    "INF": math.inf,
    "NAN": math.nan,
}

# The pseudo-call of bodies whose result is the number of elements, as a literal.
SIZE = "size"

# The pseudo-call of lowered bodies whose result is the number that an attribute of the op is.
ATTRIBUTE = "attribute"

# In a gradient rule: what has arrived for the argument so far, to which the rule adds.
TOTAL = "total"

# The pseudo-call elemwise(x, mode=name) of bodies: the scalar function of one argument that an
# attribute of the op names.
ELEMWISE = "elemwise"


# Pseudo-calls of bodies and rules, which no function's name can be: one of two values, by a
# condition on attributes and shapes; one of several results of a call; an error.
CHOICE = "if"
RESULT = "[]"
REFUSAL = "raise"
PSEUDO = frozenset([CHOICE, RESULT, REFUSAL])


def _digest(*parts: bytes | str) -> bytes:
    state = blake2b(digest_size=16)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(4, "little"))
        state.update(data)
    return state.digest()


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A node. Equal where the structure is equal."""

    key: bytes = field(init=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, slots=True, eq=False)
class Num(Expr):
    """A literal; `name` is the named constant that it was written as, for printing."""

    value: Value
    name: str = ""

    def __post_init__(self) -> None:
        kind = type(self.value).__name__
        object.__setattr__(self, "key", _digest("num", kind, repr(self.value)))


@dataclass(frozen=True, slots=True, eq=False)
class Name(Expr):
    """An input of the expression."""

    id: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", _digest("name", self.id))


# Functions that give lists, by the number of their arguments: the inverse of a permutation, a shape
# with another size along an axis, the permutation of so many axes that swaps the last two. What
# `sliced` is of a list is written `*shape(x)[:-1]`.
LISTS: Mapping[str, int] = {"inverse": 1, "resized": 3, "swapped": 1}


@dataclass(frozen=True, slots=True)
class Attr:
    """The value of a call's attribute.

    kind is "literal" (`literal`), "attr" (the attribute `name` of the op whose body this is),
    "shape" or "dtype" (of the node `of`), "dim" (number `dim` of the shape of `of`), "arithmetic"
    (the function `name` of the `parts`), "list" (the same, of what gives lists: LISTS), "size" (the
    elements of `of`), "rank" (of `of`), "flows" (whether anything flows into `of`) or "tuple" (of
    the `parts`). A "dim" with a part is along the axis that this says.
    """

    kind: str
    literal: AttrLiteral = None
    name: str = ""
    of: Expr | None = None
    dim: int = 0
    parts: tuple[Attr, ...] = ()

    def walk(self) -> Iterator[Attr]:
        """Itself and all its parts."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def digest(self) -> bytes:
        """Stands for the attribute in the digest of its call."""
        literal = f"{type(self.literal).__name__}:{self.literal!r}"
        of = self.of.key if self.of is not None else b""
        parts = [part.digest() for part in self.parts]
        return _digest(self.kind, literal, self.name, of, str(self.dim), *parts)


Attrs: TypeAlias = tuple[tuple[str, Attr], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A call of a functional name; operators are calls too (`a + b` is `add(a, b)`)."""

    function: str
    args: tuple[Expr, ...]
    attrs: Attrs = ()

    def __post_init__(self) -> None:
        attrs: list[bytes | str] = []
        for name, attr in self.attrs:
            attrs += [name, attr.digest()]
        parts = [arg.key for arg in self.args]
        digest = _digest("call", self.function, str(len(parts)), *parts, *attrs)
        object.__setattr__(self, "key", digest)


def children(expr: Expr) -> Iterator[Expr]:
    """The nodes that `expr` reads."""
    if isinstance(expr, Call):
        yield from expr.args
        for _, attr in expr.attrs:
            yield from (part.of for part in attr.walk() if part.of is not None)


def topological(roots: Iterable[Expr]) -> list[Expr]:
    """Every node below `roots` once, each after what it reads, in the order of first use."""
    order: dict[Expr, None] = {}
    for root in roots:
        stack: list[tuple[Expr, Iterator[Expr]]] = [(root, children(root))]
        while stack:
            node, pending = stack[-1]
            child = None if node in order else next(pending, None)
            if child is None:
                order.setdefault(node)
                stack.pop()
            elif child not in order:
                stack.append((child, children(child)))
    return list(order)


Build: TypeAlias = Callable[[str, tuple[Expr, ...], Attrs], Expr]


def rebuild(roots: Iterable[Expr], names: Mapping[str, Expr], build: Build) -> tuple[Expr, ...]:
    """`roots` with the names replaced and every call made anew by `build`."""
    roots = tuple(roots)
    done: dict[Expr, Expr] = {}
    for node in topological(roots):
        if isinstance(node, Name):
            done[node] = names.get(node.id, node)
        elif isinstance(node, Call):
            attrs = tuple((name, _reading(attr, done)) for name, attr in node.attrs)
            done[node] = build(node.function, tuple(done[arg] for arg in node.args), attrs)
        else:
            done[node] = node
    return tuple(done[root] for root in roots)


def _reading(attr: Attr, nodes: Mapping[Expr, Expr]) -> Attr:
    """An attribute that reads other nodes."""
    if attr.of is None and not attr.parts:
        return attr
    of = None if attr.of is None else nodes[attr.of]
    parts = tuple(_reading(part, nodes) for part in attr.parts)
    return replace(attr, of=of, parts=parts)


def names_read(roots: Iterable[Expr]) -> set[str]:
    """The inputs that the expressions read."""
    return {node.id for node in topological(roots) if isinstance(node, Name)}


def functions_called(roots: Iterable[Expr]) -> list[str]:
    """The functions that the expressions call, in the order of first use."""
    calls = (node.function for node in topological(roots) if isinstance(node, Call))
    return [function for function in dict.fromkeys(calls) if function not in PSEUDO]
