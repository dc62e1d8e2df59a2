"""Programs as files: structure, the ops that they use beyond the built-in ones, and the weights."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from os import PathLike
from typing import Any

from ..imperative import program_file
from ..imperative.naming import named
from ..inspection.files import path_of, read_file, replace_file
from .executor import Scope, given_scope
from .numbers import check_program, number_in
from .program import Program


@named
def save(
    program: Program,
    path: str | PathLike[str],
    fetch_list: Sequence[Any] = (),
    scope: Scope | None = None,
) -> None:
    """Writes a program, with the values that its states have in a scope.

    Args:
        program: what is saved.
        path: the file; `.tlp` is usual.
        fetch_list: the variables that are to be results, which keep their names; of those of one
            name, as one that is there twice, the later ones get a number behind it.
        scope: where the values of states are; None is `global_scope()`. States without a value are
            saved without: a startup program gives them one.

    Raises:
        ArgumentError: a variable is none of the program, or an op has no form as bytes.
        OSError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     y = static.data("x", (None,)) * 2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     static.save(main, os.path.join(folder, "twice.tlp"), [y])
        ...     again = static.load(os.path.join(folder, "twice.tlp"))
        >>> static.Executor().run(again, {"x": [1.0, 2.0]}, list(again.results.values()))
        [array([2., 4.], dtype=float32)]
    """
    check_program(program, "save")
    scope = given_scope(scope, "save")
    numbers = [number_in(program, x, "save") for x in fetch_list]
    kept = program.assigned()
    results: dict[str, int] = {}
    for number in numbers:
        results[_new_name(program.names(number), results)] = kept.get(number, number)
    weights = {}
    for name, role, _ in program.variables():
        value = scope.find(name) if role == "state" else None
        if value is not None:
            weights[name] = value
    data = program_file.write(program, results, weights)
    replace_file(path_of(path, "save"), data)


def _new_name(name: str, known: Collection[str]) -> str:
    """The name, with a number behind it where a result has it already."""
    found = (name if i == 0 else f"{name}_{i}" for i in count())
    return next(one for one in found if one not in known)


@named
def load(path: str | PathLike[str], scope: Scope | None = None) -> Program:
    """The program that `save` wrote; its states get their values in a scope.

    Reading runs no code that the reader does not have.

    Args:
        path: the file.
        scope: gets the values of states; None is `global_scope()`.

    Returns:
        A program; its `results` are the variables that were saved as such, by name.

    Raises:
        ArgumentError: the file is no program, or is damaged.
        OSError: it cannot be read.
    """
    scope = given_scope(scope, "load")
    program = Program()
    results, weights = program_file.read(read_file(path_of(path, "load"), "load"), program)
    program.results = {name: program.symbol(number) for name, number in results.items()}
    for name, value in weights.items():
        scope.set(name, value)
    return program
