"""Versions of an op: several entries of one name, of which the newest has it.

Where what an op means or takes has to change, its entry stays as it is, and another of the same
name with `version: 2` comes beside it. Code is generated from the newest; an older one is called
`NameV1`, and is there for ops that were written down when it was the newest.
"""

from __future__ import annotations

from .loader import Mapping, Node, Scalar, Sequence

MAX_VERSION = 1_000


def version_in(node: Node) -> int:
    """The version that an entry says; 1 where it says none, or what is none."""
    said = node.items.get("version") if isinstance(node, Mapping) else None
    value = said.value if isinstance(said, Scalar) else None
    return value if type(value) is int and 1 <= value <= MAX_VERSION else 1


def newest_versions(entries: Sequence) -> dict[str, int]:
    """The highest version of each op among the entries of a text."""
    found: dict[str, int] = {}
    for node in entries.items:
        name = node.items.get("op") if isinstance(node, Mapping) else None
        if isinstance(name, Scalar):
            found[name.text] = max(version_in(node), found.get(name.text, 1))
    return found


def versioned_name(name: str, version: int) -> str:
    """What the class of an older version is called."""
    return f"{name}V{version}"
