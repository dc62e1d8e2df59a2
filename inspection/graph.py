"""A graph of ops as a picture is drawn of: boxes with slots, and edges between slots.

Nothing here knows what made the graph: a tape, a program, a listing. It is read as Graphviz's
language, one statement a line, in the form that programs are written in (`csrc/program/dot.cpp`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import _C


@dataclass(frozen=True, slots=True)
class Box:
    """A node: an op with its slots, or a value, whose title may have several lines.

    Args:
        name: tells it from others; edges refer to it.
        title: the op's type, or what is known of the value.
        inputs: what stands in each slot that it reads, such as ``"a: weight"``.
        outputs: likewise of what it gives.
        group: the title of the frame around it; "" for none.
    """

    name: str
    title: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    group: str = ""

    @property
    def is_op(self) -> bool:
        """Whether it has slots."""
        return bool(self.inputs or self.outputs)


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge. The slots are numbers of the source's outputs and of the target's inputs."""

    source: str
    target: str
    source_slot: int | None = None
    target_slot: int | None = None
    label: str = ""
    is_dashed: bool = False


@dataclass(slots=True)
class Graph:
    """Boxes and the arrows between them."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def groups(self) -> list[str]:
        """The titles of the frames, in the order of their first boxes."""
        return list(dict.fromkeys(box.group for box in self.boxes if box.group))


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


_BOX = re.compile(r'(\w+) \[(?:shape=box, )?label="((?:[^"\\]|\\.)*)"\];')
_ARROW = re.compile(r"(\w+)(?::o(\d+))? -> (\w+)(?::i(\d+))?(?: \[(.*)\])?;")
_LABEL = re.compile(r'label="((?:[^"\\]|\\.)*)"')
_IGNORED = ("digraph ", "subgraph ", "style=", "color=", "node [")


def read_dot(text: str) -> Graph:
    """The graph that `to_dot` of a program has written.

    Raises:
        ValueError: a line is none of theirs: other programs' graphs are for Graphviz.
    """
    graph = Graph()
    group = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if found := _BOX.fullmatch(line):
            graph.boxes.append(_read_box(found[1], found[2], group))
        elif found := _ARROW.fullmatch(line):
            extra = found[5] or ""
            label = _LABEL.search(extra)
            graph.arrows.append(
                Arrow(
                    found[1],
                    found[3],
                    int(found[2]) if found[2] else None,
                    int(found[4]) if found[4] else None,
                    _unescape(label[1]) if label else "",
                    "style=dashed" in extra,
                )
            )
        elif found := _LABEL.match(line):
            group = _unescape(found[1])
        elif line == "}":
            group = ""
        elif line and not line.startswith(_IGNORED):
            raise _C.ArgumentError(
                "each line must be a statement as a tape writes it.",
                op="read_dot",
                got=f"{line!r} in line {number}",
                fix="draw other graphs with Graphviz",
            )
    return graph


def _read_box(name: str, label: str, group: str) -> Box:
    if not label.startswith("{type: "):
        return Box(name, _unescape(label), group=group)
    cells = list(_cells(label))
    slots: dict[str, list[str]] = {"i": [], "o": []}
    for cell in cells:
        if found := re.fullmatch(r"<([io])\d+> (.*)", cell):
            slots[found[1]].append(_unescape(found[2]))
    title = _unescape(cells[0].removeprefix("type: "))
    return Box(name, title, tuple(slots["i"]), tuple(slots["o"]), group)


def _cells(label: str) -> Iterator[str]:
    """The texts between braces and bars that are not escaped."""
    for found in re.finditer(r"(?:[^{}|\\]|\\.)+", label):
        if text := found[0].strip(" "):
            yield text if not text.endswith("\\") else text + " "
