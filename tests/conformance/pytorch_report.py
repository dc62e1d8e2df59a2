"""What a run of PyTorch's database found: shares, missing names, and each failing check."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


class Checked:
    """The first problem of a check, and how many samples were compared."""

    def __init__(self) -> None:
        self.count = 0
        self.problem: str | None = None

    def add(self, problem: str | None, sample: Any, refused: re.Pattern[str] | None = None) -> bool:
        """Whether there is no need to go on; a refusal by design is no problem, and not counted."""
        if problem is not None and refused is not None and refused.search(problem):
            return False
        self.count += 1
        if problem is not None:
            args = (sample.input, *sample.args)
            self.problem = f"{problem} [{', '.join(map(_shown, args))} {sample.kwargs}]"
        return problem is not None


def _shown(value: Any) -> str:
    return str(tuple(value.shape)) if hasattr(value, "shape") else str(value)[:40]


@dataclass
class Report:
    """How many checks there were of each kind, and those that failed."""

    counts: dict[str, int] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)

    def note(self, kind: str, name: str, problem: str | None) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if problem is not None:
            self.failed.setdefault(kind, {})[name] = problem

    def share(self, kind: str) -> float:
        return 1 - len(self.failed.get(kind, {})) / max(1, self.counts.get(kind, 0))

    @property
    def total(self) -> float:
        failed = sum(len(names) for names in self.failed.values())
        return 1 - failed / max(1, sum(self.counts.values()))

    def __str__(self) -> str:
        parts = [f"{kind} {self.share(kind):.1%} of {n}" for kind, n in self.counts.items()]
        lines = [f"{self.total:.1%}: {', '.join(parts)}", "missing: " + " ".join(self.missing())]
        for kind, names in self.failed.items():
            lines += [f"{kind}: {name}: {problem}" for name, problem in names.items()]
        return "\n".join(lines)

    def missing(self) -> list[str]:
        """The names that we have no function for."""
        found = {
            name.split(" ")[0]
            for names in self.failed.values()
            for name, problem in names.items()
            if problem.startswith("missing name")
        }
        return sorted(found)
