"""YAML text becomes a tree with lines, by YAML 1.2's core schema, without its dangerous parts."""

from __future__ import annotations

import math

import pytest

from tensorlike.opdecl.compiler.errors import (
    DeclarationError,
    Place,
    Problem,
    Problems,
    did_you_mean,
    listing,
    shorten,
)
from tensorlike.opdecl.compiler.loader import Mapping, Node, Scalar, Sequence, load_text


def load(text: str) -> Sequence:
    problems = Problems()
    node = load_text(text, "f.yaml", problems)
    problems.raise_any()
    assert node is not None
    return node


def plain(node: Node) -> object:
    """The tree as plain Python."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, value in node.items.items()}


def test_nested_values_keep_their_lines() -> None:
    node = load("# comment\n- name: a\n  list: [1,\n    2]\n- name: b\n")
    first, second = node.items
    assert isinstance(first, Mapping) and isinstance(second, Mapping)
    assert (first.place.line, second.place.line) == (2, 5)
    assert first.keys["list"].place == Place("f.yaml", 3)
    inner = first.items["list"]
    assert isinstance(inner, Sequence)
    assert [item.place.line for item in inner.items] == [3, 4]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True), ("false", False), ("null", None), ("~", None), ("1", 1), ("-7", -7),
        ("+7", 7), ("0", 0), ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0),
        ("-2.5E-1", -0.25), (".inf", math.inf), ("-.inf", -math.inf), ("'1'", "1"),
        ('"true"', "true"),
        # YAML 1.1 reads these as booleans, octal, sexagesimal, dates, merge keys and numbers.
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("OFF", "OFF"), ("True", "True"),
        ("012", "012"), ("0o14", "0o14"), ("0x1F", "0x1F"), ("12:30", "12:30"),
        ("1_000", "1_000"), ("2001-01-01", "2001-01-01"), ("=", "="),
        ("9" * 41, "9" * 41),
    ],
)  # fmt: skip
def test_scalars_follow_the_core_schema(text: str, expected: object) -> None:
    value = plain(load(f"- {text}"))
    assert value == [expected]
    assert type(value) is list and type(value[0]) is type(expected)


def test_nan_is_a_number() -> None:
    value = plain(load("- .nan"))
    assert isinstance(value, list) and math.isnan(value[0])


def test_blocks_are_text_that_remembers_being_a_block() -> None:
    (mapping,) = load("- a: |\n    x\n    y\n  b: x\n").items
    assert isinstance(mapping, Mapping)
    block, word = mapping.items["a"], mapping.items["b"]
    assert isinstance(block, Scalar) and isinstance(word, Scalar)
    assert (block.value, block.is_block, block.is_plain) == ("x\ny\n", True, False)
    assert (word.is_block, word.is_plain) == (False, True)


def test_duplicate_keys_are_all_reported() -> None:
    with pytest.raises(DeclarationError) as caught:
        load("- a: 1\n  b: 2\n  a: 3\n  b: 4\n")
    assert str(caught.value) == (
        "f.yaml:3: the key 'a' is given twice, here and on line 1\n"
        "f.yaml:4: the key 'b' is given twice, here and on line 2"
    )


def test_depth_up_to_the_cap_is_fine() -> None:
    node: object = plain(load("- " + "[" * 60 + "]" * 60))
    for _ in range(60):
        assert isinstance(node, list)
        node = node[0]


def test_windows_line_ends_are_fine() -> None:
    assert plain(load("- a: 1\r\n- b: 2\r\n")) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\U0001f600"])
def test_other_characters_are_text(char: str) -> None:
    (mapping,) = load(f"- a: 'x{char}y'\n").items
    assert isinstance(mapping, Mapping)


def test_problems_are_sorted_and_said_once() -> None:
    problems = Problems()
    for line in (3, 1, 3):
        problems.add(Place("f.yaml", line), "e", "wrong")
    problems.add(Place("a.yaml", 2), "", "wrong too")
    assert len(problems) == 3
    with pytest.raises(DeclarationError) as caught:
        problems.raise_any()
    assert [str(problem) for problem in caught.value.problems] == [
        "f.yaml:1: e: wrong",
        "f.yaml:3: e: wrong",
        "a.yaml:2: wrong too",
    ]
    assert caught.value.problems[0] == Problem("f.yaml", 1, "e", "wrong")


def test_words_of_messages() -> None:
    assert did_you_mean("grads", ["grad", "doc"]) == "; did you mean 'grad'?"
    assert did_you_mean("grads", ["doc"]) == ""
    assert shorten("a" * 100) == repr("a" * 57 + "...")
    assert [listing(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a or b",
        "a, b or c",
    ]
