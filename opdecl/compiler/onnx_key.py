"""The key `onnx`: which ops of ONNX an entry is, where it is one of them to the letter.

It is read in both directions: an exporter takes the first node that holds for the attributes,
dtypes and opset at hand, an importer finds the entries by the names of ONNX's ops. What is an op of
ONNX only together with others is not written here: it follows from the body, or is code.

    onnx: Erf                                             of the same arguments, in their order
    onnx: {op: Softmax, attrs: {axis: axis}, since: 13}   ONNX's attributes by ours
    onnx: {op: Reshape, inputs: [x, shape]}               an attribute of ours as an input
    onnx: {op: ReduceSum, inputs: [x, [axis]]}            the same, always with one dimension
    onnx: {op: Gelu, fixed: {approximate: tanh}}          attributes that are always the same
    onnx: {op: Elu, inputs: [x], attrs: {alpha: alpha}}   an argument that must be a literal
    onnx: {op: Softplus, inputs: [x], when: {beta: 1}}    only where ours has this value
    onnx: [{op: And, of: boolean}, {op: BitwiseAnd, of: integer, since: 18}]    by dtype
"""

from __future__ import annotations

import re
from collections.abc import Sequence as SequenceOf

from .errors import did_you_mean, listing, shorten
from .expression import CATEGORIES, Category
from .fields import Fields
from .loader import Mapping, Node, Scalar, Sequence
from .model import Arg
from .onnx_node import OnnxInput, OnnxNode, OnnxValue

_OP = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
_KEYS = ("op", "inputs", "attrs", "fixed", "when", "of", "since")
_MOST_OPSETS = 100


def inputs_of(args: SequenceOf[Arg]) -> tuple[OnnxInput, ...]:
    """All arguments, in their order."""
    return tuple(OnnxInput(arg.name) for arg in args)


def read_onnx(
    fields: Fields,
    args: SequenceOf[str],
    attrs: SequenceOf[str],
    usual: tuple[SequenceOf[OnnxInput], SequenceOf[str]],
) -> tuple[OnnxNode, ...]:
    """The nodes, in the order in which they are tried.

    Args:
        fields: of the entry.
        args: the names of its arguments.
        attrs: the names of its attributes.
        usual: the inputs, and the attributes of the same name, where nothing is said.
    """
    node = fields.get("onnx")
    if node is None:
        return ()
    items = node.items if isinstance(node, Sequence) else (node,)
    return tuple(_Reader(fields, args, attrs, usual).node(item) for item in items)


class _Reader:
    """Reads one node."""

    def __init__(
        self,
        fields: Fields,
        args: SequenceOf[str],
        attrs: SequenceOf[str],
        usual: tuple[SequenceOf[OnnxInput], SequenceOf[str]],
    ) -> None:
        self.fields = fields
        self.args = args
        self.attrs = attrs
        self.usual_inputs, self.usual_attrs = usual

    def refuse(self, node: Node, text: str) -> None:
        self.fields.refuse(node.place, f"onnx: {text}")

    def node(self, node: Node) -> OnnxNode:
        if isinstance(node, Scalar):
            return OnnxNode(self.op(node), tuple(self.usual_inputs), self.same(self.usual_attrs))
        if not isinstance(node, Mapping) or "op" not in node.items:
            self.refuse(node, "the name of an op of ONNX, or {op: ...}, is expected")
            return OnnxNode("", ())
        for key, scalar in node.keys.items():
            if key not in _KEYS:
                self.refuse(scalar, f"unknown key {shorten(key)}{did_you_mean(key, _KEYS)}")
        given = node.items.get("attrs")
        return OnnxNode(
            op=self.op(node.items["op"]),
            inputs=self.inputs(node.items.get("inputs")),
            attrs=self.same(self.usual_attrs) if given is None else self.names(given),
            fixed=self.values("fixed", node.items.get("fixed"), known=None),
            when=self.values("when", node.items.get("when"), known=[*self.args, *self.attrs]),
            of=self.category(node.items.get("of")),
            since=self.since(node.items.get("since")),
        )

    @staticmethod
    def same(names: SequenceOf[str]) -> tuple[tuple[str, str], ...]:
        return tuple((name, name) for name in names)

    def op(self, node: Node) -> str:
        if isinstance(node, Scalar) and _OP.match(node.text):
            return node.text
        got = shorten(node.text) if isinstance(node, Scalar) else "no word"
        self.refuse(node, f"the name of an op of ONNX is expected; got {got}")
        return ""

    def inputs(self, node: Node | None) -> tuple[OnnxInput, ...]:
        if node is None:
            return tuple(self.usual_inputs)
        if not isinstance(node, Sequence):
            self.refuse(node, "inputs: a list of arguments and attributes is expected")
            return ()
        found = []
        for item in node.items:
            is_list = isinstance(item, Sequence) and len(item.items) == 1
            inner = item.items[0] if isinstance(item, Sequence) and is_list else item
            name = self.known(inner, [*self.args, *self.attrs], "inputs")
            if is_list and name in self.args:
                self.refuse(item, f"inputs: [{name}] is for attributes; {name} is an argument")
            found.append(OnnxInput(name, is_list))
        return tuple(found)

    def known(self, node: Node, names: SequenceOf[str], key: str) -> str:
        text = node.text if isinstance(node, Scalar) else ""
        if text not in names:
            hint = did_you_mean(text, names) or f"; one of {listing(names)} is expected"
            self.refuse(node, f"{key}: there is no argument or attribute {text!r}{hint}")
        return text

    def names(self, node: Node) -> tuple[tuple[str, str], ...]:
        """`{theirs: ours}`."""
        if not isinstance(node, Mapping):
            self.refuse(node, "attrs: {name in ONNX: name here} is expected")
            return ()
        known = [*self.args, *self.attrs]
        return tuple((key, self.known(value, known, "attrs")) for key, value in node.items.items())

    def values(
        self, key: str, node: Node | None, known: SequenceOf[str] | None
    ) -> tuple[tuple[str, OnnxValue], ...]:
        """`{name: value}`."""
        if node is None:
            return ()
        if not isinstance(node, Mapping):
            self.refuse(node, f"{key}: {{name: value}} is expected")
            return ()
        found = []
        for name, value in node.items.items():
            if known is not None:
                self.known(node.keys[name], known, key)
            if not isinstance(value, Scalar):
                self.refuse(value, f"{key}: {name}: a number or a word is expected")
            else:
                given = value.value
                is_plain = given is None or isinstance(given, (bool, int, float, str))
                found.append((name, given if is_plain else value.text))
        return tuple(found)

    def category(self, node: Node | None) -> Category | None:
        if node is None:
            return None
        text = node.text if isinstance(node, Scalar) else ""
        if text not in CATEGORIES:
            hint = did_you_mean(text, CATEGORIES)
            self.refuse(node, f"of: there is no dtype category {text!r}{hint}")
        return CATEGORIES.get(text)

    def since(self, node: Node | None) -> int:
        value = node.value if isinstance(node, Scalar) else 1
        if type(value) is int and 1 <= value < _MOST_OPSETS:
            return value
        if node is not None:
            self.refuse(node, "since: the number of an opset is expected")
        return 1
