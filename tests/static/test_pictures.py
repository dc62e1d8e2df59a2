"""`tl.viz.show`: what the page says, that nothing in it is markup, and that its script works."""

from __future__ import annotations

import re
import shutil
import subprocess
import webbrowser
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.static.copying import number_of
from tensorlike.static.pictures.rows import rows_of
from tests.support.training_programs import training

VOID = {"meta", "input", "rect", "polyline", "polygon", "br"}
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


class Page(HTMLParser):
    """The elements of a page: their tags, attributes and texts; refuses what does not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for i in self._open:
            self.elements[i][2].append(data)

    def of_class(self, name: str) -> list[tuple[dict[str, str | None], str]]:
        return [
            (attrs, "".join(texts))
            for _, attrs, texts in self.elements
            if name in (attrs.get("class") or "").split()
        ]

    def inside(self, id: str) -> str:
        (found,) = ("".join(texts) for _, attrs, texts in self.elements if attrs.get("id") == id)
        return found


def shown(program: Any, folder: Path, **options: Any) -> Page:
    path = tl.viz.show(program, folder / "page.html", **options)
    return Page(path.read_text("utf-8"))


@pytest.mark.parametrize("name", ["mlp", "gpt"])
def test_each_step_has_its_names_shapes_costs_line_and_declaration(
    name: str, tmp_path: Path
) -> None:
    main = training(name, "adam", batch="batch").main
    page = shown(main, tmp_path)
    steps = page.of_class("step")
    assert len(steps) == len(main.block.ops)
    ids = Counter(attrs["id"] for _, attrs, _ in page.elements if "id" in attrs)
    assert max(ids.values()) == 1
    links = [attrs["href"] for tag, attrs, _ in page.elements if tag == "a" and "href" in attrs]
    assert all(link and link.startswith("#") and link[1:] in ids for link in links)
    texts = {attrs["id"]: text for attrs, text in steps}
    for number, (operator, step) in enumerate(zip(main.block.ops, main.applied(), strict=True)):
        text = texts[f"s{number}"]
        assert operator.type in text and Path(operator.line).name in text
        assert all(main.names(n) in text for n in (*step.inputs, *step.outputs))
        assert all(main.describe(n) in text for n in step.outputs)
        assert "B" in text
    assert "linear: [a, b]" in page.inside("entry-MatMul")
    assert "- scalar: adam_step" in page.inside("entry-adam_step")
    assert ("F.relu(self.first(x))" if name == "mlp" else "F.gelu(self.widen") in page.inside(
        "steps"
    )


def test_costs_are_those_for_the_sizes_that_are_given(tmp_path: Path) -> None:
    main = training("mlp", batch="batch").main
    page = shown(main, tmp_path)
    assert any("at batch = 32" in "".join(texts) for tag, _, texts in page.elements if tag == "p")
    for batch in (1, 64):
        rows = rows_of(main, {"batch": batch})
        assert rows[0].operator.type == "linear"
        assert rows[0].flops == 2 * batch * 6 * 8
        assert rows[0].bytes == 4 * (batch * 6 + 6 * 8 + 8 + batch * 8)
    known = rows_of(training("mlp").main, {})
    assert known[0].flops == 2 * 4 * 6 * 8
    wide = rows_of(training("gpt", batch="batch").main, {"batch": 5})
    attention = next(row for row in wide if row.operator.type == "attention")
    assert attention.flops == 4 * 5 * 2 * 6 * 6 * 4


def test_sizes_that_do_not_fit_leave_costs_out(tmp_path: Path) -> None:
    with static.program_guard(static.Program()) as main:
        x = static.data("x", (None, 2))
        F.concat([x[:100], x[:100]], axis=0)
    page = shown(main, tmp_path, sizes=7)
    assert len(page.of_class("step")) == len(main.block.ops)


def test_steps_are_folded_by_phase_and_layer() -> None:
    rows = rows_of(training("gpt", "adam").main, {})
    layers = {
        phase: list(dict.fromkeys(row.layer for row in rows if row.phase == phase))
        for phase in ("forward", "backward", "update")
    }
    assert layers["forward"][:5] == ["tokens", "places", "", "blocks.0.norm1", "blocks.0.project"]
    gelu = next(row for row in rows if row.operator.type == "gelu")
    assert gelu.layer == "blocks.0"
    assert "blocks.1.widen" in layers["backward"] and "blocks.1.widen" in layers["update"]


HOSTILE = '<img src=x onerror="alert(1)">\'&amp;</script><!--'


def test_nothing_that_users_name_is_markup(tmp_path: Path) -> None:
    ops = tl.declare("""
- scalar: hostile_doc
  args: [x: real floating-point]
  expr: x * 2
  doc: "</pre><script>alert(1)</script>"
""")
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data(HOSTILE, (HOSTILE, 2))
        w = tl.Parameter([1.0, 2.0])
        static.keep(w, f"layer.{HOSTILE}")
        main.rename(number_of(ops.hostile_doc(x * w)), f"{HOSTILE}2")
    page = shown(main, tmp_path, passes=[(HOSTILE, HOSTILE, main)])
    tags = Counter(tag for tag, _, _ in page.elements)
    assert tags["script"] == 1 and tags["img"] == 0 and tags["style"] == 1
    assert not any(key.startswith("on") for _, attrs, _ in page.elements for key in attrs)
    everything = "".join("".join(texts) for tag, _, texts in page.elements if tag == "main")
    assert HOSTILE in everything and f"{HOSTILE}2" in everything
    assert "</pre><script>" in page.inside("entry-hostile_doc")


def test_the_page_reads_nothing_else(tmp_path: Path) -> None:
    found = training("mlp")
    path = tl.viz.show(found.main, tmp_path / "page.html")
    text = path.read_text("utf-8")
    page = Page(text)
    for tag, attrs, _ in page.elements:
        assert "src" not in attrs and tag not in ("link", "iframe", "object", "img")
    assert "default-src 'none'" in text
    values = [value or "" for _, attrs, _ in page.elements for value in attrs.values()]
    outside = {x for value in values for x in re.findall(r"https?:.*", value)}
    assert outside <= {"http://www.w3.org/2000/svg"}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["page.html"]


def test_passes_stand_side_by_side(tmp_path: Path) -> None:
    found = training("mlp")
    half, _ = static.transpilers.mixed_precision(found.main, found.startup)
    page = shown(
        found.main, tmp_path, passes=[("halves", found.main, half), ("rest", half, str(half))]
    )
    gone = [text for _, text in page.of_class("gone")]
    come = [text for _, text in page.of_class("come")]
    assert set(gone) <= set(str(found.main).splitlines()) and len(gone) < len(come)
    assert sum("Cast" in line for line in come) == str(half).count("= Cast(")
    summaries = [text for _, text in page.of_class("pass")]
    assert "changed nothing" in summaries[1] and "changed nothing" not in summaries[0]


def test_reports_of_passes_are_taken_as_they_are(tmp_path: Path) -> None:
    class Report(NamedTuple):
        name: str
        changes: int
        before: str
        after: str

    page = shown(training("mlp").main, tmp_path, passes=[Report("folding", 1, "a\nb", "a\nc")])
    assert [text for _, text in page.of_class("gone")] == ["b"]
    assert [text for _, text in page.of_class("come")] == ["c"]


def test_a_page_without_a_name_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(tmp_path))
    path = tl.viz.show(training("mlp").main)
    assert opened == [path.as_uri()] and path.parent == tmp_path


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tl.ParameterError, match="program must be a Program; got str"):
        tl.viz.show("x", tmp_path / "page.html")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"passes": [3]}, "passes must be a list of"),
        ({"passes": 3}, "passes must be a list of"),
        ({"passes": [("cse", "before")]}, "passes must be a list of"),
        ({"sizes": "many"}, "sizes must be an integer"),
        ({"sizes": -1}, "sizes must be at least 0"),
        ({"sizes": {"batch": 1.5}}, "sizes must be an integer"),
    ],
)
def test_passes_and_sizes_that_are_none_are_refused(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(tl.ParameterError, match=said):
        tl.viz.show(training("mlp").main, tmp_path / "page.html", **given)


def in_browser(path: Path, suffix: str) -> Page:
    """The page as it is when its script has run."""
    ran = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         f"--user-data-dir={path.parent}/profile", path.as_uri() + suffix],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return Page(ran.stdout)


@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium")
def test_the_script_searches_and_unfolds(tmp_path: Path) -> None:
    main = training("gpt", "adam").main
    path = tl.viz.show(main, tmp_path / "page.html")
    plain = Page(path.read_text("utf-8")).of_class("step")
    wanted = [
        attrs["id"]
        for attrs, text in plain
        if "gelu" in text.lower() and "blocks.0" in f"{text} {attrs['data-layer']}"
    ]
    page = in_browser(path, "?q=GELU+blocks.0")
    assert wanted == [
        attrs["id"] for attrs, _ in page.of_class("step") if "hidden" not in (attrs["class"] or "")
    ]
    assert 0 < len(wanted) < len(plain)
    assert page.inside("found") == f"{len(wanted)} of {len(plain)}"


@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium")
def test_the_script_unfolds_what_a_link_leads_to(tmp_path: Path) -> None:
    main = training("gpt", "adam").main
    path = tl.viz.show(main, tmp_path / "page.html")
    row = next(row for row in rows_of(main, {}) if row.layer == "blocks.0.widen")
    page = in_browser(path, f"#v{row.outputs[0]}")
    names = [text.split()[0] for attrs, text in page.of_class("layer") if "open" in attrs]
    assert names == ["blocks", "blocks.0", "blocks.0.widen"]


@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium")
@pytest.mark.slow
def test_the_page_can_be_looked_at(tmp_path: Path) -> None:
    from PIL import Image

    path = tl.viz.show(training("mlp").main, tmp_path / "page.html")
    picture = tmp_path / "page.png"
    subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800",
         f"--user-data-dir={tmp_path}/profile", f"--screenshot={picture}", path.as_uri()],
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    with Image.open(picture) as image:
        assert image.size == (1200, 800)
        assert len(image.convert("RGB").getcolors(1 << 20) or ()) > 50
