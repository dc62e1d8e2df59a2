"""The page: HTML that is readable without its script, which searches and follows values."""

from __future__ import annotations

import difflib
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from ...inspection.drawing import read_dot, to_svg
from ...ops.entries import entry_named
from ..program import Program
from .rows import Row, totals

_MOST_DRAWN = 150  # steps of a graph that can be looked at
_CONTEXT = 3  # unchanged lines around what a pass changed


def page(
    program: Program,
    rows: Sequence[Row],
    sizes: Mapping[str, int],
    passes: Sequence[tuple[str, str, str]],
) -> str:
    """The whole file."""
    folder = Path(__file__).parent
    style, script = (folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        # The page may load nothing, whatever it shows.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
        f"<title>Program of {len(rows)} steps</title>",
        f"<style>\n{style}</style>\n</head>\n<body>",
        *_head(program, rows, sizes, passes),
        "<main>",
        *_givens(program),
        '<section id="steps"><h2>Steps</h2>',
        *_phases(program, rows),
        "</section>",
        *_states(program),
        *_passes(passes),
        *_graph(program, rows),
        *_entries(rows),
        "</main>",
        f"<script>\n{script}</script>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _head(
    program: Program,
    rows: Sequence[Row],
    sizes: Mapping[str, int],
    passes: Sequence[tuple[str, str, str]],
) -> Iterator[str]:
    at = ", ".join(f"{name or 'an unnamed size'} = {size}" for name, size in sizes.items())
    sections = [("steps", "Steps"), ("states", "States"), ("entries", "Declarations")]
    if passes:
        sections.insert(2, ("passes", "Passes"))
    if len(rows) <= _MOST_DRAWN:
        sections.insert(-1, ("graph", "Graph"))
    links = " ".join(f'<a href="#{key}">{title}</a>' for key, title in sections)
    yield f"<header>\n<h1>Program of {len(rows)} steps</h1>\n<nav>{links}</nav>"
    yield f"<p>{_costs(rows)}{f' at {escape(at)}' if at else ''}</p>"
    yield (
        '<p class="search"><input id="search" type="search" placeholder="Search ops, names, '
        'layers, lines, shapes" aria-label="Search steps"> <output id="found"></output> '
        '<button type="button" id="unfold">Unfold all</button> '
        '<button type="button" id="fold">Fold all</button></p>\n</header>'
    )


def _costs(rows: Iterable[Row]) -> str:
    sums = totals(list(rows))
    words = f"{sums['steps']} {'step' if sums['steps'] == 1 else 'steps'}"
    if sums["flops"]:
        words += f", {_short(sums['flops'])} flops"
    return words + (f", {_short(sums['bytes'])}B moved" if sums["bytes"] else "")


def _short(number: int) -> str:
    """``1.5 M``."""
    value = float(number)
    for prefix in ("", "k", "M", "G", "T", "P"):
        if value < 1000 or prefix == "P":
            digits = f"{value:.3g}" if prefix else str(number)
            return f"{digits} {prefix}"
        value /= 1000
    raise AssertionError(number)


def _givens(program: Program) -> Iterator[str]:
    """Inputs and constants."""
    yield '<section id="inputs"><h2>Inputs and constants</h2><table>'
    yield "<tr><th>name</th><th>type</th><th>kind</th></tr>"
    for number, (name, role, _) in enumerate(program.variables()):
        if role in ("input", "captured"):
            kind = "input" if role == "input" else "constant"
            yield _variable_row(program, number, name, kind)
    yield "</table></section>"


def _states(program: Program) -> Iterator[str]:
    variables, assigned = program.variables(), program.assigned()
    count = sum(role == "state" for _, role, _ in variables)
    yield f'<section id="states"><h2>States</h2><details><summary>{count} states</summary><table>'
    yield "<tr><th>name</th><th>type</th><th>after a run</th></tr>"
    for number, (name, role, _) in enumerate(variables):
        if role == "state":
            value = assigned.get(number)
            after = "stays" if value is None else _link(value, variables[value][0])
            yield _variable_row(program, number, name, after, is_html=value is not None)
    yield "</table></details></section>"


def _variable_row(
    program: Program, number: int, name: str, last: str, *, is_html: bool = False
) -> str:
    cells = f"<td>{escape(name)}</td><td>{escape(program.describe(number))}</td>"
    return f'<tr id="v{number}">{cells}<td>{last if is_html else escape(last)}</td></tr>'


def _phases(program: Program, rows: Sequence[Row]) -> Iterator[str]:
    for phase in ("forward", "backward", "update"):
        members = [row for row in rows if row.phase == phase]
        if members:
            is_open = " open" if phase == "forward" else ""
            yield f'<details class="phase"{is_open}><summary><b>{phase}</b> {_costs(members)}'
            yield "</summary>"
            yield from _layers(program, members, ())
            yield "</details>"


def _layers(program: Program, rows: Sequence[Row], inside: tuple[str, ...]) -> Iterator[str]:
    """Steps in their order, those of a layer next to each other in a fold."""
    depth = len(inside)

    def next_part(row: Row) -> str:
        parts = row.layer.split(".") if row.layer else []
        return parts[depth] if len(parts) > depth else ""

    for part, group in groupby(rows, key=next_part):
        members = list(group)
        if not part:
            for row in members:
                yield from _step(program, row)
            continue
        name = escape(".".join((*inside, part)))
        yield f'<details class="layer"><summary><b>{name}</b> {_costs(members)}</summary>'
        yield from _layers(program, members, (*inside, part))
        yield "</details>"


def _step(program: Program, row: Row) -> Iterator[str]:
    operator = row.operator
    made = ", ".join(
        f'<a class="made" id="v{n}" data-v="{n}">{escape(name)}</a> '
        f"<i>{escape(program.describe(n))}</i>"
        for n, name in zip(row.outputs, row.made, strict=True)
    )
    read = ", ".join(map(_link, row.inputs, row.read))
    title = escape(operator.type)
    if row.entry:
        title = f'<a class="entry" href="#entry-{escape(row.entry)}">{title}</a>'
    attrs = ", ".join(f"{key}={value!r}" for key, value in operator.attrs.items())
    costs = [] if row.flops is None else [f"{_short(row.flops)} flops"]
    costs += [] if row.bytes is None else [f"{_short(row.bytes)}B"]
    yield (
        f'<div class="step" id="s{row.number}" data-layer="{escape(row.layer)}">'
        f'<span class="what">{made} = <b>{title}</b>({read})</span>'
        f'<span class="attrs">{escape(attrs)}</span>'
        f'<span class="cost">{", ".join(costs)}</span>'
        f"{_place(operator.line)}</div>"
    )


def _place(line: str) -> str:
    """A line of the user, with its text where its file is one of the modules that are loaded."""
    path, _, number = line.rpartition(":")
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    text = linecache.getline(path, int(number)) if path in files and number.isdecimal() else ""
    name = f"{Path(path).name}:{number}" if path else line
    code = f" <code>{escape(text.strip())}</code>" if text.strip() else ""
    return f'<span class="line" title="{escape(line)}">{escape(name)}{code}</span>'


def _link(number: int, name: str) -> str:
    return f'<a class="read" href="#v{number}" data-v="{number}">{escape(name)}</a>'


def _passes(passes: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    if not passes:
        return
    yield '<section id="passes"><h2>Passes</h2>'
    for name, before, after in passes:
        old, new = before.splitlines(), after.splitlines()
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        groups = list(matcher.get_grouped_opcodes(_CONTEXT))
        words = f"{len(old)} lines, then {len(new)}" if groups else "changed nothing"
        yield f'<details class="pass"{" open" if groups else ""}><summary><b>{escape(name)}</b> '
        yield f"{words}</summary>"
        if groups:
            yield "<table><tr><th>before</th><th>after</th></tr>"
            for number, group in enumerate(groups):
                if number:
                    yield '<tr class="gap"><td colspan="2">&#8943;</td></tr>'
                for kind, a, b, c, d in group:
                    yield from _sides(kind, old[a:b], new[c:d])
            yield "</table>"
        yield "</details>"
    yield "</section>"


def _sides(kind: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Lines next to each other."""
    for i in range(max(len(old), len(new))):
        cells = []
        for lines, mark in ((old, "gone"), (new, "come")):
            text = escape(lines[i]) if i < len(lines) else ""
            style = mark if kind != "equal" and text else "same"
            cells.append(f'<td class="{style}">{text}</td>')
        yield f"<tr>{''.join(cells)}</tr>"


def _graph(program: Program, rows: Sequence[Row]) -> Iterator[str]:
    if len(rows) <= _MOST_DRAWN:
        yield '<section id="graph"><h2>Graph</h2><details><summary>All steps</summary>'
        yield f'<div class="graph">{to_svg(read_dot(program.to_dot("program")))}</div>'
        yield "</details></section>"


def _entries(rows: Sequence[Row]) -> Iterator[str]:
    """The declarations of the ops, as they stand in their files."""
    uses: dict[str, Any] = {}
    for row in rows:
        if row.entry:
            uses[row.entry] = uses.get(row.entry, 0) + 1
    yield '<section id="entries"><h2>Declarations</h2>'
    for name in sorted(uses, key=str.lower):
        count = f"{uses[name]} {'use' if uses[name] == 1 else 'uses'}"
        yield f'<details class="entry" id="entry-{escape(name)}"><summary><b>{escape(name)}</b> '
        yield f"{count}</summary><pre>{escape(entry_named(name).text)}</pre></details>"
    yield "</section>"
