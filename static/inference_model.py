"""Programs for inference as folders: what is fed, what is fetched, and what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from .. import _C
from ..imperative import program_file
from ..imperative.naming import named
from ..inspection.files import path_of, read_file, replace_file
from .executor import Executor, Scope, given_scope
from .numbers import check_program, number_in
from .program import Program, Variable

_FILE = "__model__.tlp"


@named
def save_inference_model(
    path: str | PathLike[str],
    feed: Sequence[str],
    fetch: Sequence[Any],
    program: Program,
    *,
    scope: Scope | None = None,
) -> None:
    """Writes the part of a program that makes some results of some inputs, with its states.

    Args:
        path: of a folder, which is made.
        feed: the names of inputs that are fed.
        fetch: the variables that are fetched, or their names.
        program: the program.
        scope: where the values of its states are; None is `global_scope()`.

    Raises:
        ArgumentError: a result follows from an input that is not fed, or is none of the program.
        OSError: it cannot be written.

    Source:
        Paddle, ``paddle.static.save_inference_model``.
    """
    check_program(program, "save_inference_model")
    scope = given_scope(scope, "save_inference_model")
    numbers = [number_in(program, x, "save_inference_model", "fetch") for x in fetch]
    pruned = program.prune([program.symbol(n) for n in numbers])
    wanted = [n for n, (_, role, _) in enumerate(pruned.variables()) if role == "input"]
    missing = [pruned.names(n) for n in wanted if pruned.names(n) not in feed]
    if missing:
        raise _C.ArgumentError(
            "what the results follow from must be fed", op="save_inference_model",
            argument="feed", got=f"nothing for {', '.join(missing)}",
        )  # fmt: skip
    results = {
        f"fetch_{i}": number_in(pruned, program.symbol(number)) for i, number in enumerate(numbers)
    }
    names = [name for name, role, _ in pruned.variables() if role == "state"]
    weights = {name: value for name in names if (value := scope.find(name)) is not None}
    folder = path_of(path, "save_inference_model")
    data = program_file.write(pruned, results, weights)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / _FILE, data)


@named
def load_inference_model(
    path: str | PathLike[str], executor: Executor, *, scope: Scope | None = None
) -> tuple[Program, list[str], list[Variable]]:
    """The program that `save_inference_model` wrote; its states get their values in a scope.

    Args:
        path: the folder.
        executor: what will run it.
        scope: gets the values of states; None is `global_scope()`.

    Returns:
        The program, the names of what is to be fed, and the variables to be fetched.

    Raises:
        ArgumentError: the file is no program, or is damaged.
        OSError: it cannot be read.

    Source:
        Paddle, ``paddle.static.load_inference_model``.
    """
    file = path_of(path, "load_inference_model") / _FILE
    scope = given_scope(scope, "load_inference_model")
    program = Program()
    results, weights = program_file.read(read_file(file, "load_inference_model"), program)
    for name, value in weights.items():
        scope.set(name, value)
    feed = [name for name, role, _ in program.variables() if role == "input"]
    return program, feed, [program.symbol(number) for number in results.values()]
