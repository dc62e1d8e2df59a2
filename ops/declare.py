"""declare: new ops at run time, from the same declarations that the built-in ones come from."""

from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Iterator, Mapping
from typing import Any

from .. import _C
from . import builtin
from .base import OpBase


class Declared(Mapping[str, _C.Function]):
    """What a declaration made: functional calls, by name or as attributes."""

    def __init__(self, functions: dict[str, _C.Function]) -> None:
        """Holds the functions under their names."""
        self._functions = functions

    def __getitem__(self, name: str) -> _C.Function:
        """The functional call of this name."""
        return self._functions[name]

    def __getattr__(self, name: str) -> _C.Function:
        """The functional call of this name."""
        try:
            return self._functions[name]
        except KeyError:
            known = ", ".join(self._functions)
            raise AttributeError(f"nothing named '{name}' was declared, only: {known}") from None

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the declarations."""
        return iter(self._functions)

    def __len__(self) -> int:
        """How many functional calls there are."""
        return len(self._functions)

    def __repr__(self) -> str:
        """The names."""
        return f"Declared({', '.join(self._functions)})"


def declare(source: str | os.PathLike[str]) -> Declared:
    """Declares ops: kernel, gradient, inference and functional call, with no compiler.

    Args:
        source: the text of a declaration, or the path of a file that holds it. Text is what has a
            line break in it; a string without one is a path.

    Returns:
        The functional calls that the entries make, by name.

    Raises:
        DeclarationError: the text is wrong: every mistake, with file, line and entry. Nothing is
            declared then.

    Example:
        >>> import tensorlike as tl
        >>> ops = tl.declare('''
        ... - scalar: squareplus
        ...   args: ["x: real floating-point"]
        ...   expr: 0.5 * (x + sqrt(x * x + 4))
        ...   doc: A smooth relu.
        ... ''')
        >>> ops.squareplus(tl.tensor([0.0, 1.5])).tolist()
        [1.0, 2.0]
    """
    text, path = _read(source)
    with _lock:
        return _declare(text, path)


def _declare(text: str, path: str) -> Declared:
    declarations = known_declarations().extended(text, path)
    specs = [spec for entry in declarations.new for spec in declarations.lower(entry)]
    _C.declare_specs(specs)
    _latest.append(declarations)
    functions = {}
    for spec in specs:
        kind = type(spec).__name__
        if kind == "FunctionSpec":
            functions[spec.name] = _C.Function(spec.name)
        elif kind == "OpSpec":
            cls = type(spec.name, (OpBase,), {"__slots__": ()}, native=spec.name)
            builtin.register(spec.name, cls)
    return Declared(functions)


# Each builds on all that were made before it.
_lock = RLock()
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)

# The declarations that new ones build on: the built-in ones and those made since.
_latest: list[Any] = []


def known_declarations() -> Any:
    """All declarations, the built-in ones and those made since; reads YAML at first."""
    if not _latest:
        from ..opdecl.registry import load_builtin  # reads YAML: only when it is used

        _latest.append(load_builtin())
    return _latest[-1]


def _read(source: str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(source, str) and "\n" in source:
        return source, "<string>"
    with open(source, encoding="utf-8") as file:
        return file.read(), os.fspath(source)
