"""What entries of all kinds have: documentation, gradients, examples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from .derivative import of_real_numbers
from .errors import did_you_mean, listing, shorten
from .fields import Fields
from .loader import Mapping as MappingNode
from .loader import Node, Scalar, Sequence
from .memory import COMPUTES_IN, MEMORY_KEYS, Memory
from .model import (
    HANDWRITTEN,
    NONE,
    NUMPY_NAME,
    UNKNOWN,
    Arg,
    AttrDecl,
    ExampleValue,
    Formula,
    GradRules,
)
from .parse import Reader
from .rule_reader import RuleReader
from .shapes import ShapeMistake, ShapeReader, text_of
from .specs import ShapeSpec


def read_doc(fields: Fields) -> str:
    if fields.get("doc") is None:
        fields.refuse(fields.mapping.place, "the key 'doc' is missing: one sentence")
    return fields.text("doc")


def read_numpy(fields: Fields) -> str:
    text = fields.text("numpy")
    if text and not NUMPY_NAME.match(text):
        fields.formula("numpy", fields.get("numpy"))
    return text


def read_requires(fields: Fields) -> tuple[Formula, ...]:
    """`requires: p >= 0`, or a list of such conditions."""
    return _conditions(fields, listed(fields, "requires"))


def _conditions(fields: Fields, nodes: Collection[Node]) -> tuple[Formula, ...]:
    found = [fields.formula("requires", each) for each in nodes]
    return tuple(formula for formula in found if formula is not None)


def listed(fields: Fields, key: str) -> tuple[Node, ...]:
    """The values of a key that has one or a list of them."""
    node = fields.get(key)
    if node is None:
        return ()
    return node.items if isinstance(node, Sequence) else (node,)


def read_shapes(
    fields: Fields, args: tuple[Arg, ...], attrs: tuple[AttrDecl, ...], outputs: int
) -> tuple[ShapeSpec, tuple[Formula, ...]]:
    """`shapes: x(..., n, n) -> (..., n)`, or a list of such; and `requires` but for sizes."""
    reader = ShapeReader(args, attrs)
    cases = []
    for node in listed(fields, "shapes"):
        with refusing(fields, "shapes", node):
            case = reader.case(text_of(node), max(outputs, -1))
            cases.append(case)
    sized, others = [], []
    for node in listed(fields, "requires"):
        if not cases or not reader.reads_sizes(node):
            others.append(node)
            continue
        with refusing(fields, "requires", node):
            sized.append(reader.condition(text_of(node)))
    spec = ShapeSpec()
    with refusing(fields, "shapes", fields.mapping):
        spec = reader.spec(cases, sized)
    return spec, _conditions(fields, others)


@contextmanager
def refusing(fields: Fields, key: str, node: Node) -> Iterator[None]:
    """Mistakes within are told of this key."""
    try:
        yield
    except ShapeMistake as mistake:
        fields.refuse(node.place, f"{key}: {mistake}")


def rule_names(args: Collection[Arg], outputs: Collection[str]) -> list[str]:
    return [*(arg.name for arg in args), *outputs, "dy"]


def refuse_variadic(fields: Fields, args: tuple[Arg, ...], allow_last: bool) -> None:
    for i, arg in enumerate(args):
        if arg.is_variadic and not (allow_last and i == len(args) - 1):
            where = "be the last one" if allow_last else "only be an op's"
            fields.refuse(fields.place("args"), f"args: the variadic *{arg.name} must {where}")


def read_grad(
    fields: Fields,
    args: tuple[Arg, ...],
    taken: Collection[str],
    allow_handwritten: bool,
    key: str = "grad",
) -> GradRules | None:
    node = fields.get(key)
    words = (NONE, HANDWRITTEN) if allow_handwritten else (NONE,)
    if node is None:
        return None
    if isinstance(node, Scalar):
        if node.text in words:
            return GradRules(node.text)
        expected = listing([f"`{word}`" for word in words])
        text = f"a mapping from argument to rule, or {expected}, is expected"
        fields.refuse(node.place, f"{key}: {text}; got {shorten(node.text)}")
        return None
    if not isinstance(node, MappingNode):
        fields.refuse(node.place, f"{key}: a mapping from argument to rule is expected; got a list")
        return None
    if "match" in node.items:
        return _matched(fields, node, args, taken, key)
    return _rules(fields, node, args, taken, key)


def _matched(
    fields: Fields, node: MappingNode, args: tuple[Arg, ...], taken: Collection[str], key: str
) -> GradRules | None:
    """`grad: {match: mode, set: {x: ...}, add: {x: ...}}`."""
    match = node.items["match"]
    attrs = {attr.name: attr for attr in fields.attrs_read}
    name = match.text if isinstance(match, Scalar) else ""
    attr = attrs.get(name)
    words = attr.choices if attr is not None else ()
    if attr is not None and attr.type == "bool":
        words = ("true", "false")
    if not words:
        text = f"{key}: match: an attribute of the type `choice` or `bool` is expected"
        fields.refuse(match.place, f"{text}; got {shorten(name)}")
        return None
    given = [word for word in node.items if word != "match"]
    for word in given:
        if word not in words:
            text = f"{key}: {name} is never {word!r}{did_you_mean(word, words)}"
            fields.refuse(node.keys[word].place, text)
        elif not isinstance(node.items[word], MappingNode):
            text = f"{key}: {word}: a mapping from argument to rule is expected"
            fields.refuse(node.items[word].place, text)
    if missing := [word for word in words if word not in given]:
        fields.refuse(node.place, f"{key}: no rules for {name}={missing[0]!r}")
    found = [
        (word, _rules(fields, inner, args, taken, key))
        for word, inner in node.items.items()
        if isinstance(inner, MappingNode)
    ]
    if not found:
        return None
    return GradRules("rules", found[0][1].rules, found[0][1].unknown, name, tuple(found))


def _rules(
    fields: Fields, node: MappingNode, args: tuple[Arg, ...], taken: Collection[str], key: str
) -> GradRules:
    known = [arg.name for arg in args]
    rules: list[tuple[str, Formula | None]] = []
    unknown: list[str] = []
    for text, value in node.items.items():
        names = [name.strip() for name in text.split(",")]
        if wrong := [name for name in names if name not in known]:
            hint = did_you_mean(wrong[0], known)
            fields.refuse(node.keys[text].place, f"{key}: there is no argument {wrong[0]!r}{hint}")
        elif isinstance(value, Scalar) and value.text == NONE:
            rules += [(name, None) for name in names]
        elif isinstance(value, Scalar) and value.text == UNKNOWN:
            unknown += names
        else:
            rules += _rules_of(fields, f"{key} {text}", names, value, taken)
    return GradRules("rules", tuple(rules), tuple(unknown))


def _rules_of(
    fields: Fields, key: str, names: list[str], value: Node, taken: Collection[str]
) -> list[tuple[str, Formula | None]]:
    """The rules of one text: `x1, x2: |` ends in a tuple, the gradients of both."""
    reader = RuleReader if "op" in fields.mapping.items else Reader
    found = fields.formula(key, value, taken, len(names), reader)
    if found is None or len(found.results) != len(names):
        return [(name, found) for name in names]
    return [
        (name, replace(found, results=(result,)))
        for name, result in zip(names, found.results, strict=True)
    ]


def read_complex_grad(
    fields: Fields, args: tuple[Arg, ...], taken: Collection[str]
) -> GradRules | None:
    """The rules where complex numbers flow; the others hold there as those of real numbers do."""
    return read_grad(fields, args, taken, allow_handwritten=False, key="complex_grad")


def real_rules(rules: GradRules | None) -> GradRules | None:
    """The rules of real numbers, where those of complex ones are written alone."""
    if rules is None:
        return None
    found = tuple(
        (name, rule and replace(rule, results=tuple(map(of_real_numbers, rule.results))))
        for name, rule in rules.rules
    )
    choices = tuple((word, real_rules(inner) or inner) for word, inner in rules.choices)
    return replace(rules, rules=found, choices=choices)


def read_example(
    fields: Fields, args: tuple[Arg, ...], attrs: tuple[str, ...]
) -> tuple[tuple[str, ExampleValue], ...]:
    node = fields.get("example")
    if node is None:
        return ()
    if not isinstance(node, MappingNode):
        fields.refuse(node.place, "example: a mapping from argument to value is expected")
        return ()
    known = [*(arg.name for arg in args), *attrs]
    for name, key in node.keys.items():
        if name not in known:
            fields.refuse(key.place, f"example: there is no {name!r}{did_you_mean(name, known)}")
    for arg in args:
        if arg.name not in node.items:
            fields.refuse(node.place, f"example: a value for {arg.name} is missing")
    return tuple((name, _example_value(fields, value)) for name, value in node.items.items())


def _example_value(fields: Fields, node: Node) -> ExampleValue:
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [_example_value(fields, item) for item in node.items]
    fields.refuse(node.place, "example: a value must be a number, a word or a list")
    return None


def read_memory(fields: Fields, names: Collection[str]) -> Memory:
    """`view: true`, and `memory: {contiguous: [x], computes_in: result, reuses: x}`."""
    view = fields.flag("view", False)
    node = fields.get("memory")
    if node is None:
        return Memory(view)
    if not isinstance(node, MappingNode):
        fields.refuse(node.place, f"memory: a mapping of {', '.join(MEMORY_KEYS)} is expected")
        return Memory(view)
    inner = Fields(node, fields.entry, fields.problems)
    inner.check_keys(MEMORY_KEYS)
    contiguous = inner.groups("contiguous", names)
    return Memory(
        view,
        tuple(name for group in contiguous for name in group),
        inner.choice("computes_in", COMPUTES_IN, ""),
        inner.choice("reuses", names, ""),
    )
