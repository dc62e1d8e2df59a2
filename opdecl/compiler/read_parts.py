"""What entries of all kinds have: documentation, gradients, examples."""

from __future__ import annotations

from collections.abc import Collection

from .errors import did_you_mean, listing, shorten
from .fields import Fields
from .loader import Mapping as MappingNode
from .loader import Node, Scalar, Sequence
from .memory import COMPUTES_IN, MEMORY_KEYS, Memory
from .model import HANDWRITTEN, NONE, NUMPY_NAME, UNKNOWN, Arg, ExampleValue, Formula, GradRules


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
    node = fields.get("requires")
    if node is None:
        return ()
    nodes = node.items if isinstance(node, Sequence) else (node,)
    found = [fields.formula("requires", each) for each in nodes]
    return tuple(formula for formula in found if formula is not None)


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
    known = [arg.name for arg in args]
    rules: list[tuple[str, Formula | None]] = []
    unknown: list[str] = []
    for name, value in node.items.items():
        if name not in known:
            hint = did_you_mean(name, known)
            fields.refuse(node.keys[name].place, f"{key}: there is no argument {name!r}{hint}")
        elif isinstance(value, Scalar) and value.text == NONE:
            rules.append((name, None))
        elif isinstance(value, Scalar) and value.text == UNKNOWN:
            unknown.append(name)
        else:
            rules.append((name, fields.formula(f"{key} {name}", value, taken)))
    return GradRules("rules", tuple(rules), tuple(unknown))


def read_complex_grad(
    fields: Fields, args: tuple[Arg, ...], taken: Collection[str]
) -> GradRules | None:
    """The rules where complex numbers flow; the others hold there as those of real numbers do."""
    return read_grad(fields, args, taken, allow_handwritten=False, key="complex_grad")


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
