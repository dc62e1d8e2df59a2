"""The values of one entry's keys, read with checks.

Every getter returns something usable and reports what is wrong, so that one pass over an entry
finds all its mistakes.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Collection
from collections.abc import Mapping as DictLike
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from .attr_types import ATTR_TYPES, is_int
from .errors import Place, Problems, did_you_mean, listing, shorten
from .expression import CONSTANTS, ELEMWISE, SIZE, AttrLiteral
from .loader import Mapping, Node, Scalar, Sequence
from .model import CATEGORIES, Arg, AttrDecl, Category, Formula
from .parse import FORMS, Parsed, Reader, parse_body

WORD = re.compile(r"[a-z][a-z0-9_]*\Z")
CLASS = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
PYTHON = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*\Z")
MAX_NAME = 64
LIKE = "like"
# What other frameworks' declarations have, and these do not.
MISSING = {
    "cuda": "kernels run on the cpu alone",
}
BOOLEAN_WORDS = frozenset(["yes", "no", "on", "off"])
CPP_KEYWORDS = frozenset(
    """
    alignas alignof and_eq asm auto bitand bitor bool case catch char concept const consteval
    constexpr constinit const_cast co_await co_return co_yield decltype default delete do double
    dynamic_cast enum explicit export extern false float friend goto inline int long mutable
    namespace new noexcept not_eq nullptr operator or_eq private protected public register
    reinterpret_cast requires short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true typedef typeid typename union unsigned using virtual
    void volatile wchar_t xor xor_eq compl int32_t int64_t std main errno
    """.split()  # noqa: SIM905
)
CORE_OPS = frozenset(["Elemwise", "Reduce", "Const", "OpBase", "Function"])
RESERVED = frozenset(["dy", "out", "self", *FORMS])


def check_name(
    name: str,
    is_plain: bool,
    pattern: re.Pattern[str],
    is_cpp: bool = True,
    may_be_built_in: bool = False,
) -> str:
    """What is wrong with a name, or ""; `is_cpp` says whether C++ has an identifier for it."""
    style = "CamelCase" if pattern is CLASS else "snake_case"
    if is_plain and name.lower() in BOOLEAN_WORDS:
        return f"{name!r} cannot be a name: YAML 1.1 reads it as a boolean; choose another"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return f"{name!r} cannot be a name: it is a keyword of Python"
    if is_cpp and name in CPP_KEYWORDS:
        return f"{name!r} cannot be a name: C++ has a meaning for it"
    if not pattern.match(name):
        return f"{shorten(name)} cannot be a name; a {style} word is expected"
    if (name in CORE_OPS or name in (SIZE, ELEMWISE)) and not may_be_built_in:
        return f"{name!r} cannot be a name: it is built in"
    if len(name) > MAX_NAME:
        return f"{shorten(name)} cannot be a name: it is longer than {MAX_NAME} characters"
    return ""


# The attributes of the ops declared before an entry, from which `like` takes them.
AttrsByOp: TypeAlias = DictLike[str, tuple[AttrDecl, ...]]


class Fields:
    """The keys of one entry."""

    def __init__(
        self,
        mapping: Mapping,
        entry: str,
        problems: Problems,
        earlier: AttrsByOp = MappingProxyType({}),
    ) -> None:
        self.mapping = mapping
        self.entry = entry
        self.problems = problems
        self.earlier = earlier
        self.attrs_read: tuple[AttrDecl, ...] = ()

    def refuse(self, place: Place, text: str) -> None:
        """Reports a mistake of this entry."""
        self.problems.add(place, self.entry, text)

    def check_keys(self, allowed: Collection[str]) -> None:
        """Reports keys that this kind of entry does not have."""
        for key, scalar in self.mapping.keys.items():
            if key in MISSING and key not in allowed:
                self.refuse(scalar.place, f"{key}: {MISSING[key]}; leave it out")
            elif key not in allowed:
                hint = did_you_mean(key, allowed)
                self.refuse(scalar.place, f"unknown key {shorten(key)}{hint}")

    def get(self, key: str) -> Node | None:
        return self.mapping.items.get(key)

    def place(self, key: str) -> Place:
        """Where a key stands, or else its entry."""
        scalar = self.mapping.keys.get(key)
        return scalar.place if scalar is not None else self.mapping.place

    def scalar(self, key: str, expected: str) -> Scalar | None:
        node = self.get(key)
        if node is None or isinstance(node, Scalar):
            return node
        self.refuse(node.place, f"{key}: {expected} is expected; got a {_kind_of(node)}")
        return None

    def text(self, key: str, default: str = "") -> str:
        """A text, its line breaks folded."""
        node = self.scalar(key, "text")
        if node is None:
            return default
        if not node.text.strip():
            self.refuse(node.place, f"{key}: is empty")
        return " ".join(node.text.split())

    def flag(self, key: str, default: bool) -> bool:
        """`true` or `false`."""
        node = self.scalar(key, "true or false")
        if node is None:
            return default
        if isinstance(node.value, bool):
            return node.value
        self.refuse(node.place, f"{key}: true or false is expected; got {shorten(node.text)}")
        return default

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        """One of several words."""
        node = self.scalar(key, "a word")
        if node is None:
            return default
        if node.text in choices:
            return node.text
        hint = did_you_mean(node.text, choices)
        got = f"{key}: {listing(choices)} is expected; got {shorten(node.text)}"
        self.refuse(node.place, f"{got}{hint}")
        return default

    def word(self, key: str, default: str = "") -> str:
        """A name."""
        node = self.scalar(key, "a name")
        if node is None:
            return default
        wrong = check_name(node.text, node.is_plain, WORD, is_cpp=False)
        if wrong:
            self.refuse(node.place, f"{key}: {wrong}")
            return default
        return node.text

    def rule(self, key: str, default: str = "") -> str:
        """The name of a rule in the core, or `module:function` of one in Python."""
        node = self.get(key)
        if isinstance(node, Scalar) and PYTHON.match(node.text):
            return node.text
        return self.word(key, default)

    def formula(
        self,
        key: str,
        node: Node | None,
        taken: Collection[str] = (),
        results: int | None = 1,
        reader: Callable[[Parsed, Collection[str]], Reader] = Reader,
    ) -> Formula | None:
        """An expression or body; `results` is the number of its results (None: any)."""
        if node is None:
            return None
        if not isinstance(node, Scalar):
            self.refuse(node.place, f"{key}: an expression is expected; got a {_kind_of(node)}")
            return None
        parsed = parse_body(node.text, taken, reader)
        first = node.place.line + node.is_block
        for line, text in parsed.mistakes:
            self.refuse(Place(node.place.path, first + line), f"{key}: {text}")
        count = len(parsed.results)
        if not parsed.mistakes and results is not None and count != results:
            expected = "1 result is" if results == 1 else f"{results} results are"
            self.refuse(node.place, f"{key}: {expected} expected; got {count}")
        if parsed.mistakes or not count:
            return None
        return Formula(node.text.strip(), node.place, parsed.results)

    def args(self, needs_some: bool) -> tuple[Arg, ...]:
        """`args: ["x: numeric", ...]`, or `[x: numeric]`, which YAML reads as small mappings."""
        node = self.get("args")
        if node is None:
            if needs_some:
                self.refuse(self.mapping.place, "the key 'args' is missing: [\"x: numeric\", ...]")
            return ()
        if not isinstance(node, Sequence):
            self.refuse(node.place, f"args: a list is expected; got a {_kind_of(node)}")
            return ()
        args: dict[str, Arg] = {}
        for item in node.items:
            arg = self.arg(item)
            if arg.name in args:
                self.refuse(item.place, f"args: {arg.name!r} is given twice")
            else:
                args[arg.name] = arg
        if needs_some and not node.items:
            self.refuse(node.place, "args: at least one argument is expected")
        for earlier, later in pairwise(args.values()):
            if earlier.default is not None and later.default is None:
                text = f"{later.name!r} has no default, but {earlier.name!r} before it has"
                self.refuse(node.place, f"args: {text}; put it first")
        return tuple(args.values())

    def arg(self, node: Node) -> Arg:
        name, text = "", ""
        if isinstance(node, Mapping) and len(node.items) == 1:
            ((name, value),) = node.items.items()
            text = value.text if isinstance(value, Scalar) else ""
        elif isinstance(node, Scalar):
            name, _, text = node.text.partition(":")
        if not text:
            got = shorten(node.text) if isinstance(node, Scalar) else f"a {_kind_of(node)}"
            self.refuse(node.place, f'args: "name: category" is expected; got {got}')
            return Arg(name, Category.ALL)  # known by name, so that no rule stumbles over it
        text, _, default = text.partition("=")
        is_optional = name.strip().endswith("?")
        is_variadic = name.startswith("*") or is_optional
        name = name.strip().removeprefix("*").removesuffix("?")
        text = " ".join(text.split())
        wrong = check_name(name, True, WORD)
        if not wrong and (name in RESERVED or name in CONSTANTS):
            wrong = f"{name!r} cannot be an argument: it has a meaning in expressions"
        if wrong:
            self.refuse(node.place, f"args: {wrong}")
        if text not in CATEGORIES:
            hint = did_you_mean(text, CATEGORIES) or f"; one of {listing(CATEGORIES)} is expected"
            self.refuse(node.place, f"args: {name}: unknown category {shorten(text)}{hint}")
        category = CATEGORIES.get(text, Category.ALL)
        number = self.arg_default(node, name, default.strip()) if default.strip() else None
        return Arg(name, category, is_variadic, is_optional, number)

    def arg_default(self, node: Node, name: str, text: str) -> int | float | None:
        """The number that a scalar function takes for an argument that is not given."""
        try:
            number = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else float(text)
        except ValueError:
            number = math.nan
        if "scalar" not in self.mapping.keys:
            self.refuse(node.place, f"args: {name}: only a scalar function's may have a default")
        elif not math.isfinite(number):
            self.refuse(node.place, f"args: {name}: the default must be a number; got {text!r}")
        else:
            return number
        return None

    def groups(self, key: str, known: Collection[str]) -> tuple[tuple[str, ...], ...]:
        """`linear: [a, b]`: names; or `[[x, value]]`: names that belong together."""
        node = self.get(key)
        if node is None:
            return ()
        if not isinstance(node, Sequence):
            self.refuse(node.place, f"{key}: a list of arguments, or of lists of them, is expected")
            return ()
        groups = []
        for item in node.items:
            members = item.items if isinstance(item, Sequence) else (item,)
            names = tuple(member.text if isinstance(member, Scalar) else "" for member in members)
            for name in names:
                if name not in known:
                    hint = did_you_mean(name, known)
                    self.refuse(item.place, f"{key}: there is no argument {name!r}{hint}")
            groups.append(names)
        return tuple(groups)

    def channels(self, known: Collection[str]) -> tuple[tuple[str, int], ...]:
        """`channels: {weight: 0, bias: 0, y: 1}`: an axis of each."""
        node = self.get("channels")
        if node is None:
            return ()
        if not isinstance(node, Mapping):
            self.refuse(node.place, f"channels: axes by name are expected; got a {_kind_of(node)}")
            return ()
        found = {}
        for name, axis in node.items.items():
            text = axis.text if isinstance(axis, Scalar) else ""
            if name not in known:
                hint = did_you_mean(name, known)
                self.refuse(axis.place, f"channels: there is no {name!r}{hint}")
            elif re.fullmatch(r"-?\d", text) is None:
                self.refuse(axis.place, f"channels: {name}: an axis is expected; got {text!r}")
            else:
                found[name] = int(text)
        if "y" not in found or len(found) < 2:
            self.refuse(node.place, "channels: an axis of y and one of an argument are expected")
        return tuple(found.items())

    def attrs(self) -> tuple[AttrDecl, ...]:
        """`attrs: {axis: {type: int, default: -1, doc: ...}}`; `like: Softmax` are that op's."""
        node = self.get("attrs")
        if node is None:
            return ()
        if not isinstance(node, Mapping):
            self.refuse(node.place, f"attrs: a mapping is expected; got a {_kind_of(node)}")
            return ()
        found: dict[str, AttrDecl] = {}
        for name, value in node.items.items():
            if name == LIKE and isinstance(value, Scalar) and value.text not in ATTR_TYPES:
                found |= {attr.name: attr for attr in self.like(value)}
            elif (attr := self.attr(node.keys[name], value)) is not None:
                found[name] = attr
        for earlier, later in pairwise(found.values()):
            if later.is_required and not earlier.is_required:
                text = f"{later.name!r} has no default, but {earlier.name!r} before it has"
                place = node.keys.get(later.name, node).place
                self.refuse(place, f"attrs: {text}; put it first")
        self.attrs_read = tuple(found.values())
        return self.attrs_read

    def like(self, node: Scalar) -> tuple[AttrDecl, ...]:
        """The attributes of an op declared before, whose meaning and defaults this op shares."""
        if node.text not in self.earlier:
            hint = did_you_mean(node.text, self.earlier)
            text = f"attrs: like: no op {shorten(node.text)} is declared before this one{hint}"
            self.refuse(node.place, text)
        return self.earlier.get(node.text, ())

    def attr(self, key: Scalar, node: Node) -> AttrDecl | None:
        name = key.text
        wrong = check_name(name, key.is_plain, WORD)
        if not wrong and (name == "self" or name in CONSTANTS):
            wrong = f"{name!r} cannot be an attribute: it has a meaning in expressions"
        if wrong:
            self.refuse(key.place, f"attrs: {wrong}")
        if isinstance(node, Scalar):  # short for {type: ...}
            node = Mapping(node.place, {"type": node}, {"type": key})
        if not isinstance(node, Mapping):
            self.refuse(node.place, f"attrs: {name}: {{type: ...}} is expected")
            return None
        inner = Fields(node, self.entry, self.problems)
        inner.check_keys(("type", "of", "default", "doc"))
        kind = inner.get("type")
        text = kind.text if isinstance(kind, Scalar) else ""
        if text not in ATTR_TYPES:
            hint = did_you_mean(text, ATTR_TYPES) or f"; one of {listing(ATTR_TYPES)} is expected"
            where = kind.place if kind is not None else node.place
            self.refuse(where, f"attrs: {name}: unknown type {shorten(text)}{hint}")
            return None
        default = inner.get("default")
        value = self.default(name, text, default) if default is not None else None
        doc = inner.text("doc")
        words = _choices(name, text, inner, value)
        return None if wrong else AttrDecl(name, text, default is None, value, doc, words)

    def default(self, name: str, kind: str, node: Node) -> AttrLiteral:
        value: object = ()
        got = f"a {_kind_of(node)}"
        if isinstance(node, Scalar):
            value, got = node.value, shorten(node.text)
        elif isinstance(node, Sequence):
            items = [item.value if isinstance(item, Scalar) else None for item in node.items]
            value = tuple(items) if all(is_int(item) for item in items) else object()
        else:
            value = object()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            value = object()
        if not ATTR_TYPES[kind].accepts(value):
            words = ATTR_TYPES[kind].default_words
            self.refuse(node.place, f"attrs: {name}: the default must be {words}; got {got}")
            return None
        return ATTR_TYPES[kind].held(value)


def _choices(name: str, kind: str, inner: Fields, default: object) -> tuple[str, ...]:
    """`of: [set, add]`: the words that an attribute of the type `choice` may be."""
    node = inner.get("of")
    items = node.items if isinstance(node, Sequence) else ()
    words = tuple(item.text for item in items if isinstance(item, Scalar) and item.text)
    is_choice = kind == "choice"
    if is_choice != bool(words) or is_choice != (node is not None) or len({*words}) != len(items):
        text = "`of: [...]`, different words, belongs to the type `choice`"
        inner.refuse((node or inner.mapping).place, f"attrs: {name}: {text}")
    elif isinstance(default, str) and is_choice and default not in words:
        text = f"the default must be {listing(words)}; got {default!r}"
        inner.refuse(inner.place("default"), f"attrs: {name}: {text}")
    return words


def _kind_of(node: Node) -> str:
    return {Scalar: "scalar", Sequence: "list", Mapping: "mapping"}[type(node)]
