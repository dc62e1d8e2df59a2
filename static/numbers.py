"""Names and numbers of variables, whoever holds them."""

from __future__ import annotations

import re
from typing import Any

from .. import _C
from ..imperative import Listing, SymbolicTensor
from ..imperative.levels import stopped, unwrapped

# What the core calls variables that nobody has named.
_UNNAMED = re.compile(r"_\d+")


def check_program(program: Any, op: str) -> None:
    """Raises ParameterError unless it is a program that `program_guard` builds, or one read."""
    from .program import Program

    if not isinstance(program, Program):
        raise _C.ParameterError(
            "must be a Program", op=op, argument="program", got=type(program).__name__
        )  # fmt: skip


def is_unnamed(name: str) -> bool:
    """Whether it is what the core calls variables that nobody has named."""
    return _UNNAMED.fullmatch(name) is not None


def variable_of(listing: Listing, number: int) -> Any:
    """The variable of a block, as such."""
    from .program import Variable

    found: Any = listing.symbol(number)
    face: Any = Variable
    return found if isinstance(found, Variable) else face(listing, number)


def number_of_name(listing: Listing, name: str) -> int | None:
    """The number of the variable of this name in a block itself."""
    from .program import Program

    if isinstance(listing, Program):
        return listing.number_of(name)
    named = {known: number for number, (known, _, _) in enumerate(listing.variables())}
    return named.get(name)


def number_in(program: Listing, x: Any, op: str = "run", argument: str = "fetch_list") -> int:
    """The number of a variable, which may be given by itself, by a tensor around it, or by name.

    Args:
        program: that it is of.
        x: the variable.
        op: the call, for errors.
        argument: what it was given as, for errors.

    Raises:
        ArgumentError: it is none of the program.
    """
    from .program import Program, Variable

    if isinstance(x, str):
        found = program.find(x)
        if found is not None:
            return found
        raise _C.ArgumentError(
            "must be variables of the program", op=op, argument=argument, got=repr(x)
        )
    if isinstance(x, _C.TensorBase):
        value = stopped(unwrapped(x))
        if isinstance(program, Program) and isinstance(value, Variable):
            copied = program.copy_of(value)
            if copied is not None:
                return copied
        elif isinstance(value, SymbolicTensor) and value.listing is program:
            return value.number
    raise _C.ArgumentError(
        "must be variables of the program, or their names", op=op, argument=argument,
        got=f"a {type(x).__name__}" if not isinstance(x, Variable) else "one of another program",
    )  # fmt: skip
