"""The floors of the C++ core, links included: what one declares and only a higher one defines.

Includes go down, which tests hold. A function that a lower floor declares and calls, and that a
higher floor defines, is an arrow up that no include shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .cpp_source import functions
from .sources import FLOORS, ROOT, cpp_files, text_of


class Arrow(NamedTuple):
    """A function, the header that declares it, and the lowest floor that defines it."""

    header: str
    function: str
    definer: str

    def __str__(self) -> str:
        return f"{self.header} declares {self.function}, which {self.definer} defines"


def core_sources() -> dict[str, str]:
    """The core's files by their names within it."""
    return {path.relative_to(ROOT / "csrc").as_posix(): text_of(path) for path in cpp_files()}


def arrows_up(sources: Mapping[str, str] | None = None) -> Iterator[Arrow]:
    """The arrows that go up, in the order of the headers."""
    sources = core_sources() if sources is None else sources
    read = {name: functions(text) for name, text in sources.items()}
    definers: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for name, found in read.items():
        for function in found:
            if function.lines and not function.is_hidden:
                definers[function.name, function.params].add(name.partition("/")[0])
    for name, found in read.items():
        floor = name.partition("/")[0]
        for function in found:
            where = definers.get((function.name, function.params), set())
            above = [other for other in where if FLOORS.index(other) < FLOORS.index(floor)]
            if function.lines or function.is_hidden or not above or floor in where:
                continue
            short = function.name.removeprefix("tensorlike::")
            yield Arrow(name, short, max(above, key=FLOORS.index))
