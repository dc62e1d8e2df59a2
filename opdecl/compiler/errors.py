"""What is wrong with a declaration, and where.

Whoever writes declarations should fix a file in one go, so nothing here stops at the first mistake:
readers and checks append to a `Problems` list, and one `DeclarationError` carries all of them, each
with its file, line and entry.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a declaration file."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it stands, the entry that it belongs to (or ""), and what to do."""

    path: str
    line: int
    entry: str
    text: str

    def __str__(self) -> str:
        entry = f"{self.entry}: " if self.entry else ""
        return f"{self.path}:{self.line}: {entry}{self.text}"


class DeclarationError(ValueError):
    """All the mistakes of one or several declaration files; ``str()`` is one line for each."""

    problems: tuple[Problem, ...]

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Problems:
    """A growing list of mistakes."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, place: Place, entry: str, text: str) -> None:
        """Appends a mistake, once: the same words about the same line say nothing new."""
        problem = Problem(place.path, place.line, entry, text)
        if problem not in self._found:
            self._found.append(problem)

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def raise_any(self) -> None:
        """Raises them all, file by file in the order of their lines, if there are any."""
        if self._found:
            paths = list(dict.fromkeys(problem.path for problem in self._found))
            raise DeclarationError(
                sorted(self._found, key=lambda found: (paths.index(found.path), found.line))
            )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`"; did you mean 'grad'?"` where a known word is close to `word`, else ""."""
    close = difflib.get_close_matches(word[:80], sorted(set(known)), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def shorten(text: str, limit: int = 60) -> str:
    """`text` quoted on one line, its end cut off where it is long."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def listing(words: Iterable[str]) -> str:
    """`a, b or c`."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " or " + items[-1]
