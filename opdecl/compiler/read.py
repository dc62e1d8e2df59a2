"""Declaration text -> entries of the model.

Reads one file: which keys a kind of entry has, which of them it needs, and what they hold. What
needs other files (names of functions, cycles, missing gradients) is left to `registry`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from .errors import Place, Problems, did_you_mean, listing
from .expression import Call, Name
from .fields import CLASS, WORD, AttrsByOp, Fields, check_name
from .formula_text import COMPLEX_FLOATING, DTYPES, FormulaText
from .loader import Mapping as MappingNode
from .loader import Node, Scalar, Sequence, load_file, load_text
from .model import (
    CATEGORIES,
    RESULTS,
    SCALAR_RESULTS,
    Arg,
    Category,
    Entry,
    Formula,
    OpEntry,
    Output,
    ReductionEntry,
    ScalarEntry,
)
from .onnx_key import inputs_of, read_onnx
from .onnx_node import OnnxInput
from .parse import FORMS, parse_body
from .read_op import read_op, read_raw
from .read_parts import (
    read_complex_grad,
    read_doc,
    read_example,
    read_grad,
    read_numpy,
    read_requires,
    refuse_variadic,
    rule_names,
)
from .rule_reader import reserved_words
from .versions import newest_versions, version_in, versioned_name

# A scalar function of so many arguments is a method of Tensor, unless it says otherwise.
_MOST_OF_A_METHOD = 2
SHARED = (
    "args",
    "result",
    "grad",
    "complex_grad",
    "numpy",
    "doc",
    "see",
    "method",
    "example",
    "onnx",
)
KEYS: Mapping[str, tuple[str, ...]] = {
    "scalar": ("scalar", *SHARED, "expr", "unchanged", "requires", "formula", "linear"),
    "reduction": (
        "reduction", *SHARED, "map", "combine", "init", "finish", "native", "identity",
    ),
    "op": (
        "op", *SHARED, "attrs", "outputs", "define", "expand", "kernel", "infer", "linear", "batch",
        "view", "memory", "shapes", "effects", "flops", "channels",
        "function", "calls", "requires", "version",
    ),
}  # fmt: skip
RAW = "raw"
RAW_KEYS = ("op", RAW, "doc", "see")
INITS = ("0", "1", "lowest", "highest", "false", "true")
# What the usual ways to combine leave as it is; the values of `init`.
NEUTRAL: Mapping[str, str] = {
    "add": "0",
    "multiply": "1",
    "maximum": "lowest",
    "minimum": "highest",
    "bitwise_or": "false",
    "bitwise_and": "true",
}


def read_file(
    path: Path, shown: str, problems: Problems, before: Collection[Entry] = ()
) -> list[Entry]:
    """The entries of a file, which messages call `shown`; `before` are those read already."""
    return _read(load_file(path, shown, problems), problems, before)


def read_text(
    text: str, shown: str, problems: Problems, before: Collection[Entry] = ()
) -> list[Entry]:
    """The entries of a text."""
    return _read(load_text(text, shown, problems), problems, before)


def _read(node: Sequence | None, problems: Problems, before: Collection[Entry]) -> list[Entry]:
    if node is None:
        return []
    if not node.items:
        problems.add(node.place, "", "is empty; a list of entries is expected")
    entries: list[Entry] = []
    attrs = {entry.name: entry.own_attrs for entry in before if isinstance(entry, OpEntry)}
    newest = newest_versions(node)
    for item in node.items:
        entry = _read_entry(item, problems, attrs, newest)
        if entry is not None:
            entries.append(entry)
        if isinstance(entry, OpEntry):
            attrs[entry.name] = entry.own_attrs
    return entries


def _read_entry(
    node: Node, problems: Problems, earlier: AttrsByOp, newest: Mapping[str, int]
) -> Entry | None:
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
    is_raw = kind == "op" and RAW in node.items
    wrong = check_name(name, is_plain, CLASS if kind == "op" else WORD, may_be_built_in=is_raw)
    if not wrong and (name in FORMS or name in reserved_words()):
        wrong = f"{name!r} cannot be a name: it has a meaning in expressions"
    is_older = kind == "op" and version_in(node) < newest[name]
    own = versioned_name(name, version_in(node)) if is_older else name
    fields = Fields(node, "" if wrong else own, problems, earlier)
    if wrong:
        fields.refuse(name_node.place, wrong)
    fields.check_keys(RAW_KEYS if is_raw else KEYS[kind])
    entry: Entry
    if is_raw:
        entry = read_raw(fields, name)
    elif kind == "op":
        entry = read_op(fields, own, newest=name if is_older else "")
    else:
        entry = {"scalar": _read_scalar, "reduction": _read_reduction}[kind](fields, name)
    # A half-read entry still takes part in the checks of others, unless it has no name.
    return None if wrong else entry


def _read_scalar(fields: Fields, name: str) -> Entry:
    args = fields.args(needs_some=True)
    refuse_variadic(fields, args, allow_last=False)
    outputs = _outputs(fields, [arg.name for arg in args])
    names = [f"y{i}" for i in range(len(outputs))] if len(outputs) > 1 else ["y"]
    taken = rule_names(args, names)
    result = fields.choice("result", SCALAR_RESULTS, "same")
    unchanged = _unchanged(fields, args, len(outputs))
    return ScalarEntry(
        name=name,
        place=fields.mapping.place,
        args=args,
        doc=read_doc(fields),
        see=fields.text("see"),
        numpy=read_numpy(fields),
        grad=read_grad(fields, args, taken, allow_handwritten=False),
        complex_grad=read_complex_grad(fields, args, taken),
        result=result,
        is_method=fields.flag("method", len(args) <= _MOST_OF_A_METHOD),
        example=read_example(fields, args, ()),
        requires=read_requires(fields),
        outputs=outputs,
        unchanged=unchanged,
        formulas=_formulas(fields),
        linear=_linear(fields, args, unchanged),
        onnx=read_onnx(fields, [arg.name for arg in args], (), (inputs_of(args), ())),
    )


def _linear(
    fields: Fields, args: tuple[Arg, ...], unchanged: Category | None
) -> tuple[tuple[str, ...], ...]:
    """What is written; a function that gives back its argument is linear in it."""
    written = fields.groups("linear", [arg.name for arg in args])
    if not written and unchanged is not None and unchanged.is_differentiable:
        return ((args[0].name,),)
    return written


def _formulas(fields: Fields) -> tuple[FormulaText, ...]:
    """The texts under `formula`: one for all dtypes, or one for each of several."""
    node = fields.get("formula")
    if node is None:
        return ()
    if fields.get("expr") is not None:
        fields.refuse(fields.place("formula"), "formula: `expr` says it already; leave it out")
    parts = node.items if isinstance(node, MappingNode) else {"": node}
    known = (*CATEGORIES, COMPLEX_FLOATING, *DTYPES)
    texts = []
    for key, part in parts.items():
        if key and key not in known:
            text = f"formula: {key!r} is no category or dtype{did_you_mean(key, known)}"
            fields.refuse(part.place, text)
        if isinstance(part, Scalar) and part.text.strip():
            place = Place(part.place.path, part.place.line + part.is_block)
            texts.append(FormulaText(key, part.text, place))
        else:
            fields.refuse(part.place, "formula: an expression is expected")
    return tuple(texts)


def _unchanged(fields: Fields, args: tuple[Arg, ...], outputs: int) -> Category | None:
    if fields.get("unchanged") is None:
        return None
    if len(args) != 1 or outputs > 1:
        fields.refuse(fields.place("unchanged"), "unchanged: only what gives back its one argument")
    return CATEGORIES[fields.choice("unchanged", CATEGORIES, Category.NUMERIC.text)]


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


def _read_reduction(fields: Fields, name: str) -> Entry:
    args = fields.args(needs_some=True)
    refuse_variadic(fields, args, allow_last=False)
    if len(args) > 1:
        fields.refuse(fields.place("args"), "args: a reduction has exactly one argument")
    is_native = fields.flag("native", False)
    parts = {key: fields.formula(key, fields.get(key)) for key in ("map", "combine", "finish")}
    if is_native:
        for key in ("map", "combine", "init"):
            if fields.get(key) is not None:
                fields.refuse(fields.place(key), f"a native reduction has no {key!r}")
    elif args:
        defaults = {"map": args[0].name, "combine": "a + b"}
        for key, text in defaults.items():
            if fields.get(key) is None:
                parts[key] = Formula(text, fields.mapping.place, parse_body(text, ()).results)
    init = fields.choice("init", INITS, _neutral(parts["combine"]))
    if not is_native and parts["combine"] and not init and fields.get("init") is None:
        text = "the key 'init' is missing: what `combine` leaves as it is"
        fields.refuse(fields.mapping.place, text)
    taken = [*rule_names(args, ["y"]), "axis", "keepdims"]
    return ReductionEntry(
        name=name,
        place=fields.mapping.place,
        args=args,
        doc=read_doc(fields),
        see=fields.text("see"),
        numpy=read_numpy(fields),
        grad=read_grad(fields, args, taken, allow_handwritten=False),
        complex_grad=read_complex_grad(fields, args, taken),
        result=fields.choice("result", RESULTS, "bool" if init in ("false", "true") else "same"),
        is_method=fields.flag("method", False),
        example=read_example(fields, args, ("axis", "keepdims")),
        map=None if is_native else parts["map"],
        combine=parts["combine"],
        init=init,
        finish=parts["finish"],
        has_identity=fields.flag("identity", not is_native and init not in ("lowest", "highest")),
        onnx=read_onnx(
            fields,
            [arg.name for arg in args],
            ["axis", "keepdims", "dtype"],
            ([*inputs_of(args), OnnxInput("axis", is_list=True)], ["keepdims"]),
        ),
    )


def _neutral(combine: Formula | None) -> str:
    """The `init` of a usual way to combine, or ""."""
    call = combine.results[0] if combine is not None else None
    if not isinstance(call, Call) or set(call.args) != {Name("a"), Name("b")}:
        return ""
    return NEUTRAL.get(call.function, "")
