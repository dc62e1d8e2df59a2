"""Pictures of programs: one page of HTML that needs nothing else."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ... import _C
from ...functional.arguments import integer
from ...inspection.files import replace_file
from ..program import Program
from .page import page
from .rows import rows_of

__all__ = ["show"]

# A program, or its text.
Shown = Program | str


def show(
    program: Program,
    path: str | PathLike[str] | None = None,
    *,
    passes: Sequence[tuple[str, Shown, Shown] | Any] = (),
    sizes: int | Mapping[str, int] = 32,
) -> Path:
    """Writes a page that shows a program, and opens it where no file is named.

    The page has the steps, folded by phase and layer, with shapes, costs, the user's lines and the
    declarations of their ops; a field to search them; the graph, of a program that is not too
    large; and what each pass changed, side by side. It is one file, and reads nothing else.

    Args:
        program: what is shown.
        path: the file; None: one of its own, which the browser opens.
        passes: for each pass its name, and the program, or its text, before and after it; or what
            a `CompiledProgram` reports of its passes.
        sizes: numbers for unknown sizes, for all of them or by name: costs are those for these.

    Returns:
        The file.

    Raises:
        ParameterError: the program is none, or passes or sizes are not as said.
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program(), static.Program()) as main:
        ...     y = tl.nn.Linear(2, 1)(static.data("x", (None, 2)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tl.viz.show(main, f"{folder}/main.html", sizes=64).name
        'main.html'
    """
    if not isinstance(program, Program):
        raise _C.ParameterError(
            "must be a Program", op="show", argument="program", got=type(program).__name__
        )
    given = _sizes(program, sizes)
    texts = _texts(passes)
    data = page(program, rows_of(program, given), given, texts).encode()
    target = Path(tempfile.mkdtemp(prefix="tensorlike-"), "program.html") if path is None else path
    replace_file(target, data)
    if path is None:
        webbrowser.open(Path(target).absolute().as_uri())
    return Path(target)


def _sizes(program: Program, sizes: Any) -> dict[str, int]:
    """The numbers for a program's unknown sizes."""
    names = [name for name, _, _ in program.sizes()]
    if not isinstance(sizes, Mapping):
        return dict.fromkeys(names, integer("show", "sizes", sizes, least=0))
    return {str(name): integer("show", "sizes", size, least=0) for name, size in sizes.items()}


def _texts(passes: Any) -> list[tuple[str, str, str]]:
    """The name of each pass, and the program's text before and after it."""
    try:
        found = [
            (one.name, one.before, one.after) if hasattr(one, "before") else tuple(one)
            for one in passes
        ]
        return [(str(name), str(before), str(after)) for name, before, after in found]
    except (TypeError, ValueError):
        raise _C.ParameterError(
            "must be a list of (name, before, after), or a report of passes", op="show",
            argument="passes", got=type(passes).__name__,
        ) from None  # fmt: skip


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
