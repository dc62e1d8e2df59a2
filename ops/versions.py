"""The versions of ops: what an op was called, and as which version, when it was written down.

Declarations may hold several versions of an op. The newest has its name, its class and its
functional call. An op of an older version is read by the declaration of that version, whose class
`NameV1` is made when it is first needed.
"""

from __future__ import annotations

from . import builtin
from .base import OpBase, version_of

_older: dict[str, type[OpBase]] = {}


def name_and_version(cls: type[OpBase]) -> tuple[str, int]:
    """The name that all versions of a class of the core share, and which one it is."""
    version = version_of(cls)
    is_older = _older.get(cls.__name__) is cls
    return (cls.__name__.removesuffix(f"V{version}") if is_older else cls.__name__), version


def class_of(name: str, version: int) -> type[OpBase]:
    """The class of a version of an op.

    Raises:
        ValueError: no declaration of that version is known.
    """
    newest: type[OpBase] = getattr(builtin, name)
    if type(version) is int and version == version_of(newest):
        return newest
    if not (type(version) is int and 0 < version < version_of(newest)):
        raise _unknown(name, version, newest)
    versioned = f"{name}V{version}"
    if versioned not in _older:
        place = {"__slots__": (), "__module__": __name__, "__doc__": f"{name}, version {version}."}
        try:
            _older[versioned] = type(versioned, (OpBase,), place, native=versioned, version=version)
        except ValueError:  # the core has no such class
            raise _unknown(name, version, newest) from None
    return _older[versioned]


def _unknown(name: str, version: int, newest: type[OpBase]) -> ValueError:
    return ValueError(
        f"{name}: its version must be declared here; got version {version}, and the newest is "
        f"{version_of(newest)}; declare that version beside the newest"
    )
