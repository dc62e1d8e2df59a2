"""What a run of PyTorch's database found: shares, missing names, and each failing check."""

from __future__ import annotations

from dataclasses import dataclass, field


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
