"""Declaration text -> a tree of values that know their lines.

YAML is read with the pure-Python scanner alone (the C one can be crashed by nesting), and only its
plain part: no anchors, aliases, tags, directives or second documents. Scalars follow YAML 1.2's
core schema, so `no` is a word and `012` is not a number. Size, nesting and the number of nodes are
capped while scanning, before anything recurses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .errors import Place, Problems, shorten

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_NODES = 50_000

INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
WORDS: dict[str, bool | float | None] = {
    "": None, "~": None, "null": None, "true": True, "false": False,
    ".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar: as written (`text`), what it means (`value`), and whether it stood unquoted."""

    place: Place
    text: str
    value: bool | int | float | str | None
    is_plain: bool
    is_block: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    place: Place
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping with text keys, in the order of the file."""

    place: Place
    items: dict[str, Node]
    keys: dict[str, Scalar]


Node: TypeAlias = Scalar | Sequence | Mapping


def load_file(path: Path, shown: str, problems: Problems) -> Sequence | None:
    """The entries of a file, which messages call `shown`."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        problems.add(Place(shown, 1), "", f"cannot be read: {error.strerror}")
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if len(data) <= MAX_BYTES:
            problems.add(Place(shown, line), "", f"byte {error.start} is not UTF-8")
            return None
        text = data.decode("latin-1")
    return load_text(text, shown, problems)


def load_text(text: str, shown: str, problems: Problems) -> Sequence | None:
    """The entries of a text; None where it cannot be read at all."""
    if _has_refused_text(text, shown, problems):
        return None
    root = _compose(text, shown, problems)
    if root is None:
        return None
    node = _convert(root, shown, problems)
    if not isinstance(node, Sequence):
        problems.add(node.place, "", "the file must be a list of entries (`- scalar: name ...`)")
        return None
    return node


def _has_refused_text(text: str, shown: str, problems: Problems) -> bool:
    def refuse(index: int, words: str) -> bool:
        problems.add(Place(shown, text.count("\n", 0, index) + 1), "", words)
        return True

    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return refuse(0, f"is larger than {MAX_BYTES} bytes")
    if text.startswith("\ufeff"):
        return refuse(0, "begins with a byte order mark; save it as plain UTF-8")
    for char, name in (("\0", "a NUL character"), ("\t", "a tab; indent with spaces")):
        if char in text:
            return refuse(text.index(char), f"holds {name}")
    if not text.strip():
        return refuse(0, "is empty; a list of entries is expected")
    return False


def _compose(text: str, shown: str, problems: Problems) -> yaml.Node | None:
    import yaml

    try:
        node: yaml.Node | None = _strict_loader()(text).get_single_node()
    except _Refused as refused:
        problems.add(Place(shown, refused.line), "", refused.text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        words = " ".join(part for part in (error.context, error.problem) if part)
        problems.add(Place(shown, line), "", f"is not YAML: {words}")
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, max(error.position, 0)) + 1
        problems.add(Place(shown, line), "", f"holds the character {chr(error.character)!a}")
    else:
        if node is not None:
            return node
        problems.add(Place(shown, 1), "", "is empty; a list of entries is expected")
    return None


class _Refused(Exception):
    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.text = text


def _strict_loader() -> type[Any]:
    """The loader class; made here because only this module's functions need PyYAML."""
    import yaml

    class StrictLoader(yaml.SafeLoader):
        """Refuses, while scanning, what declarations have no use for."""

        nodes = 0

        def refuse(self, text: str) -> None:
            raise _Refused(self.line + 1, text)

        def fetch_alias(self) -> None:
            self.refuse("aliases (*name) are not allowed; write it out")

        def fetch_anchor(self) -> None:
            self.refuse("anchors (&name) are not allowed; write it out")

        def fetch_tag(self) -> None:
            self.refuse("tags (!name) are not allowed")

        def fetch_directive(self) -> None:
            self.refuse("directives (%NAME) are not allowed")

        def fetch_flow_collection_start(self, token: Any) -> None:
            self.check_depth()
            super().fetch_flow_collection_start(token)

        def add_indent(self, column: int) -> bool:
            self.check_depth()
            return bool(super().add_indent(column))

        def check_depth(self) -> None:
            if self.flow_level + len(self.indents) > MAX_DEPTH:
                self.refuse(f"is nested more than {MAX_DEPTH} deep")

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.nodes += 1
            if self.nodes > MAX_NODES:
                self.refuse(f"holds more than {MAX_NODES} values")
            return super().compose_node(parent, index)

    return StrictLoader


def _convert(node: yaml.Node, shown: str, problems: Problems) -> Node:
    """Recurses at most MAX_DEPTH deep."""
    import yaml

    place = Place(shown, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        items = tuple(_convert(item, shown, problems) for item in node.value)
        return Sequence(place, items)
    if isinstance(node, yaml.MappingNode):
        return _convert_mapping(node, place, problems)
    style = node.style if isinstance(node, yaml.ScalarNode) else ""
    is_plain = style is None
    text = str(node.value)
    value = _resolve(text) if is_plain else text
    return Scalar(place, text, value, is_plain, style in ("|", ">"))


def _convert_mapping(node: yaml.MappingNode, place: Place, problems: Problems) -> Mapping:
    items: dict[str, Node] = {}
    keys: dict[str, Scalar] = {}
    for key_node, value_node in node.value:
        key = _convert(key_node, place.path, problems)
        value = _convert(value_node, place.path, problems)
        if not isinstance(key, Scalar):
            problems.add(key.place, "", "a key must be a word")
        elif key.text in items:
            first = keys[key.text].place.line
            text = f"the key {shorten(key.text)} is given twice, here and on line {first}"
            problems.add(key.place, "", text)
        else:
            items[key.text] = value
            keys[key.text] = key
    return Mapping(place, items, keys)


def _resolve(text: str) -> bool | int | float | str | None:
    """A plain scalar by YAML 1.2's core schema, without octal and hexadecimal."""
    if text in WORDS:
        return WORDS[text]
    if len(text) > 40:
        return text
    if INTEGER.match(text):
        return int(text)
    if FLOAT.match(text):
        return float(text)
    return text
