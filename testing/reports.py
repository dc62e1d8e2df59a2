"""What `check_tensor_like` found, as a table, and the error that lists what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_SHOWN = 20  # failures in the text of an error


class LikeFinding(NamedTuple):
    """What one check found of one functional call: ``is_right`` is None where it does not apply."""

    call: str
    check: str
    is_right: bool | None
    detail: str


class LikeReport:
    """The findings of `check_tensor_like`; it prints as a table of calls and checks."""

    def __init__(self, name: str, findings: Sequence[LikeFinding]) -> None:
        """Keeps them."""
        self.name = name
        self.findings = tuple(findings)

    @property
    def failures(self) -> tuple[LikeFinding, ...]:
        """What is wrong."""
        return tuple(finding for finding in self.findings if finding.is_right is False)

    @property
    def is_right(self) -> bool:
        """Whether nothing is."""
        return not self.failures

    def __repr__(self) -> str:
        """A line for each call, a column for each check; then what is wrong."""
        words = {True: "yes", False: "WRONG", None: "-"}
        checks = list(dict.fromkeys(finding.check for finding in self.findings))
        table: dict[str, dict[str, str]] = {}
        for finding in self.findings:
            table.setdefault(finding.call, {})[finding.check] = words[finding.is_right]
        rows = [[self.name, *checks]]
        rows += [
            [call, *(cells.get(check, "-") for check in checks)] for call, cells in table.items()
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        calls = {finding.call for finding in self.failures}
        return "\n".join(
            [*lines, *self._failure_lines(), f"{len(table)} calls, {len(calls)} wrong"]
        )

    def _failure_lines(self) -> list[str]:
        lines = [f"{f.call}, {f.check}: {f.detail}" for f in self.failures]
        rest = len(lines) - _SHOWN
        return lines if rest <= 0 else [*lines[:_SHOWN], f"... and {rest} more"]


class TensorLikeError(AssertionError):
    """A tensor-like fails checks; `report` has all of them."""

    def __init__(self, report: LikeReport) -> None:
        """Lists the first ones."""
        failures = "\n".join(report._failure_lines())
        super().__init__(f"check_tensor_like: {report.name} must pass; failures:\n{failures}")
        self.report = report
