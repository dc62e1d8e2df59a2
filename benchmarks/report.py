"""What is written: tables in Markdown, figures as JSON, and the README made of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from cases import Row
from compare import Result
from peers import COMPILED, JAX, MLX, NUMPY, OURS, TORCH

FOLDER = Path(__file__).resolve().parent
FIGURES, README, MISSED = (FOLDER / n for n in ("figures.json", "README.md", "missed.yaml"))
COLUMNS = (OURS, TORCH, COMPILED, JAX, MLX, NUMPY)

SUITE_HEAD = [
    "benchmark",
    *COLUMNS,
    "others; into given memory",
    "to compile",
    "of the best peer",
    "in the best rounds",
    "bar",
    "",
]
RESULT_HEAD = ["benchmark", OURS, "peer", "ratio", "of the best", "bar", ""]


def readable(value: float | None, unit: str = "s") -> str:
    """Three digits, in the unit that suits."""
    if value is None:
        return ""
    if unit == "x":
        return f"{value:.3g} x"
    steps = [("MB", 1e6), ("kB", 1e3), ("B", 1.0)]
    if unit == "s":
        steps = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)]
    name, size = next((step for step in steps if abs(value) >= step[1]), steps[-1])
    return f"{value / size:.3g} {name}"


def line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def head(names: Sequence[str]) -> str:
    """The first two lines of a table."""
    rule = ["---" if i == 0 or not name else "---:" for i, name in enumerate(names)]
    return f"{line(names)}\n{line(rule)}"


def listed(times: Mapping[str, float]) -> str:
    """Names with times."""
    return "; ".join(f"{name} {readable(t)}" for name, t in times.items())


def suite_cells(row: Mapping[str, Any]) -> list[str]:
    """The cells of a row of the suite."""
    times = row["times"]
    beside = {name: t for name, t in times.items() if name not in COLUMNS} | row["given"]
    ratio = f"{row['ratio']:.2f} ({row['best_peer']})" if row["ratio"] is not None else ""
    return [
        row["name"],
        *(readable(times.get(name)) for name in COLUMNS),
        listed(beside),
        listed(row["to_compile"]),
        ratio,
        "" if row["best_ratio"] is None else f"{row['best_ratio']:.2f}",
        "" if row["bar"] is None else f"{row['bar']:.3g}",
        row["verdict"],
    ]


def result_cells(result: Mapping[str, Any]) -> list[str]:
    """The cells of a comparison with one peer."""
    is_absolute = result["ratio"] is None or result["bar_is_absolute"]
    bar = "" if result["bar"] is None else f"{result['bar']:g}"
    if result["bar"] is not None and is_absolute:
        bar = readable(result["bar"], result["unit"])
    theirs = (result["peer"], readable(result["theirs"], result["unit"]))
    return [
        result["name"],
        readable(result["ours"], result["unit"]),
        " ".join(part for part in theirs if part),
        "" if result["ratio"] is None else f"{result['ratio']:.3g}",
        "" if result["best_ratio"] is None else f"{result['best_ratio']:.3g}",
        bar,
        result["verdict"],
    ]


def record(found: Row | Result) -> dict[str, Any]:
    """A row as plain data, with its verdict."""
    return {**dataclasses.asdict(found), "verdict": found.verdict}


def cells(data: Mapping[str, Any]) -> list[str]:
    """The cells of either kind of row."""
    return suite_cells(data) if "times" in data else result_cells(data)


def table_head(data: Mapping[str, Any]) -> str:
    """The head of the table in which the row stands."""
    return head(SUITE_HEAD if "times" in data else RESULT_HEAD)


def write_figures(groups: Mapping[str, Sequence[Mapping[str, Any]]], machine: str) -> None:
    """Puts the figures of these groups in place of their old ones, and the README in order."""
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    known |= {name: {"machine": machine, "rows": list(rows)} for name, rows in groups.items()}
    FIGURES.write_text(json.dumps(known, indent=1) + "\n")
    write_readme(known)


def write_readme(figures: Mapping[str, Any]) -> None:
    """The part of the README between the marks, from the figures."""
    write_part("figures", body(figures))


def write_part(name: str, body: str) -> None:
    """Puts text between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = README.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    README.write_text(f"{before}{begin}\n{body}{end}{after}", encoding="utf-8")


def body(figures: Mapping[str, Any]) -> str:
    """The tables with the machines that they were measured on, and what is said of missed bars."""
    parts = []
    for machine in dict.fromkeys(group["machine"] for group in figures.values()):
        rows = [
            row
            for group in figures.values()
            if group["machine"] == machine
            for row in group["rows"]
        ]
        parts.append(f"`./dev bench` on {machine}.\n")
        for kind in (True, False):
            chosen = [row for row in rows if ("times" in row) is kind]
            if chosen:
                table = [table_head(chosen[0]), *(line(cells(row)) for row in chosen)]
                parts.append("\n".join(table) + "\n")
    all_rows = [row for group in figures.values() for row in group["rows"]]
    return "\n".join([*parts, *missed_bars(all_rows)])


def missed_bars(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What missed.yaml says of each bar that is missed."""
    texts: dict[str, str] = yaml.safe_load(MISSED.read_text(encoding="utf-8")) or {}
    lines = []
    for row in rows:
        if row["verdict"] in ("", "met"):
            continue
        name = row["name"].partition(": ")[0]
        text = texts.get(name, "no reason is written down yet").strip()
        lines.append(f"- {name}: {text}")
    lines = list(dict.fromkeys(lines))
    return ["Missed bars:\n", "\n".join(lines) + "\n"] if lines else []
