"""Entries of the kind `op`, and the further calls that they declare.

What stands in C++ is found by the op's name in snake_case, and need not be said: a native op has
inference, a kernel and a gradient, and takes an axis of examples in front of each argument.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .costs import read_flops
from .errors import did_you_mean, listing, shorten
from .fields import MISSING, WORD, Fields, check_name
from .loader import Mapping as MappingNode
from .loader import Scalar, Sequence
from .model import (
    CATEGORIES,
    HANDWRITTEN,
    OP_RESULTS,
    Arg,
    AttrDecl,
    CallDecl,
    DefinedOp,
    Entry,
    Example,
    FixedAttrs,
    GradRules,
    NativeOp,
    RawOp,
    is_differentiable,
)
from .onnx_key import inputs_of, read_onnx
from .read_parts import (
    read_complex_grad,
    read_doc,
    read_example,
    read_grad,
    read_memory,
    read_numpy,
    read_shapes,
    real_rules,
    refuse_variadic,
)
from .rule_reader import RuleReader, reserved_words
from .shapes import given_dtype
from .specs import ShapeSpec
from .versions import MAX_VERSION

DEVICES = ("cpu",)
# How an axis of examples goes through an op: the rules of transforms/batching_rules.py.
BATCHES = (
    "each", "loop", "aligned", "broadcast", "folded", "sequences", "none", "set_subtensor",
    "matmul", "linear", "gather", "scatter", "masked", "solve", "convolution",
    "convolution_weight", "search_sorted", "recurrence", "recurrence_grad",
)  # fmt: skip


EFFECTS = ("random",)


def read_raw(fields: Fields, name: str) -> Entry:
    """`raw: ops/const.py`: an op whose class is written by hand there."""
    return RawOp(
        name=name,
        place=fields.mapping.place,
        args=(),
        doc=read_doc(fields),
        see=fields.text("see"),
        written_in=fields.text("raw"),
    )


def read_op(fields: Fields, name: str, newest: str = "") -> Entry:
    """An entry of the kind `op`; `newest` is what the newest version of it is called."""
    args = fields.args(needs_some=False)
    refuse_variadic(fields, args, allow_last=True)
    attrs = fields.attrs()
    _refuse_shared_names(fields, args, attrs)
    names = [arg.name for arg in args]
    taken = [*names, *(attr.name for attr in attrs)]
    outputs = _output_count(fields)
    define = fields.formula("define", fields.get("define"), taken, max(outputs, 1), RuleReader)
    is_native = fields.get("define") is None
    kernels = _kernels(fields, snake_case(name), is_native)
    is_python = any(":" in kernel for _, kernel in kernels)
    example = read_example(fields, args, tuple(attr.name for attr in attrs))
    doc = read_doc(fields)
    shapes, conditions = read_shapes(fields, args, attrs, outputs)
    if shapes.cases and fields.get("infer") is not None:
        fields.refuse(fields.place("infer"), "infer: `shapes` says it already; leave out one")
    own_rule = snake_case(name) if kernels and not is_python and not shapes.cases else ""
    grad, complex_grad = _grads(fields, args, taken, outputs, shapes)
    shared: dict[str, Any] = {
        "name": name,
        "place": fields.mapping.place,
        "args": args,
        "doc": doc,
        "see": fields.text("see"),
        "numpy": read_numpy(fields),
        "grad": grad,
        "complex_grad": complex_grad,
        "result": fields.choice("result", OP_RESULTS, given_dtype(shapes)),
        "is_method": fields.flag("method", False),
        "example": example,
        "requires": conditions,
        "own_attrs": attrs,
        "outputs": outputs,
        "infer": fields.rule("infer", own_rule),
        "kernels": kernels,
        "expand": fields.word("expand", ""),
        "linear": fields.groups("linear", names),
        "batch": fields.choice("batch", BATCHES, ""),
        "memory": read_memory(fields, names),
        "shapes": shapes,
        "effects": fields.choice("effects", EFFECTS, ""),
        "flops": read_flops(fields, args, attrs, {"y", *(f"y{i}" for i in range(outputs))}),
        "channels": fields.channels([*names, "y"]),
        "call": _function(fields, name),
        "calls": _calls(fields, args, attrs, outputs, doc, example),
        "version": _version(fields),
        "onnx": read_onnx(fields, names, taken[len(names) :], (inputs_of(args), ())),
        "newest": newest,
    }
    if define is not None:
        if shared["expand"]:
            fields.refuse(fields.place("expand"), "expand: there is a body already; leave out one")
        return DefinedOp(define=define, **shared)
    native = NativeOp(**shared)
    has_rule = native.grad is not None or fields.get("grad") is not None or native.expand
    if not has_rule and is_differentiable(native):
        native = replace(native, grad=GradRules(HANDWRITTEN))
    return native


def _refuse_shared_names(
    fields: Fields, args: tuple[Arg, ...], attrs: tuple[AttrDecl, ...]
) -> None:
    for attr in attrs:
        if attr.name in [arg.name for arg in args]:
            fields.refuse(fields.place("attrs"), f"attrs: {attr.name!r} is an argument already")


def _function(fields: Fields, name: str) -> str:
    call = fields.word("function", snake_case(name))
    if call in reserved_words():
        text = f"function: {call!r} cannot be a name: it has a meaning in expressions"
        fields.refuse(fields.place("function"), text)
    return call


def _grads(
    fields: Fields, args: tuple[Arg, ...], taken: list[str], outputs: int, shapes: ShapeSpec
) -> tuple[GradRules | None, GradRules | None]:
    """`grad` and `complex_grad`, which alone serves real numbers too."""
    most = max([outputs, *(len(case.results) for case in shapes.cases)])
    numbered = [f"y{i}" for i in range(most)] if outputs != 1 else ["y"]
    names = [*taken, *numbered, "dy"]
    others = read_complex_grad(fields, args, names)
    own = read_grad(fields, args, names, allow_handwritten=True)
    return real_rules(others) if fields.get("grad") is None else own, others


def _version(fields: Fields) -> int:
    """`version: 2`."""
    node = fields.scalar("version", "an integer")
    if node is None:
        return 1
    if type(node.value) is int and 1 <= node.value <= MAX_VERSION:
        return node.value
    text = f"version: a number from 1 to {MAX_VERSION} is expected; got {shorten(node.text)}"
    fields.refuse(node.place, text)
    return 1


def _calls(
    fields: Fields,
    args: tuple[Arg, ...],
    attrs: tuple[AttrDecl, ...],
    outputs: int,
    doc: str,
    shown: Example,
) -> tuple[CallDecl, ...]:
    """`calls: {conv2d: {fixed: {spatial: 2}, doc: ...}}`; what is not said is as the op has it.

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
            example = read_example(inner, args, open_attrs) or tuple(
                (key, value) for key, value in shown if key not in dict(fixed)
            )
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


def _kernels(fields: Fields, own: str, is_native: bool) -> tuple[tuple[str, str], ...]:
    """`kernel: [cpu]`: one of the op's own name; a native op has that without saying so."""
    node = fields.get("kernel")
    if node is None:
        return (("cpu", own),) if is_native else ()
    if isinstance(node, Sequence):
        found = [item.text if isinstance(item, Scalar) else "" for item in node.items]
        for name, item in zip(found, node.items, strict=True):
            if name in MISSING:
                fields.refuse(item.place, f"kernel: {name}: {MISSING[name]}; leave it out")
            elif name not in DEVICES:
                text = f"kernel: {listing(DEVICES)} is expected; got {shorten(name)}"
                fields.refuse(item.place, f"{text}{did_you_mean(name, DEVICES)}")
        return tuple((device, own) for device in found)
    if not isinstance(node, MappingNode):
        fields.refuse(node.place, "kernel: [cpu], or {cpu: name}, is expected")
        return ()
    inner = Fields(node, fields.entry, fields.problems)
    inner.check_keys(DEVICES)
    return tuple((device, inner.rule(device)) for device in node.items if device in DEVICES)


def snake_case(name: str) -> str:
    """`SetSubtensor` -> `set_subtensor`."""
    letters = []
    for i, char in enumerate(name):
        starts = i > 0 and char.isupper() and not name[i - 1].isupper()
        ends = i > 0 and char.isupper() and name[i - 1].isupper() and name[i + 1 : i + 2].islower()
        letters.append(f"_{char.lower()}" if starts or ends else char.lower())
    return "".join(letters)
