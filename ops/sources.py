"""The texts of what was declared at run time, so that an op can take its declaration along.

A pickled or serialised op goes to processes that may not know it. It carries the entries that it
is made of, as text; where one is missing, it is declared there. Text is no code: an entry that
names functions of Python, or kernels of a library, must have been declared by whoever reads the op.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from textwrap import dedent
from typing import Any, NamedTuple, TypeAlias

from .. import _C

# The name and the text of each entry that an op needs; and the library that has its kernel, if any.
Sources: TypeAlias = Sequence[Sequence[str]]


class Source(NamedTuple):
    """An entry: its name, its text, and the names of earlier or later ones that it speaks of.

    The versions of an op speak of each other.
    """

    name: str
    text: str
    words: frozenset[str]
    path: str  # the file, or <string>
    newest: str = ""  # of an older version: the name that the newest one has
    library: str = ""  # the name of its file

    @property
    def taken_along(self) -> tuple[str, ...]:
        """What an op that needs it takes along."""
        return (self.name, self.text, *([self.library] if self.library else []))


_by_name: dict[str, Source] = {}  # in the order of declaration; by op, mode and function
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def remember(text: str, entries: Sequence[Any]) -> None:
    """Keeps the text of each of the entries that it declared."""
    lines = text.splitlines()
    versions: dict[str, list[str]] = {}
    for entry in entries:
        versions.setdefault(_newest(entry), []).append(entry.name)
    starts = [entry.place.line - 1 for entry in entries]
    for entry, start, end in zip(entries, starts, [*starts[1:], len(lines)], strict=True):
        own = dedent("\n".join(lines[start:end])).strip() + "\n"
        words = frozenset([*_WORD.findall(own), *versions[_newest(entry)]])
        library = os.path.basename(getattr(entry, "library", ""))
        newest = getattr(entry, "newest", "")
        source = Source(entry.name, own, words, entry.place.path, newest, library)
        calls = (entry, *entry.variants)
        _by_name.update(dict.fromkeys([entry.name, *(call.function for call in calls)], source))


def _newest(entry: Any) -> str:
    """What the newest version of it is called."""
    newest: str = getattr(entry, "newest", "") or entry.name
    return newest


def sources_of(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The entries that these names need, in the order of declaration; none for built-in ones."""
    needed: set[str] = set()
    pending = [_by_name[name] for name in names if name in _by_name]
    while pending:
        source = pending.pop()
        if source.name not in needed:
            needed.add(source.name)
            pending += [_by_name[word] for word in source.words if word in _by_name]
    unique = dict.fromkeys(_by_name.values())
    return [source.taken_along for source in unique if source.name in needed]


def path_of(name: str) -> str:
    """Where the entry of this name was declared at run time; empty for others."""
    return _by_name[name].path if name in _by_name else ""


def text_of(name: str) -> str:
    """The entry of this name that was declared at run time; empty for others."""
    return _by_name[name].text if name in _by_name else ""


def restore(sources: Sources) -> None:
    """Declares what is missing of such entries.

    Raises:
        ValueError: a name was declared otherwise here, or must be declared by the reader.
    """
    from .declaring import declare

    missing = []
    for name, text, *library in sources:
        known = _by_name.get(name)
        if known is None:
            _check_no_library(name, library)
            missing.append((name, text))
        elif known.text != text and not _is_older(name, text):
            raise _C.ArgumentError(
                "must be declared as it was; it is declared otherwise here", op=name
            )
    try:
        if missing:
            declare("".join(text for _, text in missing) + "\n")
    except ValueError as error:
        names = ", ".join(name for name, _ in missing)
        raise _C.ArgumentError(
            "must be declared here",
            op=names,
            got="an op that needs it",
            fix=f"declare it first, as it was ({error})",
        ) from error


def _check_no_library(name: str, library: Sequence[str]) -> None:
    """Reading an op loads no code."""
    if library:
        raise _C.ArgumentError(
            "must be declared here",
            op=name,
            got=f"an op whose kernel is in {library[0]}",
            fix="import its package, or declare it first: declare(..., library=...)",
        )


def _is_older(name: str, text: str) -> bool:
    """Whether it is an older version of what has this name here."""
    return any(source.newest == name and source.text == text for source in _by_name.values())
