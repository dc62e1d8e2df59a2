"""Draws graphs of ops: as SVG with nothing but Python, as PNG with Pillow, or for Graphviz."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Protocol
from xml.sax.saxutils import escape

from .. import _C
from .files import path_of, replace_file
from .graph import Box, Graph, read_dot
from .graph_layout import LABEL_WIDTH, LINE, PAD, Layout, Place, Point, arrange, shorten

__all__ = ["draw", "read_dot", "to_svg"]

_LARGEST = 16_000  # pixels along a side of a PNG
_STEPS = 12  # straight lines that a curve is drawn of


class _Canvas(Protocol):
    """What a picture is drawn on."""

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str) -> None: ...
    def line(self, points: list[Point], *, dashed: bool, arrow: bool) -> None: ...
    def text(self, x: float, y: float, text: str) -> None: ...
    def start(self, name: str) -> None: ...
    def end(self) -> None: ...


def draw(dot: str, path: str | PathLike[str]) -> None:
    """Draws a graph into a file, in the format that its name ends in: .svg, .png or .dot.

    Args:
        dot: the graph, in Graphviz's language, as programs write it.
        path: the file, which is written over.

    Raises:
        ValueError: the name ends otherwise, or an arrow leads nowhere.
        ModuleNotFoundError: a .png is asked for, and Pillow is not installed.

    Example:
        >>> import tempfile
        >>> import tensorlike as tl
        >>> listing = tl.Listing()
        >>> y = listing.input("x", (2, 3)) * 2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw(listing.to_dot("doubled"), f"{folder}/doubled.svg")
    """
    target = path_of(path, "draw")
    match target.suffix:
        case ".dot":
            replace_file(target, dot.encode())
        case ".svg":
            replace_file(target, to_svg(read_dot(dot)).encode())
        case ".png":
            _write_png(read_dot(dot), target)
        case suffix:
            raise _C.ArgumentError(
                "the file's name must end in .svg, .png or .dot.",
                op="draw",
                got=f"{suffix!r} in {target}",
            )


def to_svg(graph: Graph) -> str:
    """The picture of a graph, as an SVG document."""
    layout = arrange(graph)
    canvas = _Svg()
    _paint(layout, canvas)
    size = f'width="{layout.width:.0f}" height="{layout.height:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" font-family="monospace" '
        'font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
    )
    return head + "\n".join(canvas.parts) + "\n</svg>\n"


def _paint(layout: Layout, canvas: _Canvas) -> None:
    for title, left, top, width, height in layout.frames:
        canvas.rectangle(left, top, width, height, "#e8e8e8")
        canvas.text(left + PAD, top + LINE / 2, title)
    for arrow, points in layout.paths:
        canvas.line(list(_smooth(points)), dashed=arrow.is_dashed, arrow=True)
        if arrow.label:
            x, y = points[len(points) // 2]
            canvas.text(x + 4, y - LINE / 2, arrow.label)
    for place in layout.places.values():
        if place.box is not None:
            canvas.start(place.box.name)
            _paint_box(place.box, place, canvas)
            canvas.end()


def _paint_box(box: Box, place: Place, canvas: _Canvas) -> None:
    canvas.rectangle(place.left, place.top, place.width, place.height, "white")
    x, y = place.left + PAD, place.top + LINE / 2
    if not box.is_op:
        for number, words in enumerate(box.title.split("\n")):
            canvas.text(x, y + PAD / 2 + number * LINE, shorten(words))
        return
    canvas.text(x, y, "type: " + shorten(box.title))
    top = place.top + LINE
    for name, slots in (("input", box.inputs), ("output", box.outputs)):
        height = max(1, len(slots)) * LINE
        right = place.left + place.width
        canvas.line([(place.left, top), (right, top)], dashed=False, arrow=False)
        middle = place.left + LABEL_WIDTH
        canvas.line([(middle, top), (middle, top + height)], dashed=False, arrow=False)
        canvas.text(x, top + height / 2, name)
        for number, text in enumerate(slots):
            line = top + number * LINE
            if number:
                canvas.line([(middle, line), (right, line)], dashed=False, arrow=False)
            canvas.text(middle + PAD, line + LINE / 2, shorten(text))
        top += height


def _smooth(points: list[Point]) -> Iterator[Point]:
    """A curve through the points that leaves and enters each of them upright."""
    yield points[0]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 == x1:
            yield x1, y1
            continue
        for step in range(1, _STEPS + 1):
            t = step / _STEPS
            yield x0 + (x1 - x0) * t * t * (3 - 2 * t), y0 + (y1 - y0) * t


class _Svg:
    def __init__(self) -> None:
        self.parts: list[str] = []

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{fill}" stroke="#444444"/>'
        )

    def line(self, points: list[Point], *, dashed: bool, arrow: bool) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="5,4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="#444444"{dash}/>')
        if arrow:
            head = " ".join(f"{x:.1f},{y:.1f}" for x, y in _head(points))
            self.parts.append(f'<polygon points="{head}" fill="#444444"/>')

    def text(self, x: float, y: float, text: str) -> None:
        # What a font has no sign for, XML has not either.
        shown = escape("".join(c if c.isprintable() else "�" for c in text))
        self.parts.append(f'<text x="{x:.1f}" y="{y + 4:.1f}" xml:space="preserve">{shown}</text>')

    def start(self, name: str) -> None:
        self.parts.append(f"<g><title>{escape(name)}</title>")

    def end(self) -> None:
        self.parts.append("</g>")


class _Png:
    def __init__(self, layout: Layout) -> None:
        from PIL import Image, ImageDraw, ImageFont

        self.scale = min(2.0, _LARGEST / max(layout.width, layout.height))
        size = (int(layout.width * self.scale) + 1, int(layout.height * self.scale) + 1)
        self.image: Any = Image.new("RGB", size, "white")
        self.pen = ImageDraw.Draw(self.image)
        self.font = ImageFont.load_default(12 * self.scale)

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        corners = [c * self.scale for c in (x, y, x + width, y + height)]
        self.pen.rectangle(corners, fill=fill, outline="#444444", width=max(1, int(self.scale)))

    def line(self, points: list[Point], *, dashed: bool, arrow: bool) -> None:
        scaled = [(x * self.scale, y * self.scale) for x, y in points]
        pieces = list(pairwise(scaled))
        if dashed:  # a part of each piece, or of a long one many
            pieces = [dash for piece in pieces for dash in _dashes(*piece, 5 * self.scale)]
        for piece in pieces:
            self.pen.line(piece, fill="#444444", width=max(1, int(self.scale)))
        if arrow:
            head = [(x * self.scale, y * self.scale) for x, y in _head(points)]
            self.pen.polygon(head, fill="#444444")

    def text(self, x: float, y: float, text: str) -> None:
        place = (x * self.scale, y * self.scale)
        self.pen.text(place, text, fill="black", font=self.font, anchor="lm")

    def start(self, name: str) -> None: ...
    def end(self) -> None: ...


def _dashes(start: Point, end: Point, length: float) -> Iterator[tuple[Point, Point]]:
    (x0, y0), (x1, y1) = start, end
    count = max(1, round(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 / (2 * length)))
    for i in range(count):
        a, b = i / count, (i + 0.5) / count
        yield (
            (x0 + (x1 - x0) * a, y0 + (y1 - y0) * a),
            (x0 + (x1 - x0) * b, y0 + (y1 - y0) * b),
        )


def _head(points: list[Point]) -> list[Point]:
    """The head of an arrow that ends where the points do: edges end upright."""
    (x, y), (_, before) = points[-1], points[-2]
    side = -6.0 if before <= y else 6.0
    return [(x, y), (x - 3.5, y + side), (x + 3.5, y + side)]


def _write_png(graph: Graph, target: Path) -> None:
    layout = arrange(graph)
    try:
        canvas = _Png(layout)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "draw: a .png needs Pillow, which is not installed; pip install tensorlike[draw], or "
            "write an .svg."
        ) from error
    _paint(layout, canvas)
    drawn = io.BytesIO()
    canvas.image.save(drawn, format="PNG")
    replace_file(target, drawn.getvalue())
