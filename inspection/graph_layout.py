"""Where the boxes of a graph go: rows from top to bottom, few crossings, short edges.

Each group of boxes has rows of its own, below those of the group before. Values that no op gives
stand above the first op that reads them, and what nothing reads stands below everything. An edge
that crosses rows passes through places that are kept free for it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from .. import _C
from .graph import Arrow, Box, Graph

CHARACTER = 7.2  # the width of one, of a fixed-width font of 12 points
LINE = 18.0  # the height of a line in a box
PAD = 8.0
COLUMN_GAP = 24.0
ROW_GAP = 46.0
LABEL_WIDTH = 60.0  # of the cells "input" and "output"
MOST_CHARACTERS = 48
MOST_PLACES = 20_000  # that are kept free for edges; beyond, edges go straight
SWEEPS = 8

Point = tuple[float, float]


def shorten(text: str) -> str:
    """The text, or as much of it as a box is to show."""
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


@dataclass(slots=True)
class Place:
    """A box, or a place that an edge passes through, with its middle and its size."""

    row: int
    box: Box | None = None
    width: float = 2.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2


@dataclass(slots=True)
class Layout:
    """What to draw, where."""

    places: dict[str, Place]
    paths: list[tuple[Arrow, list[Point]]]
    frames: list[tuple[str, float, float, float, float]]  # title, left, top, width, height
    width: float
    height: float


def size_of(box: Box) -> tuple[float, float]:
    """Width and height of a box."""
    titles = [shorten(line) for line in box.title.split("\n")]
    if not box.is_op:
        return max(map(len, titles)) * CHARACTER + 2 * PAD, len(titles) * LINE + PAD
    slots = max((len(shorten(text)) for text in (*box.inputs, *box.outputs)), default=0)
    width = max(len("type: " + titles[0]) * CHARACTER, LABEL_WIDTH + slots * CHARACTER + PAD)
    rows = 1 + max(1, len(box.inputs)) + max(1, len(box.outputs))
    return width + 2 * PAD, rows * LINE


def arrange(graph: Graph) -> Layout:
    """Finds a place for everything.

    Raises:
        ValueError: an arrow leads from or to a box that there is not.
    """
    names = {box.name for box in graph.boxes}
    for arrow in graph.arrows:
        if missing := {arrow.source, arrow.target} - names:
            raise _C.ArgumentError(
                f"must join boxes of the graph; there is no {missing}.",
                op="draw",
                argument="arrows",
            )
    rows = _rows(graph)
    work = _Work()
    for box in graph.boxes:
        width, height = size_of(box)
        work.places[box.name] = Place(rows[box.name], box, width, height)
    chains = [work.join(arrow) for arrow in graph.arrows]
    work.order()
    work.spread()
    paths = [
        (arrow, work.path(arrow, chain)) for arrow, chain in zip(graph.arrows, chains, strict=True)
    ]
    boxes = {name: place for name, place in work.places.items() if place.box}
    frames = [_frame(group, boxes) for group in graph.groups()]
    width = max([place.left + place.width for place in work.places.values()] or [0.0])
    height = max([place.top + place.height for place in work.places.values()] or [0.0])
    return Layout(boxes, paths, frames, width + 2 * PAD, height + 3 * PAD)


def _rows(graph: Graph) -> dict[str, int]:
    """The row of each box."""
    into: dict[str, list[str]] = defaultdict(list)
    out_of: dict[str, list[str]] = defaultdict(list)
    for arrow in graph.arrows:
        if not arrow.is_dashed:
            into[arrow.target].append(arrow.source)
            out_of[arrow.source].append(arrow.target)
    rows: dict[str, int] = {}
    first = 1
    for group in ["", *graph.groups()]:
        members = [box.name for box in graph.boxes if box.group == group and (group or box.is_op)]
        for name in members:  # in the order of running, so that what they read has its row
            above = [rows[source] for source in into[name] if source in rows]
            rows[name] = max([first - 1, *above]) + 1
        first = max([first - 2, *(rows[name] for name in members)]) + 2
    values = [box.name for box in graph.boxes if box.name not in rows]
    starts = {
        group: min(rows[b.name] for b in graph.boxes if b.group == group and b.name in rows)
        for group in {box.group for box in graph.boxes if box.name in rows}
    }
    by_name = {box.name: box for box in graph.boxes}
    for name in values:
        readers = [starts[by_name[reader].group] for reader in out_of[name] if reader in rows]
        rows[name] = min(readers) - 1 if readers else first - 1
    used = {row: number for number, row in enumerate(sorted(set(rows.values())))}
    return {name: used[row] for name, row in rows.items()}


@dataclass(slots=True)
class _Work:
    places: dict[str, Place] = field(default_factory=dict)
    above: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    below: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    free: int = 0
    rows: list[list[str]] = field(default_factory=list)

    def join(self, arrow: Arrow) -> list[str]:
        """Keeps places free for an edge; returns what it passes, from one end to the other."""
        start, end = self.places[arrow.source].row, self.places[arrow.target].row
        step = 1 if end >= start else -1
        chain = [arrow.source]
        between = range(start + step, end, step)
        if self.free + len(between) <= MOST_PLACES:
            for row in between:
                name = f" {self.free}"  # no box's
                self.free += 1
                self.places[name] = Place(row)
                chain.append(name)
        chain.append(arrow.target)
        for a, b in pairwise(chain):
            upper, lower = (a, b) if step > 0 else (b, a)
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        return chain

    def order(self) -> None:
        """Orders each row by the middle of what its members are joined to, up and down in turn."""
        self.rows = [[] for _ in range(max((p.row for p in self.places.values()), default=-1) + 1)]
        for name, place in self.places.items():
            self.rows[place.row].append(name)
        position = {name: float(i) for row in self.rows for i, name in enumerate(row)}
        for sweep in range(SWEEPS):
            joined, rows = (
                (self.above, self.rows) if sweep % 2 == 0 else (self.below, self.rows[::-1])
            )
            for row in rows:
                key = {
                    name: sum(position[other] for other in joined[name]) / len(joined[name])
                    if joined[name]
                    else position[name]
                    for name in row
                }
                row.sort(key=key.__getitem__)
                position.update({name: float(i) for i, name in enumerate(row)})

    def spread(self) -> None:
        """Gives rows their heights and members their columns."""
        y = 3 * PAD
        for row in self.rows:
            height = max(self.places[name].height for name in row)
            for name in row:
                self.places[name].y = y + height / 2
            y += height + ROW_GAP
            self._place(row, [0.0] * len(row))
        for sweep in range(2 * SWEEPS):
            joined, rows = (
                (self.above, self.rows) if sweep % 2 == 0 else (self.below, self.rows[::-1])
            )
            for row in rows:
                wanted = [
                    sum(self.places[other].x for other in joined[name]) / len(joined[name])
                    if joined[name]
                    else self.places[name].x
                    for name in row
                ]
                self._place(row, wanted)
        left = min((place.left for place in self.places.values()), default=0.0)
        for place in self.places.values():
            place.x += 2 * PAD - left

    def _place(self, row: list[str], wanted: list[float]) -> None:
        """Puts a row's members where they want to be, as far as they leave each other room."""
        places = [self.places[name] for name in row]
        edge = float("-inf")
        for place, x in zip(places, wanted, strict=True):
            place.x = max(x, edge + place.width / 2)
            edge = place.x + place.width / 2 + COLUMN_GAP
        # What was pushed to the right may have had too much room left on its left side.
        excess = sum(place.x - x for place, x in zip(places, wanted, strict=True)) / len(row)
        for place in places:
            place.x -= excess

    def path(self, arrow: Arrow, chain: list[str]) -> list[Point]:
        """The points that an edge goes through."""
        source, target = self.places[arrow.source], self.places[arrow.target]
        down = source.row <= target.row
        start = _port(source, arrow.source_slot, is_input=False, is_below=down)
        end = _port(target, arrow.target_slot, is_input=True, is_below=not down)
        return [start, *((self.places[name].x, self.places[name].y) for name in chain[1:-1]), end]


def _port(place: Place, slot: int | None, *, is_input: bool, is_below: bool) -> Point:
    """Where an edge touches a box: slots share its upper or lower side."""
    y = place.top + place.height if is_below else place.top
    if slot is None or place.box is None:
        return place.x, y
    count = len(place.box.inputs if is_input else place.box.outputs)
    return place.left + place.width * (slot + 1) / (count + 1), y


def _frame(group: str, places: dict[str, Place]) -> tuple[str, float, float, float, float]:
    members = [place for place in places.values() if place.box and place.box.group == group]
    left = min(place.left for place in members) - PAD
    top = min(place.top for place in members) - PAD - LINE
    right = max(place.left + place.width for place in members) + PAD
    bottom = max(place.top + place.height for place in members) + PAD
    return group, left, top, max(right - left, len(group) * CHARACTER + PAD), bottom - top
