"""The key `onnx`: what is read of it, what is refused, and that ONNX has what the entries say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tensorlike.opdecl import DeclarationError, load_builtin, load_text
from tensorlike.opdecl.compiler.expression import Category
from tensorlike.opdecl.compiler.model import Entry
from tensorlike.opdecl.compiler.onnx_node import OnnxInput, OnnxNode

ENTRIES = [entry for entry in load_builtin().entries if entry.onnx]


def entry_with(text: str) -> str:
    return (
        '- op: F\n  args: ["x: numeric"]\n  attrs: {axis: {type: one_axis}, k: int}\n'
        f"  define: x\n  onnx: {text}\n  doc: A test.\n"
    )


def nodes(text: str) -> tuple[OnnxNode, ...]:
    return load_text(entry_with(text), base=load_builtin()).functions["f"].onnx


def test_a_name_alone_is_an_op_of_the_same_arguments() -> None:
    assert nodes("Relu") == (OnnxNode("Relu", (OnnxInput("x"),)),)


def test_attributes_are_inputs_or_have_other_names() -> None:
    text = "{op: G, inputs: [x, [k], axis], attrs: {dim: axis}, fixed: {m: t}, since: 13}"
    inputs = (OnnxInput("x"), OnnxInput("k", is_list=True), OnnxInput("axis"))
    wanted = OnnxNode("G", inputs, (("dim", "axis"),), (("m", "t"),), since=13)
    assert nodes(text) == (wanted,)


def test_several_are_tried_in_their_order() -> None:
    first, second = nodes("[{op: And, of: boolean}, {op: G, when: {k: 2}}]")
    assert (first.of, second.when) == (Category.BOOLEAN, (("k", 2),))


def test_a_reduction_takes_its_axes_as_an_input() -> None:
    (node,) = load_builtin().functions["sum"].onnx
    assert node.inputs == (OnnxInput("x"), OnnxInput("axis", is_list=True))
    assert node.attrs == (("keepdims", "keepdims"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relu", "the name of an op of ONNX is expected; got 'relu'"),
        ("{inputs: [x]}", "the name of an op of ONNX, or {op: ...}, is expected"),
        ("{op: G, input: [x]}", "unknown key 'input'; did you mean 'inputs'?"),
        ("{op: G, inputs: x}", "inputs: a list of arguments and attributes is expected"),
        ("{op: G, inputs: [y]}", "inputs: there is no argument or attribute 'y'"),
        ("{op: G, inputs: [[x]]}", "inputs: [x] is for attributes; x is an argument"),
        ("{op: G, attrs: [axis]}", "attrs: {name in ONNX: name here} is expected"),
        ("{op: G, attrs: {axis: axes}}", "attrs: there is no argument or attribute 'axes'"),
        ("{op: G, fixed: {axis: [1]}}", "fixed: axis: a number or a word is expected"),
        ("{op: G, when: {kk: 1}}", "when: there is no argument or attribute 'kk'"),
        ("{op: G, of: reals}", "of: there is no dtype category 'reals'"),
        ("{op: G, since: one}", "since: the number of an opset is expected"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        nodes(text)
    assert any(f"<string>:5: F: onnx: {message}" in line for line in str(caught.value).split("\n"))


def each_node() -> Iterator[tuple[Entry, OnnxNode]]:
    for entry in ENTRIES:
        for node in entry.onnx:
            yield entry, node


def test_onnx_has_the_ops_inputs_and_attributes_that_entries_name() -> None:
    """By the schema of the least opset that is exported, or the first one that has the op so."""
    onnx = pytest.importorskip("onnx")
    versions: dict[str, set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        versions.setdefault(schema.name, set()).add(schema.since_version)
    for entry, node in each_node():
        schema = onnx.defs.get_schema(node.op, max(node.since, 18))
        assert node.since == 1 or node.since in versions[node.op], (entry.name, node)
        assert schema.min_input <= len(node.inputs) <= schema.max_input, (entry.name, node)
        names = {name for name, _ in (*node.attrs, *node.fixed)}
        assert names <= set(schema.attributes), (entry.name, node)
