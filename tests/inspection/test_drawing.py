"""Pictures of graphs: as SVG and PNG, and as Graphviz's language and back."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike.inspection import graph_layout
from tensorlike.inspection.drawing import draw, to_svg
from tensorlike.inspection.graph import Arrow, Box, Graph, read_dot

SVG = "{http://www.w3.org/2000/svg}"
STRANGE = 'a {b} "c" <d> | \\e é'


# exp(w) @ w, and the gradient by w, as far as a picture is concerned.
DOT = r"""digraph G {
  subgraph cluster_0 {
    label="forward\ tape";
    style=filled;
    color=lightgrey;
    node [shape=record, style=filled, fillcolor=white];
    op0 [label="{type: exp | {input | {<i0> x:\ w}} | {output | {<o0> y:\ e}}}"];
    op1 [label="{type: MatMul | {input | {<i0> a:\ e | <i1> b:\ w}} | {output | {<o0> y:\ m}}}"];
  }
  subgraph cluster_1 {
    label="backward\ tape";
    style=filled;
    color=lightgrey;
    node [shape=record, style=filled, fillcolor=white];
    op2 [label="{type: sum | {input | {<i0> x:\ m}} | {output | {<o0> y:\ g}}}"];
  }
  w [shape=box, label="a\ \{b\}\ \"c\"\ \<d\>\ \|\ \\e\ é\nfloat32(2,\ 2)"];
  g [shape=box, label="w_grad"];
  w -> op0:i0;
  op0:o0 -> op1:i0;
  w -> op1:i1;
  op1:o0 -> op2:i0;
  op2:o0 -> g;
  w -> g [label="Grad()", style=dashed];
}
"""


@pytest.fixture
def graph() -> Graph:
    return read_dot(DOT)


def test_an_svg_is_xml_and_names_every_box_and_slot(graph: Graph, tmp_path: Path) -> None:
    draw(DOT, tmp_path / "tape.svg")
    root = ElementTree.parse(tmp_path / "tape.svg").getroot()
    assert [node.text for node in root.iter(f"{SVG}title")] == ["op0", "op1", "op2", "w", "g"]
    texts = {node.text for node in root.iter(f"{SVG}text")}
    assert {STRANGE, "float32(2, 2)", "type: MatMul", "a: e", "b: w", "Grad()"} <= texts
    assert {"forward tape", "backward tape"} <= texts
    dashed = [line for line in root.iter(f"{SVG}polyline") if line.get("stroke-dasharray")]
    assert len(dashed) == 1


def test_boxes_lie_apart_and_below_what_they_read(graph: Graph) -> None:
    places = graph_layout.arrange(graph).places
    for arrow in graph.arrows:
        source, target = places[arrow.source], places[arrow.target]
        assert source.top + source.height < target.top
    frames = graph_layout.arrange(graph).frames
    (_, _, top, _, height), (_, _, lower, _, _) = frames
    assert top + height < lower


def test_a_row_of_many_has_room_for_all() -> None:
    boxes = [Box(f"v{i}", "x" * (i % 7 + 1)) for i in range(40)]
    boxes.append(Box("op", "stack", tuple(f"x: v{i}" for i in range(40)), ("y: s",)))
    graph = Graph(boxes, [Arrow(f"v{i}", "op", None, i) for i in range(40)])
    places = sorted(graph_layout.arrange(graph).places.values(), key=lambda place: place.left)
    row = [place for place in places if place.box and not place.box.is_op]
    for left, right in pairwise(row):
        assert left.left + left.width < right.left
    assert row[0].left >= 0


def test_a_png_is_drawn_with_pillow(graph: Graph, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    draw(DOT, tmp_path / "tape.png")
    with image.open(tmp_path / "tape.png") as picture:
        assert picture.width > 300
        assert picture.height > 600
        assert len(picture.getcolors(2**16)) > 3


def test_graphviz_language_is_read_and_written_as_it_is(graph: Graph, tmp_path: Path) -> None:
    draw(DOT, tmp_path / "tape.dot")
    assert (tmp_path / "tape.dot").read_text(encoding="utf-8") == DOT
    assert graph.boxes == [
        Box("op0", "exp", ("x: w",), ("y: e",), "forward tape"),
        Box("op1", "MatMul", ("a: e", "b: w"), ("y: m",), "forward tape"),
        Box("op2", "sum", ("x: m",), ("y: g",), "backward tape"),
        Box("w", f"{STRANGE}\nfloat32(2, 2)"),
        Box("g", "w_grad"),
    ]
    assert graph.arrows == [
        Arrow("w", "op0", None, 0),
        Arrow("op0", "op1", 0, 0),
        Arrow("w", "op1", None, 1),
        Arrow("op1", "op2", 0, 0),
        Arrow("op2", "g", 0),
        Arrow("w", "g", label="Grad()", is_dashed=True),
    ]


def test_a_program_is_drawn_with_whatever_names(tmp_path: Path) -> None:
    listing = tl.Listing()
    tl.Tensor(listing.input(STRANGE, (None, 2))) @ tl.ones((2, 2))
    found = read_dot(listing.to_dot(STRANGE))
    assert {box.title for box in found.boxes} == {
        f"{STRANGE}\nfloat32(None, 2)", "_1\nfloat32(2, 2)", "MatMul()",
    }  # fmt: skip
    assert found.groups() == [STRANGE]
    listing.draw(tmp_path / "listing.svg")


def test_wrong_graphs_and_files_are_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.svg, \.png or \.dot; got '\.gif'"):
        draw(DOT, tmp_path / "tape.gif")
    with pytest.raises(ValueError, match=r"there is no \{'nobody'\}"):
        to_svg(Graph(graph.boxes, [Arrow("w", "nobody")]))
    with pytest.raises(ValueError, match=r"got 'a -- b' in line 2"):
        read_dot("digraph G {\na -- b\n}")


def test_an_empty_graph_and_a_circle_are_drawn() -> None:
    ElementTree.fromstring(to_svg(Graph()))
    boxes = [Box("a", "f", ("x: b",), ("y: a",)), Box("b", "g", ("x: a",), ("y: b",))]
    ElementTree.fromstring(to_svg(Graph(boxes, [Arrow("a", "b", 0, 0), Arrow("b", "a", 0, 0)])))
    ElementTree.fromstring(to_svg(Graph(boxes, [Arrow("a", "a", 0, 0)])))


def test_the_module_draws_and_says_how_it_is_called(
    graph: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tensorlike.__main__ import main

    draw(DOT, tmp_path / "tape.dot")
    assert main(["draw", str(tmp_path / "tape.dot"), str(tmp_path / "tape.svg")]) == 0
    assert "<svg" in (tmp_path / "tape.svg").read_text(encoding="utf-8")
    assert main(["draw", str(tmp_path / "nothing.dot"), str(tmp_path / "tape.svg")]) == 1
    assert "nothing.dot" in capsys.readouterr().err
    assert main([]) == 2
    assert "cmake-dir" in capsys.readouterr().err
