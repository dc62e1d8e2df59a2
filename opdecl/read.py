"""Declaration text -> entries of the model.

Reads one file: which keys a kind of entry has, which of them it needs, and what they hold. What
needs other files (names of functions, cycles, missing gradients) is left to `registry`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from .errors import Problems, did_you_mean, listing, shorten
from .fields import CLASS, WORD, Fields, check_name
from .loader import Mapping as MappingNode
from .loader import Node, Scalar, Sequence, load_file, load_text
from .model import (
    CATEGORIES,
    HANDWRITTEN,
    NONE,
    NUMPY_NAME,
    OP_RESULTS,
    RESULTS,
    SCALAR_RESULTS,
    Arg,
    AttrDecl,
    CallDecl,
    DefinedOp,
    Entry,
    ExampleValue,
    FixedAttrs,
    Formula,
    GradRules,
    NativeOp,
    Output,
    ReductionEntry,
    ScalarEntry,
)
from .parse import FORMS

SHARED = ("args", "result", "grad", "complex_grad", "numpy", "doc", "see", "method", "example")
KEYS: Mapping[str, tuple[str, ...]] = {
    "scalar": ("scalar", *SHARED, "expr"),
    "reduction": (
        "reduction", *SHARED, "map", "combine", "init", "finish", "native", "identity",
    ),
    "op": (
        "op", *SHARED, "attrs", "outputs", "define", "kernel", "infer", "linear", "batch",
        "function", "calls",
    ),
}  # fmt: skip
INITS = ("0", "1", "lowest", "highest", "false", "true")


def read_file(path: Path, shown: str, problems: Problems) -> list[Entry]:
    """The entries of a file, which messages call `shown`."""
    return _read(load_file(path, shown, problems), problems)


def read_text(text: str, shown: str, problems: Problems) -> list[Entry]:
    """The entries of a text."""
    return _read(load_text(text, shown, problems), problems)


def _read(node: Sequence | None, problems: Problems) -> list[Entry]:
    if node is None:
        return []
    if not node.items:
        problems.add(node.place, "", "is empty; a list of entries is expected")
    entries = (_read_entry(item, problems) for item in node.items)
    return [entry for entry in entries if entry is not None]


def _read_entry(node: Node, problems: Problems) -> Entry | None:
    if not isinstance(node, MappingNode):
        problems.add(node.place, "", "an entry (`scalar: name`, then its keys) is expected")
        return None
    kinds = [kind for kind in KEYS if kind in node.items]
    if len(kinds) != 1:
        got = " and ".join(repr(kind) for kind in kinds) or "none of them"
        hint = "" if kinds else did_you_mean(next(iter(node.keys), ""), KEYS)
        text = f"an entry has exactly one of the keys {listing(KEYS)}; got {got}{hint}"
        problems.add(node.place, "", text)
        return None
    kind = kinds[0]
    name_node = node.items[kind]
    name = name_node.text if isinstance(name_node, Scalar) else ""
    is_plain = isinstance(name_node, Scalar) and name_node.is_plain
    wrong = check_name(name, is_plain, CLASS if kind == "op" else WORD)
    if not wrong and name in FORMS:
        wrong = f"{name!r} cannot be a name: it has a meaning in expressions"
    fields = Fields(node, "" if wrong else name, problems)
    if wrong:
        fields.refuse(name_node.place, wrong)
    fields.check_keys(KEYS[kind])
    reader = {"scalar": _read_scalar, "reduction": _read_reduction, "op": _read_op}[kind]
    entry = reader(fields, name)
    # A half-read entry still takes part in the checks of others, unless it has no name.
    return None if wrong else entry


def _doc(fields: Fields) -> str:
    if fields.get("doc") is None:
        fields.refuse(fields.mapping.place, "the key 'doc' is missing: one sentence")
    return fields.text("doc")


def _numpy(fields: Fields) -> str:
    text = fields.text("numpy")
    if text and not NUMPY_NAME.match(text):
        fields.formula("numpy", fields.get("numpy"))
    return text


def _read_scalar(fields: Fields, name: str) -> Entry:
    args = fields.args(needs_some=True)
    _refuse_variadic(fields, args, allow_last=False)
    outputs = _outputs(fields, [arg.name for arg in args])
    names = [f"y{i}" for i in range(len(outputs))] if len(outputs) > 1 else ["y"]
    taken = _rule_names(args, names)
    result = fields.choice("result", SCALAR_RESULTS, "same")
    return ScalarEntry(
        name=name,
        place=fields.mapping.place,
        args=args,
        doc=_doc(fields),
        see=fields.text("see"),
        numpy=_numpy(fields),
        grad=_grad(fields, args, taken, allow_handwritten=False),
        complex_grad=_complex_grad(fields, args, taken),
        result=result,
        is_method=fields.flag("method", False),
        example=_example(fields, args, ()),
        outputs=outputs,
    )


def _outputs(fields: Fields, taken: Collection[str]) -> tuple[Output, ...]:
    node = fields.get("expr")
    if not isinstance(node, MappingNode):
        formula = fields.formula("expr", node, taken)
        return (Output("y", formula),) if formula is not None else ()
    outputs = []
    for key, scalar in node.keys.items():
        wrong = check_name(key, scalar.is_plain, WORD)
        if wrong:
            fields.refuse(scalar.place, f"expr: {wrong}")
        formula = fields.formula(f"expr {key}", node.items[key], taken)
        if formula is not None:
            outputs.append(Output(key, formula))
    if not node.items:
        fields.refuse(node.place, "expr: at least one output is expected")
    return tuple(outputs)


def _rule_names(args: Collection[Arg], outputs: Collection[str]) -> list[str]:
    return [*(arg.name for arg in args), *outputs, "dy"]


def _refuse_variadic(fields: Fields, args: tuple[Arg, ...], allow_last: bool) -> None:
    for i, arg in enumerate(args):
        if arg.is_variadic and not (allow_last and i == len(args) - 1):
            where = "be the last one" if allow_last else "only be an op's"
            fields.refuse(fields.place("args"), f"args: the variadic *{arg.name} must {where}")


def _grad(
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
    for name, value in node.items.items():
        if name not in known:
            hint = did_you_mean(name, known)
            fields.refuse(node.keys[name].place, f"{key}: there is no argument {name!r}{hint}")
        elif isinstance(value, Scalar) and value.text == NONE:
            rules.append((name, None))
        else:
            rules.append((name, fields.formula(f"{key} {name}", value, taken)))
    return GradRules("rules", tuple(rules))


def _complex_grad(
    fields: Fields, args: tuple[Arg, ...], taken: Collection[str]
) -> GradRules | None:
    """The rules where complex numbers flow; the others hold there as those of real numbers do."""
    return _grad(fields, args, taken, allow_handwritten=False, key="complex_grad")


def _example(
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


def _read_reduction(fields: Fields, name: str) -> Entry:
    args = fields.args(needs_some=True)
    _refuse_variadic(fields, args, allow_last=False)
    if len(args) > 1:
        fields.refuse(fields.place("args"), "args: a reduction has exactly one argument")
    is_native = fields.flag("native", False)
    parts = [fields.formula(key, fields.get(key)) for key in ("map", "combine", "finish")]
    init = fields.choice("init", INITS, "")
    for key in ("map", "combine", "init"):
        if is_native and fields.get(key) is not None:
            fields.refuse(fields.place(key), f"a native reduction has no {key!r}")
        elif not is_native and fields.get(key) is None:
            text = f"the key {key!r} is missing (or write `native: true`)"
            fields.refuse(fields.mapping.place, text)
    taken = [*_rule_names(args, ["y"]), "axis", "keepdims"]
    return ReductionEntry(
        name=name,
        place=fields.mapping.place,
        args=args,
        doc=_doc(fields),
        see=fields.text("see"),
        numpy=_numpy(fields),
        grad=_grad(fields, args, taken, allow_handwritten=False),
        complex_grad=_complex_grad(fields, args, taken),
        result=fields.choice("result", RESULTS, "same"),
        is_method=fields.flag("method", False),
        example=_example(fields, args, ("axis", "keepdims")),
        map=None if is_native else parts[0],
        combine=parts[1],
        init=init,
        finish=parts[2],
        has_identity=fields.flag("identity", True),
    )


def _read_op(fields: Fields, name: str) -> Entry:
    args = fields.args(needs_some=False)
    _refuse_variadic(fields, args, allow_last=True)
    attrs = fields.attrs()
    for attr in attrs:
        if attr.name in [arg.name for arg in args]:
            fields.refuse(fields.place("attrs"), f"attrs: {attr.name!r} is an argument already")
    taken = [*(arg.name for arg in args), *(attr.name for attr in attrs)]
    outputs = _output_count(fields)
    define = fields.formula("define", fields.get("define"), taken, max(outputs, 1))
    numbered = [f"y{i}" for i in range(outputs)] if outputs > 1 else ["y"]
    shared = {
        "name": name,
        "place": fields.mapping.place,
        "args": args,
        "doc": _doc(fields),
        "see": fields.text("see"),
        "numpy": _numpy(fields),
        "grad": _grad(fields, args, [*taken, *numbered, "dy"], allow_handwritten=True),
        "complex_grad": _complex_grad(fields, args, [*taken, *numbered, "dy"]),
        "result": fields.choice("result", OP_RESULTS, "same"),
        "is_method": fields.flag("method", False),
        "example": _example(fields, args, tuple(attr.name for attr in attrs)),
        "own_attrs": attrs,
        "outputs": outputs,
        "infer": fields.word("infer"),
        "kernels": _kernels(fields),
        "linear": fields.groups("linear", [arg.name for arg in args]),
        "batch": fields.word("batch"),
        "call": fields.word("function", snake_case(name)),
    }
    shared["calls"] = _calls(fields, args, attrs, outputs, str(shared["doc"]))
    if define is not None:
        return DefinedOp(define=define, **shared)  # type: ignore[arg-type]
    if fields.get("define") is None:
        for key in ("infer", "kernel", *(["batch"] if args else [])):
            if fields.get(key) is None:
                text = f"the key {key!r} is missing: an op without `define` needs it"
                fields.refuse(fields.mapping.place, text)
    return NativeOp(**shared)  # type: ignore[arg-type]


def _calls(
    fields: Fields, args: tuple[Arg, ...], attrs: tuple[AttrDecl, ...], outputs: int, doc: str
) -> tuple[CallDecl, ...]:
    """`calls: {conv2d: {fixed: {spatial: 2}, doc: ...}}`.

    Where the attributes decide how many outputs there are, a call that fixes them says how many;
    where they decide what is taken, it may say less: `args: {x: real numeric}`.
    """
    node = fields.get("calls")
    if node is None:
        return ()
    if not isinstance(node, MappingNode):
        fields.refuse(node.place, "calls: a mapping from name to {fixed: {...}} is expected")
        return ()
    calls = []
    for name, inner_node in node.items.items():
        key = node.keys[name]
        wrong = check_name(name, key.is_plain, WORD)
        if wrong:
            fields.refuse(key.place, f"calls: {wrong}")
        elif not isinstance(inner_node, MappingNode):
            fields.refuse(key.place, f"calls: {name}: {{fixed: {{...}}}} is expected")
        else:
            inner = Fields(inner_node, fields.entry, fields.problems)
            inner.check_keys(("args", "fixed", "outputs", "doc", "example"))
            fixed = _fixed(inner, attrs)
            open_attrs = tuple(attr.name for attr in attrs if attr.name not in dict(fixed))
            example = _example(inner, args, open_attrs)
            count = _output_count(inner, outputs)
            taken = _narrowed(inner, args)
            doc_text = inner.text("doc", doc)
            calls.append(CallDecl(name, key.place, taken, fixed, count, doc_text, example))
    return tuple(calls)


def _narrowed(fields: Fields, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """The arguments with the categories that `args` gives some of them."""
    node = fields.get("args")
    if node is None:
        return args
    if not isinstance(node, MappingNode):
        fields.refuse(node.place, "args: a mapping from name to category is expected")
        return args
    known = {arg.name: arg for arg in args}
    for name, value in node.items.items():
        text = value.text if isinstance(value, Scalar) else ""
        if name not in known:
            hint = did_you_mean(name, known)
            fields.refuse(node.keys[name].place, f"args: there is no argument {name!r}{hint}")
        elif text not in CATEGORIES:
            hint = did_you_mean(text, CATEGORIES)
            fields.refuse(value.place, f"args: there is no dtype category {text!r}{hint}")
        else:
            known[name] = replace(known[name], category=CATEGORIES[text])
    return tuple(known.values())


def _fixed(fields: Fields, attrs: tuple[AttrDecl, ...]) -> FixedAttrs:
    node = fields.get("fixed")
    if not isinstance(node, MappingNode):
        fields.refuse(fields.mapping.place, "calls: the key 'fixed' is missing: {attribute: value}")
        return ()
    known = {attr.name: attr for attr in attrs}
    fixed = []
    for name, value in node.items.items():
        if name not in known:
            hint = did_you_mean(name, known)
            fields.refuse(node.keys[name].place, f"fixed: there is no attribute {name!r}{hint}")
        else:
            fixed.append((name, fields.default(name, known[name].type, value)))
    return tuple(fixed)


def _output_count(fields: Fields, default: int = 1) -> int:
    node = fields.scalar("outputs", "an integer")
    if node is None:
        return default
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool) and (value == -1 or 1 <= value <= 16):
        return value
    text = f"outputs: a number from 1 to 16, or -1, is expected; got {shorten(node.text)}"
    fields.refuse(node.place, text)
    return default


def _kernels(fields: Fields) -> tuple[tuple[str, str], ...]:
    node = fields.get("kernel")
    if node is None:
        return ()
    if not isinstance(node, MappingNode):
        fields.refuse(node.place, "kernel: {cpu: name} is expected")
        return ()
    inner = Fields(node, fields.entry, fields.problems)
    inner.check_keys(("cpu", "cuda"))
    return tuple((device, inner.word(device)) for device in node.items)


def snake_case(name: str) -> str:
    """`SetSubtensor` -> `set_subtensor`."""
    letters = []
    for i, char in enumerate(name):
        starts = i > 0 and char.isupper() and not name[i - 1].isupper()
        ends = i > 0 and char.isupper() and name[i - 1].isupper() and name[i + 1 : i + 2].islower()
        letters.append(f"_{char.lower()}" if starts or ends else char.lower())
    return "".join(letters)
