"""A table of numbers: what each part of this package gives, and `limits.py` is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Number: TypeAlias = "int | float | None"


@dataclass
class Table:
    """Rows of numbers under columns; `note` says how they were found."""

    title: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[Number, ...]] = field(default_factory=dict)
    note: str = ""

    def numbers(self) -> dict[tuple[str, str, str], Number]:
        """Each number by table, row and column."""
        return {
            (self.title, row, column): value
            for row, values in self.rows.items()
            for column, value in zip(self.columns, values, strict=True)
        }

    def __str__(self) -> str:
        """As text; with the note beneath."""
        cells = [["", *self.columns]]
        cells += [[row, *map(_shown, values)] for row, values in self.rows.items()]
        widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
            for line in cells
        ]
        rule = "-" * max(map(len, lines))
        note = [f"({self.note})"] if self.note else []
        return "\n".join([self.title, rule, *lines, *note])


def _shown(value: Number) -> str:
    if value is None:
        return "?"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
