"""ConversionError: what is said of source that cannot be made part of a program."""

from __future__ import annotations

import linecache
from typing import Any

from ... import _C
from .swallowed import note


class ConversionError(_C.ParameterError):
    """A construct of Python has no meaning in a program, or not this one.

    Attributes:
        filename: the user's file.
        line: the number of the line.
        text: the line.
    """

    filename: str
    line: int
    text: str


def refusal(must: str, filename: str, line: int, fix: str, **fields: Any) -> ConversionError:
    """The error that names a line of the user's.

    Args:
        must: what must hold, or must not be there.
        filename: the user's file; nothing: there is no line.
        line: the number of the line.
        fix: what to write instead.
        fields: others of the error.
    """
    text = linecache.getline(filename, line).strip()
    got = fields.pop("got", None)
    place = f'{filename}:{line}: "{text}"' if filename else None
    told = ", at ".join(part for part in (got, place) if part is not None)
    error = ConversionError(must, op="to_static", got=told, fix=fix, **fields)
    error.filename, error.line, error.text = filename, line, text
    note(error)
    return error
