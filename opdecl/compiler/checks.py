"""Whether the expressions of an entry mean something.

Names must exist, calls must fit the functions that they call, and dtypes must be able to flow
where they are sent: a float is not a bitwise operand, a number is not a condition. Inside a scalar
function all values have one C++ type `T` or are booleans; `value_types` works that out, for the
check here and for the emitter of C++.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .attr_types import ATTR_TYPES, CALCULATED
from .errors import did_you_mean, listing
from .expression import (
    CHOICE,
    CONSTANTS,
    ELEMWISE,
    PSEUDO,
    REFUSAL,
    RESULT,
    SIZE,
    Attr,
    AttrLiteral,
    Call,
    Expr,
    Name,
    Num,
    topological,
)
from .model import Arg, AttrDecl, Category, Entry, Formula
from .operators import COMPARE
from .parse import suggest_function

KINDS: Mapping[Category, frozenset[int]] = {
    Category.ALL: frozenset([0, 1, 2, 3]),
    Category.NUMERIC: frozenset([1, 2, 3]),
    Category.REAL_NUMERIC: frozenset([1, 2]),
    Category.REAL_OR_BOOLEAN: frozenset([0, 1, 2]),
    Category.FLOATING: frozenset([2, 3]),
    Category.REAL_FLOATING: frozenset([2]),
    Category.INTEGER: frozenset([1]),
    Category.INTEGER_OR_BOOLEAN: frozenset([0, 1]),
    Category.BOOLEAN: frozenset([0]),
}
FIXED_RANKS = {"bool": 0, "int64": 1, "complex": 3}  # of results that don't follow the arguments
CONDITIONS = frozenset([*COMPARE.values(), "logical_and", "logical_or", "logical_not"])
RANK_WORDS = ("boolean", "integer", "real floating-point", "complex")


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may read and call. Names map to the rank of their dtype (None: any)."""

    names: Mapping[str, int | None]
    functions: Mapping[str, Entry]
    attrs: Mapping[str, str] = field(default_factory=dict)  # attributes of the op, their types
    is_scalar: bool = False
    is_rule: bool = False  # of gradients


def _is_number(name: str, scope: Scope) -> bool:
    """Whether it is an attribute that stands for a number."""
    return name in scope.attrs and ATTR_TYPES[scope.attrs[name]].number is not None


def check_formula(formula: Formula, scope: Scope) -> list[str]:
    """The mistakes of an expression or body."""
    mistakes: list[str] = []
    ranks: dict[Expr, int | None] = {}
    nodes = topological(formula.results)
    counts = {
        node.args[0]: node.attrs[1][1].literal
        for node in nodes
        if isinstance(node, Call) and node.function == RESULT
    }
    for node in nodes:
        if isinstance(node, Num):
            ranks[node] = (bool, int, float).index(type(node.value))
        elif isinstance(node, Name):
            ranks[node] = scope.names.get(node.id)
            if _is_number(node.id, scope) and not scope.is_scalar:
                ranks[node] = ATTR_TYPES[scope.attrs[node.id]].rank
            elif node.id not in scope.names:
                known = [*scope.names, *scope.functions, *CONSTANTS]
                mistakes.append(_unknown_name(node.id, scope, known))
        elif isinstance(node, Call) and node.function in PSEUDO:
            ranks[node] = _check_pseudo(node, scope, ranks, mistakes)
        elif isinstance(node, Call):
            ranks[node] = _check_call(node, scope, ranks, mistakes, counts.get(node))
    return list(dict.fromkeys(mistakes))


def _unknown_name(name: str, scope: Scope, known: list[str]) -> str:
    if name in scope.attrs:
        kind = scope.attrs[name]
        return f"the attribute {name!r} is no number ({kind}): it may only be a keyword argument"
    if name in scope.functions:
        return f"{name!r} is a function; call it"
    return f"unknown name {name!r}{did_you_mean(name, known)}"


def _check_pseudo(
    node: Call, scope: Scope, ranks: Mapping[Expr, int | None], mistakes: list[str]
) -> int | None:
    """A choice, one of several results, or a refusal; the reader of op bodies alone makes them."""
    if node.function == CHOICE:
        mistakes += _unknown_attrs("if", node.attrs[0][1], scope)
    is_of_rules = any(part.kind == "flows" for _, attr in node.attrs for part in attr.walk())
    if (node.function == REFUSAL or is_of_rules) and not scope.is_rule:
        mistakes.append("`refused` and `flows` are for gradient rules alone")
    known = [ranks[arg] for arg in node.args]
    found = [rank for rank in known if rank is not None]
    return max(found) if node.function == CHOICE and len(found) == len(known) else None


def _unknown_attrs(name: str, attr: Attr, scope: Scope) -> list[str]:
    parts = (part.name for part in attr.walk() if part.kind == "attr")
    return [
        f"{name}={part}: there is no attribute {part!r}{did_you_mean(part, scope.attrs)}"
        for part in parts
        if part not in scope.attrs
    ]


def _check_call(
    node: Call,
    scope: Scope,
    ranks: Mapping[Expr, int | None],
    mistakes: list[str],
    results: AttrLiteral = None,
) -> int | None:
    name = node.function
    if name == SIZE and name not in scope.functions:
        if scope.is_scalar:
            mistakes.append("size(x) has no meaning in a scalar function")
        return 1
    if name == ELEMWISE and name not in scope.functions:
        (_, mode), *_ = node.attrs
        if mode.name not in scope.attrs:
            hint = did_you_mean(mode.name, scope.attrs)
            mistakes.append(f"mode={mode.name}: there is no attribute {mode.name!r}{hint}")
        return None
    entry = scope.functions.get(name)
    if entry is None:
        mistakes.append(suggest_function(name, [*scope.functions, SIZE, ELEMWISE]))
        return None
    if scope.is_scalar and entry.kind != "scalar":
        mistakes.append(f"{name} is of kind {entry.kind!r}; only scalar functions fit here")
        return None
    if results is None and entry.output_count != 1:
        mistakes.append(f"{name} does not have exactly one output, so it cannot be called here")
    elif results is not None and entry.output_count not in (-1, results):
        mistakes.append(f"{name} has {entry.output_count} results; got {results} names")
    _check_arity(node, entry, mistakes)
    _check_attrs(node, entry, scope, mistakes)
    return _check_ranks(node, entry, ranks, mistakes)


def _check_arity(node: Call, entry: Entry, mistakes: list[str]) -> None:
    fixed = [arg for arg in entry.args if not arg.is_variadic]
    count = len(node.args)
    most = len(entry.args) if not entry.args or not entry.args[-1].is_variadic else count
    if entry.args and entry.args[-1].is_optional:
        most = len(entry.args)
    if not len(fixed) <= count <= most:
        names = ", ".join(_spelled(arg) for arg in entry.args)
        plural = "argument" if len(entry.args) == 1 else "arguments"
        text = f"{node.function}({names}) takes {len(fixed)} {plural}; got {count}"
        mistakes.append(text)


def _spelled(arg: Arg) -> str:
    return f"{arg.name}?" if arg.is_optional else "*" * arg.is_variadic + arg.name


def _check_attrs(node: Call, entry: Entry, scope: Scope, mistakes: list[str]) -> None:
    known = {attr.name: attr for attr in entry.attrs}
    given = [name for name, _ in node.attrs]
    for name, attr in node.attrs:
        if name not in known:
            hint = did_you_mean(name, known)
            what = f"; it has {listing(known)}" if known and not hint else ""
            mistakes.append(f"{node.function} has no attribute {name!r}{hint}{what}")
        elif unknown := _unknown_attrs(name, attr, scope):
            mistakes.append(unknown[0])
        else:
            mistakes += _wrong_attr(node.function, known[name], name, attr)
            mistakes += _wrong_parts(node.function, name, attr, scope)
    for name in sorted(set(given)):
        if given.count(name) > 1:
            mistakes.append(f"{node.function}: the attribute {name!r} is given twice")
    for attr_decl in entry.attrs:
        if attr_decl.is_required and attr_decl.name not in given:
            mistakes.append(f"{node.function} needs the attribute {attr_decl.name!r}")


def _wrong_attr(function: str, decl: AttrDecl, name: str, attr: Attr) -> list[str]:
    kind = ATTR_TYPES[decl.type]
    if attr.kind == "arithmetic" and attr.name in CONDITIONS:
        is_right, words, got = kind.name in ("bool", "any"), kind.default_words, "a condition"
    elif attr.kind in CALCULATED:
        is_right = attr.kind in kind.calculated
        words = kind.name if kind.name in kind.calculated else kind.default_words
        shown = {"dim": "shape(...)[i]", "rank": "ndim(...)", "arithmetic": "a number",
                 "tuple": "a tuple", "list": f"{attr.name}(...)"}  # fmt: skip
        got = shown.get(attr.kind, f"{attr.kind}(...)")
    elif attr.kind == "literal":
        is_right, words = kind.accepts(attr.literal), kind.default_words
        got = _shown(attr.literal)
        if kind.name == "index":  # written between brackets
            is_right = is_right or isinstance(attr.literal, tuple)
        if decl.choices:
            is_right, words = attr.literal in decl.choices, listing(decl.choices)
    else:
        return []
    words = words.replace("null", "None").replace("true", "True").replace("false", "False")
    return [] if is_right else [f"{function}: {name} must be {words}; got {got}"]


def _wrong_parts(function: str, name: str, attr: Attr, scope: Scope) -> list[str]:
    """Calculated attributes are made of numbers."""
    wrong = []
    calculated = (outer for outer in attr.walk() if outer.kind in ("arithmetic", "tuple"))
    for part in (inner for outer in calculated for inner in outer.parts):
        is_number = (
            part.kind in ("arithmetic", "dim", "size", "rank")
            or (attr.kind == "tuple" and part.name == "sliced")
            or (attr.kind == "tuple" and part.kind == "shape")
            or (part.kind == "literal" and type(part.literal) in (int, float))
            or (part.kind == "attr" and _is_number(part.name, scope))
        )
        if not is_number:
            got = _shown(part.literal) if part.kind == "literal" else part.name or part.kind
            wrong.append(f"{function}: {name} must be calculated from numbers; got {got}")
    return wrong


def _shown(literal: AttrLiteral) -> str:
    return repr(literal) if len(repr(literal)) < 40 else "a long literal"


def _check_ranks(
    node: Call, entry: Entry, ranks: Mapping[Expr, int | None], mistakes: list[str]
) -> int | None:
    args = entry.args
    flowing: list[int] = []
    is_known = True
    for i, value in enumerate(node.args):
        arg = args[min(i, len(args) - 1)] if args else None
        rank = ranks[value]
        if arg is None or rank is None:
            is_known = False
            continue
        if rank > arg.category.rank:
            needed, got = arg.category.text, RANK_WORDS[rank]
            mistakes.append(f"{node.function}: {arg.name} must be {needed}; got {got}")
        if not is_condition(arg, args):
            flowing.append(rank)
    if entry.result in FIXED_RANKS:
        return FIXED_RANKS[entry.result]
    if not is_known or (entry.kind == "op" and any(a.type == "dtype" for a in entry.attrs)):
        return None
    floor = min(
        (min(KINDS[arg.category]) for arg in args if not is_condition(arg, args)), default=0
    )
    found = max([*flowing, floor, 1 if entry.result == "sum" else 0])
    return min(found, 2) if entry.result == "real" else found


def is_condition(arg: Arg, args: tuple[Arg, ...]) -> bool:
    """Whether an argument is a condition: boolean beside others, so outside promotion."""
    is_alone = all(other.category is Category.BOOLEAN for other in args)
    return arg.category is Category.BOOLEAN and not is_alone


def leading_category(args: tuple[Arg, ...]) -> Category:
    """The category of the promoted dtype: that of the first argument that takes part in it."""
    return next(arg.category for arg in args if not is_condition(arg, args))


def value_types(
    results: tuple[Expr, ...], args: tuple[Arg, ...], functions: Mapping[str, Entry]
) -> dict[Expr, str]:
    """The C++ type of each node of a scalar function: "T", "bool", "int64_t", or "literal"."""
    conditions = {arg.name for arg in args if is_condition(arg, args)}
    types: dict[Expr, str] = {}
    for node in topological(results):
        if isinstance(node, Num):
            types[node] = "bool" if isinstance(node.value, bool) else "literal"
        elif isinstance(node, Name):
            types[node] = "bool" if node.id in conditions else "T"
        elif isinstance(node, Call):
            entry = functions[node.function]
            if entry.result not in ("same", "real", "complex"):
                types[node] = {"bool": "bool", "int64": "int64_t"}[entry.result]
            else:
                types[node] = "bool" if computes_in_bool(node, entry, types) else "T"
    return types


def computes_in_bool(node: Call, entry: Entry, types: Mapping[Expr, str]) -> bool:
    """Whether a call works on booleans: all that flows in is boolean, and it takes booleans."""
    pairs = [
        (value, arg)
        for value, arg in zip(node.args, entry.args, strict=False)
        if not is_condition(arg, entry.args)
    ]
    return bool(pairs) and all(
        types[value] == "bool" and 0 in KINDS[arg.category] for value, arg in pairs
    )


def check_one_type(formula: Formula, entry: Entry, functions: Mapping[str, Entry]) -> list[str]:
    """A scalar function computes in the promoted dtype, so each dtype of its category must fit."""
    category = leading_category(entry.args)
    kinds = KINDS[category]
    types = value_types(formula.results, entry.args, functions)
    mistakes = []
    for node in topological(formula.results):
        if isinstance(node, Num) and isinstance(node.value, float) and not kinds <= {2, 3}:
            mistakes.append(f"holds the floating-point number {node.name or node.value!r}")
        if not isinstance(node, Call):
            continue
        callee = functions[node.function]
        if computes_in_bool(node, callee, types):
            continue
        wanted = leading_category(callee.args)
        if not kinds <= KINDS[wanted]:
            mistakes.append(f"calls {callee.name}, which takes {wanted.text}")
    words = f", but its arguments may be other than that ({category.text})"
    told = [mistake + words for mistake in dict.fromkeys(mistakes)]
    return told + _wrong_result(types[formula.results[0]], kinds, entry.result)


def _wrong_result(kind: str, kinds: frozenset[int], declared: str) -> list[str]:
    """Whether an expression gives what `result` promises."""
    is_boolean = kind == "bool" or (kind == "T" and kinds == {0})
    is_integer = (
        is_boolean or kind in ("int64_t", "literal") or (kind == "T" and not kinds & {2, 3})
    )
    if (declared == "bool" and not is_boolean) or (declared == "int64" and not is_integer):
        return [f"does not give the {declared} that `result` promises"]
    return []
