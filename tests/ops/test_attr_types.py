"""Every row of the table of attribute types: what is taken, written, moved and told as it says.

C++ programs are held to it in tests/csrc/test_attr_types.cpp.
"""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from support.attr_values import GIVEN, accepted, refused
from support.kept_attributes import SEEN, call_of, entry_of, name_of, op_of

import tensorlike as tl
from tensorlike import ops
from tensorlike.opdecl import load_text
from tensorlike.opdecl.compiler.attr_types import ATTR_TYPES, FORMS, AttrType
from tensorlike.opdecl.compiler.emit_docs import emit_attribute_docs
from tensorlike.opdecl.compiler.emit_functional import parameters_of
from tensorlike.ops.serializing import TAGGED

TYPES = list(ATTR_TYPES.values())
CLASSES = {"none": type(None), "bool": bool, "int": int, "float": float, "str": str, "ints": tuple,
           "dtype": tl.dtype, "complex": complex, "wide": int}  # fmt: skip
X = np.arange(6.0).reshape(2, 3)


def name(kind: AttrType) -> str:
    return kind.name


def held(op: Any) -> str:
    """The form in which an op has its attribute."""
    value = op.value
    if type(value) is int and value > 2**63 - 1:
        return "wide"
    return next(form for form, cls in CLASSES.items() if type(value) is cls)


def test_the_forms_are_those_of_the_core() -> None:
    assert list(GIVEN) == list(FORMS)
    for kind in TYPES:
        assert {*kind.holds} <= {*CLASSES}, kind.name
        assert {*kind.takes} <= {*FORMS}, kind.name
        assert kind.examples, kind.name
        assert kind.doc.endswith("."), kind.name


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_what_a_type_takes_is_held_in_its_forms(kind: AttrType) -> None:
    for value in accepted(kind):
        op = op_of(kind, value)
        assert held(op) in kind.holds, value
        assert op_of(kind, op.value) == op
        SEEN.clear()
        call_of(kind)(tl.tensor(X), value=value)
        assert (len(SEEN), type(SEEN[0])) == (1, type(op.value))
        assert SEEN[0] == op.value


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_what_a_type_does_not_take_is_refused_by_name(kind: AttrType) -> None:
    for value in refused(kind):
        if kind.name == "device" and value == "no name":
            continue  # which is known when a call is made
        for make in (lambda v: op_of(kind, v), lambda v: call_of(kind)(tl.tensor(X), value=v)):
            with pytest.raises(tl.TensorlikeError) as caught:
                make(value)
            text = str(caught.value)
            assert text.startswith(
                (f"{name_of(kind)}: value must ", f"keep_{kind.name}: value ")
            ), (
                value,
                text,
            )
            assert "; got " in text


class Liar:
    """A number that says what it is with side effects, or not at all."""

    def __init__(self, error: Exception | None, items: list[Any] | None = None) -> None:
        self.error = error
        self.items = items

    def __index__(self) -> int:
        if self.items is not None:
            self.items.clear()
        if self.error is not None:
            raise self.error
        return 1

    __float__ = __index__  # type: ignore[assignment]


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_hostile_values_end_in_errors_of_ours_or_in_their_own(kind: AttrType) -> None:
    own = ZeroDivisionError("mine")
    changing: list[Any] = []
    changing += [Liar(None, changing), 0, 1]
    hostile: list[Any] = [
        2**70, -(2**70), [2**70], 10**400, math.nan, [math.nan], Liar(TypeError("no")),
        Liar(OverflowError("no")), Liar(own), [Liar(own), 1], changing, "\ud800", ["\ud800"],
        [[[]]], ((1, 2, 3),), float, type("Odd", (str,), {})("a"), True, [True, np.bool_(True)],
    ]  # fmt: skip
    for value in hostile:
        try:
            op = op_of(kind, value)
        except (tl.TensorlikeError, ZeroDivisionError) as error:
            assert error is own or isinstance(error, tl.TensorlikeError)
        else:
            assert held(op) in kind.holds
            assert held(op) == "bool" or value is not True


@pytest.mark.parametrize("kind", [k for k in TYPES if "ints" in k.takes], ids=name)
def test_a_list_that_changes_while_it_is_read_was_what_it_was(kind: AttrType) -> None:
    changing: list[Any] = []
    changing += [Liar(None, changing), 0, 1, 2]
    assert op_of(kind, changing).value == (1, 0, 1, 2)
    assert changing == []


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_ops_are_written_and_read_as_the_table_says(kind: AttrType) -> None:
    for value in accepted(kind):
        op = op_of(kind, value)
        assert pickle.loads(pickle.dumps(op)) == op
        data = ops.serialize(op)
        assert ops.deserialize(data) == op
        written = json.loads(data)["params"]["value"]
        tag = FORMS[held(op)].tag
        if tag:
            assert list(written) == [tag]
        else:
            assert written == (list(op.value) if held(op) == "ints" else op.value)


def test_the_words_of_a_file_are_those_of_the_table() -> None:
    assert {form.tag for form in FORMS.values() if form.tag} <= set(TAGGED)


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_programs_come_back_from_their_bytes(kind: AttrType) -> None:
    for value in accepted(kind):
        listing = tl.Listing()
        y = call_of(kind)(tl.Tensor(listing.input("x", (2, 3))), value=value)
        again, _ = tl.Listing.from_bytes(listing.to_bytes(y))
        assert again.text_lines() == listing.text_lines()
        assert repr(op_of(kind, value)) in str(again)


def moved(kind: AttrType, value: Any, size: int) -> Any:
    """What an attribute becomes for 2-d examples with an axis of `size` in front."""
    if kind.follows == "axes" and value is None:
        return (1, 2)
    if kind.follows == "axes" and isinstance(value, int):
        return value + (value >= 0)
    if kind.follows == "axes":
        return (*kind.front, *(axis + (axis >= 0) for axis in value))
    if kind.follows == "shape":
        return (size, *value)
    return (*kind.front, *value) if kind.front else value


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_attributes_follow_an_axis_of_examples_as_the_table_says(kind: AttrType) -> None:
    values = [*kind.examples]
    if kind.follows == "axes":
        values += [-1] if "int" in kind.holds else [(-1, 0)]
    for value in values:
        op = op_of(kind, value)
        SEEN.clear()
        found = tl.vmap(lambda x, v=value: call_of(kind)(x, value=v))(tl.zeros((5, 2, 3)))
        assert found.shape == (5, 2, 3)
        (seen,) = SEEN
        assert seen == moved(kind, op.value, 5)


def test_types_move_in_every_way_there_is() -> None:
    stays = ("", ())
    whole = (1, -(2**63), -(2**63), -(2**63))
    wanted = {
        "axis": ("axes", ()), "one_axis": ("axes", ()), "axes": ("axes", ()), "int": stays,
        "permutation": ("axes", (0,)), "shape": ("shape", ()), "widths": ("", (0, 0)),
        "index": ("", whole), "sizes": stays, "padding": stays,
    }  # fmt: skip
    assert {n: (ATTR_TYPES[n].follows, ATTR_TYPES[n].front) for n in wanted} == wanted
    x = tl.tensor(X)
    np.testing.assert_array_equal(tl.vmap(lambda row: row[1:])(x), X[:, 1:])


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_the_stub_takes_what_the_table_says(kind: AttrType) -> None:
    declarations = load_text(entry_of(kind), "opdecl/kept.yaml")
    (entry,) = declarations.functions.values()
    annotation = parameters_of(entry)[-1].removeprefix("value: ")
    if kind.name == "choice":
        assert annotation == 'Literal["sum"]'
        return
    assert annotation == kind.given_annotation
    parts = set(annotation.split(" | "))
    for form in FORMS:
        shown = {"none": "None", "ints": "Sequence[int]"}.get(form, form)
        if shown in ("bool", "int", "float", "str", "None", "Sequence[int]"):
            assert (shown in parts or parts == {"object"}) == (
                form in kind.takes or parts == {"object"}
            )


def test_the_reference_has_a_row_for_each_type() -> None:
    rows = [line.replace("\\|", "|") for line in emit_attribute_docs().splitlines()]
    for kind in TYPES:
        (row,) = [row for row in rows if row.startswith(f"| `{kind.name}` |")]
        for text in (kind.doc, kind.given_annotation, kind.held_annotation, kind.default_words):
            assert text in row


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_defaults_are_what_the_table_says(kind: AttrType) -> None:
    literals = {"none": "null", "bool": "true", "int": "7", "float": "0.5", "ints": "[1, 2]"}
    literals["str"] = str(kind.examples[0]) if kind.name == "choice" else "word"
    for form, text in literals.items():
        source = entry_of(kind).replace(f"type: {kind.name}", f"type: {kind.name}, default: {text}")
        if form in kind.defaults:
            (entry,) = load_text(source, "opdecl/kept.yaml").functions.values()
            assert not entry.attrs[0].is_required
        else:
            with pytest.raises(ValueError, match="the default must be") as caught:
                load_text(source, "opdecl/kept.yaml")
            assert f"the default must be {kind.default_words}; got" in str(caught.value)


def test_a_type_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="value: unknown type 'axle'; did you mean 'axes'"):
        load_text(entry_of(ATTR_TYPES["axis"]).replace("type: axis", "type: axle"), "opdecl/a.yaml")
