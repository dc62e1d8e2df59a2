"""declare: new ops at run time, from the same declarations that the built-in ones come from.

What a declaration made pickles as its name and its text: whoever reads it has the same.
"""

from __future__ import annotations

import copyreg
import functools
import os
from _thread import RLock  # threading takes longer to import
from collections.abc import Iterator, Mapping
from typing import Any

from .. import _C
from . import builtin
from .base import OpBase
from .described import described
from .python_rules import infer_rule, kernel_rule
from .sources import Sources, path_of, remember, restore, sources_of


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


def declare(
    source: str | os.PathLike[str],
    *,
    imports: bool = False,
    library: str | os.PathLike[str] | None = None,
) -> Declared:
    """Declares ops: kernel, gradient, inference and functional call, with no compiler.

    Args:
        source: the text of a declaration, or the path of a file that holds it. Text is what has a
            line break in it; a string without one is a path.
        imports: whether kernels and inference may be functions of Python, which the entry names as
            ``module:function``.
        library: a shared library that has the kernels which the entries name without a module,
            ``kernel: {cpu: name}``; see docs/native_ops.md. It is loaded, which runs its code, and
            stays so. Nothing in a declaration runs code unless one of the two is given.

    Returns:
        The functional calls that the entries make, by name.

    Raises:
        DeclarationError: the text is wrong: every mistake, with file, line and entry. Nothing is
            declared then.
        ParameterError: source is neither text nor a path, or library is no path.
        ValueError: a path is that of something else than a file, or the library is none, is built
            for another version of tensorlike, or lacks a kernel. Nothing is declared then.

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
    file = "" if library is None else _library_file(library)
    with _changing:
        return _declare(text, path, imports, file)


def _declare(text: str, path: str, imports: bool, library: str) -> Declared:
    from ..opdecl.compiler.specs import OpSpec, specs_text  # as late as all that reads declarations

    known = known_declarations()
    larger = known.extended(text, path, imports, library)
    entries = sorted((*larger.new, *larger.older), key=lambda entry: entry.place.line)
    specs = [spec for entry in entries for spec in larger.lower(entry)]
    ops = [spec for spec in specs if isinstance(spec, OpSpec)]
    rules = {op.name: _own_rules(op) for op in ops if op.library or ":" in op.kernel}
    _C.declare_specs(specs_text(specs), rules)
    remember(text, entries)
    functions = {}
    for entry in larger.new:
        if entry.kind == "op":
            _register_class(entry)
        for call in (entry, *entry.variants):
            functions[call.function] = described(call)
    known.absorb(larger)
    return Declared(functions)


def _own_rules(op: Any) -> str | tuple[Any, Any]:
    """The library of an op's kernel, or functions of Python: it, and its inference if any."""
    if op.library:
        return str(op.library)
    kernel = kernel_rule(op.name, op.kernel)
    return kernel, infer_rule(op.name, op.infer) if op.infer else None


class _DeclaredClass(type):
    """What the classes of declared ops are, that they may pickle otherwise than other classes."""


def _register_class(entry: Any) -> None:
    place = {"__slots__": (), "__module__": builtin.__name__, "__doc__": entry.doc}
    cls: Any = _DeclaredClass(
        entry.name, (OpBase,), place, native=entry.name, version=entry.version
    )
    builtin.register(entry.name, cls)


def _reduce_class(cls: _DeclaredClass) -> Any:
    name = cls.__qualname__
    if cls.__module__ != builtin.__name__:  # a class that a user derived
        return name
    return _restored, ("class", name, sources_of([name]), path_of(name))


def _reduce_function(function: _C.Function) -> Any:
    reduced = function.__reduce__()
    if isinstance(reduced, str):  # one of a module
        return reduced
    name = reduced[1][0]
    path = path_of(name)
    return (_restored, ("function", name, sources_of([name]), path)) if path else reduced


def _restored(kind: str, name: str, sources: Sources, path: str) -> Any:
    """The class or the functional call of a declaration, which is declared here if it is not yet.

    Raises:
        ValueError: it was declared otherwise here, or must be declared by the reader.
    """
    try:
        restore(sources)
    except ValueError as error:
        raise _C.ArgumentError(
            f"{error}; the {kind} {name} was declared in {path}", op="unpickle"
        ) from error
    return _C.Function(name) if kind == "function" else getattr(builtin, name)


copyreg.pickle(_DeclaredClass, _reduce_class)
copyreg.pickle(_C.Function, _reduce_function)


# Held while declarations are read or added to, by one thread at a time.
_changing = RLock()
os.register_at_fork(
    before=_changing.acquire, after_in_parent=_changing.release, after_in_child=_changing.release
)


@functools.cache
def _declarations() -> Any:
    # Reads YAML: only when it is used.
    from ..opdecl.compiler.registry import Declarations, load_builtin

    return Declarations((), base=load_builtin())


def known_declarations() -> Any:
    """All declarations, the built-in ones and those made since; reads YAML at first."""
    with _changing:
        return _declarations()


def _read(source: str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(source, str) and "\n" in source:
        return source, "<string>"
    if not isinstance(source, (str, os.PathLike)):
        raise _C.ParameterError(
            "must be text or a path",
            op="declare",
            argument="source",
            got=type(source).__name__,
        )
    path = os.fspath(source)
    if os.path.exists(path):
        _check_file(path, "source")
    with open(path, encoding="utf-8") as file:
        return file.read(), os.fsdecode(path)


def _check_file(path: str | bytes, argument: str) -> None:
    if not os.path.isfile(path):  # a pipe may wait, a device never end
        raise _C.ArgumentError(
            "must be a file", op="declare", argument=argument, got=f"{path!r}, which is none"
        )


def _library_file(library: str | os.PathLike[str]) -> str:
    """The library's whole path, so that the loader looks for it nowhere else."""
    if not isinstance(library, (str, os.PathLike)):
        raise _C.ParameterError(
            "must be a path", op="declare", argument="library", got=type(library).__name__
        )
    path = os.path.abspath(os.fsdecode(library))
    _check_file(path, "library")
    return path
