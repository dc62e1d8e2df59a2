"""Lines of the user's: errors of a program that runs are raised from them."""

from __future__ import annotations

import ast
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple, NoReturn

_PACKAGE = str(Path(__file__).parents[2])


class Place(NamedTuple):
    """A line of the user's, in a function."""

    filename: str
    line: int
    function: str


def raise_at(place: Place, error: BaseException) -> NoReturn:
    """Raises an error from a line of the user's: it is the last one of the traceback."""
    tree = ast.parse("def _jit_raise(error):\n    raise error")
    for node in ast.walk(tree):
        if "lineno" in node._attributes:
            node.lineno = node.end_lineno = place.line  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    (code,) = [
        constant
        for constant in compile(tree, place.filename, "exec").co_consts
        if isinstance(constant, CodeType)
    ]
    FunctionType(code.replace(co_name=place.function), {})(error)
    raise error


def is_located(error: BaseException) -> bool:
    """Whether an error comes from a line of the user's, and not from code of this package."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and not last.tb_frame.f_code.co_filename.startswith(_PACKAGE)
