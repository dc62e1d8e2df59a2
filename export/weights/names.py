"""Names of others and ours: a map of names, said as a function, by prefixes, or by patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from ... import _C

# A function, prefixes (the longest counts), or patterns with what takes their place, in order.
# None takes a tensor out.
Names: TypeAlias = (
    Callable[[str], str | None] | Mapping[str, str | None] | Sequence[tuple[str, str | None]] | None
)


def renamed(who: str, names: Iterable[str], how: Names) -> dict[str, str]:
    """The new names of those that stay, each with its old one.

    Raises:
        ArgumentError: two get one name.
        ParameterError: the map is none.
    """
    function = _function(who, how)
    made: dict[str, str] = {}
    for name in names:
        new = function(name)
        if new is None:
            continue
        if not isinstance(new, str):
            raise _wrong(who, f"{type(new).__name__} for {name!r}")
        if new in made:
            raise _C.ArgumentError(
                "must give each tensor a name of its own", op=who, argument="names",
                got=f"{new!r} for {made[new]!r} and {name!r}",
            )  # fmt: skip
        made[new] = name
    return made


def _function(who: str, how: Names) -> Callable[[str], str | None]:
    if how is None:
        return lambda name: name
    if callable(how):
        return how
    if isinstance(how, Mapping):
        return _by_prefixes(who, how)
    if isinstance(how, (list, tuple)):
        return _by_patterns(who, how)
    raise _wrong(who, type(how).__name__)


def _by_prefixes(who: str, prefixes: Mapping[str, str | None]) -> Callable[[str], str | None]:
    for old, new in prefixes.items():
        if not (isinstance(old, str) and (new is None or isinstance(new, str))):
            raise _wrong(who, f"{old!r}: {new!r}")
    longest_first = sorted(prefixes.items(), key=lambda item: -len(item[0]))

    def function(name: str) -> str | None:
        for old, new in longest_first:
            if name.startswith(old):
                return None if new is None else new + name[len(old) :]
        return name

    return function


def _by_patterns(
    who: str, patterns: Sequence[tuple[str, str | None]]
) -> Callable[[str], str | None]:
    try:
        compiled = [(re.compile(pattern), new) for pattern, new in patterns]
    except (TypeError, ValueError, re.error) as error:
        raise _wrong(who, f"patterns that are none: {error}") from error

    def function(name: str) -> str | None:
        for pattern, new in compiled:
            if new is None:
                if pattern.search(name):
                    return None
            else:
                name = pattern.sub(new, name)
        return name

    return function


def _wrong(who: str, got: str) -> _C.ParameterError:
    return _C.ParameterError(
        "must be a function of a name, a dict of prefixes, or pairs of patterns and names",
        op=who, argument="names", got=got,
    )  # fmt: skip
