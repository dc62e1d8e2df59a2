"""The entries of opdecl/onnx: each is read, calls what there is, and has a rule that takes it."""

from __future__ import annotations

import inspect

import onnx
import pytest

from tensorlike.export.onnx.importer.rule_table import RULES
from tensorlike.export.onnx.importer.rules import FAMILIES
from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.onnx_bodies import read_body
from tensorlike.opdecl.compiler.onnx_entries import Entry, entries, entry_for

ALL = [entry for versions in entries().values() for entry in versions]


def label(entry: Entry) -> str:
    return f"{entry.domain or 'ai.onnx'}.{entry.name}-{entry.since}"


@pytest.mark.parametrize("entry", ALL, ids=label)
def test_an_entry_means_something_for_its_inputs_and_attributes(entry: Entry) -> None:
    names = {*(one.name for one in entry.inputs), *entry.attrs}
    if entry.meaning != "rule":
        assert entry.calls or entry.text.isidentifier()
        return
    parameters = inspect.signature(RULES[entry.text]).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    wanted = {n for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD} - {"outputs"}
    required = {n for n in wanted if parameters[n].default is inspect.Parameter.empty}
    assert required <= names
    assert takes_all or names <= wanted


def test_every_rule_is_that_of_an_entry() -> None:
    assert FAMILIES
    assert set(RULES) == {entry.text for entry in ALL if entry.meaning == "rule"}


def test_what_is_exported_as_an_op_is_what_the_op_means_when_it_is_read() -> None:
    """The key `onnx` of a declaration and the entry of that op name the same function."""
    same = 0
    for declared in load_builtin().entries:
        for node in declared.onnx:
            entry = entry_for("", node.op, 26)
            if node.attrs or node.fixed or node.when or node.of is not None or entry is None:
                continue
            if entry.meaning != "rule":
                name = getattr(declared, "call", "") or declared.name
                assert name in (entry.text, *entry.calls), node.op
                same += 1
    assert same > 30


def test_entries_have_the_attributes_of_the_standard() -> None:
    """Each attribute of each version from 7 on, of ops of the standard that have an entry."""
    missing = []
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain != "" or schema.since_version < 7:
            continue
        entry = entry_for("", schema.name, schema.since_version)
        if entry is not None:
            inputs = {one.name for one in entry.inputs}
            missing += [
                f"{schema.name}-{schema.since_version}: {name}"
                for name in schema.attributes
                if name not in entry.attrs and name not in inputs
            ]
    assert not missing, "\n".join(sorted(missing))


def test_attributes_have_the_defaults_of_the_standard() -> None:
    wrong = []
    for schema in onnx.defs.get_all_schemas_with_history():
        entry = entry_for(schema.domain, schema.name, schema.since_version)
        if entry is None or (schema.domain == "" and schema.since_version < 7):
            continue
        # Activations are as many as there are directions, which no default can say.
        for name, attribute in schema.attributes.items():
            is_told = name in entry.attrs and name != "activations"
            if is_told and attribute.default_value.name:
                value = onnx.helper.get_attribute_value(attribute.default_value)
                theirs = value.decode() if isinstance(value, bytes) else value
                ours = entry.attrs[name]
                if ours != (pytest.approx(theirs) if isinstance(theirs, float) else theirs):
                    wrong.append(f"{label(entry)} of {schema.since_version}: {name} is {theirs!r}")
    assert not wrong, "\n".join(sorted(wrong))


def test_at_least_170_ops_of_the_standard_are_known() -> None:
    own = {name for domain, name in entries() if domain == ""}
    standard = {schema.name: schema for schema in onnx.defs.get_all_schemas() if not schema.domain}
    by_body = {
        name
        for name, schema in standard.items()
        if schema.has_function or schema.has_context_dependent_function
    }
    known = standard.keys() & (own | by_body)
    print(f"{len(known)} of {len(standard)}; not: {sorted(standard.keys() - known)}")
    assert len(standard.keys() & own) >= 165
    assert len(known) >= 170


def test_a_mistake_in_a_body_is_told_with_its_line() -> None:
    _, mistakes = read_body("y = x +\nz", ["x"], [])
    assert mistakes[0][0] == 0 and "cannot read" in mistakes[0][1]
    _, mistakes = read_body("unused = x + 1\nx.shape", ["x"], [])
    assert {line for line, _ in mistakes} == {0, 1}
