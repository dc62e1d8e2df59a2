"""What `trace` and `to_static` are given beside functions, checked before anything is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .input_spec import InputSpec


def check(who: str, function: Any, input_spec: Sequence[InputSpec] | None, on_change: str) -> None:
    """Refuses what no call could go with.

    Raises:
        ArgumentError: it is no function, no list of `InputSpec`, or no word that is known.
    """
    if not callable(function):
        raise _C.ArgumentError(
            "must be a function, a method or a layer", op=who, argument="function",
            got=f"a value of {type(function).__name__}",
        )  # fmt: skip
    if input_spec is not None and not isinstance(input_spec, (list, tuple)):
        raise _C.ArgumentError(
            "must be a list, of an InputSpec for each tensor of the arguments", op=who,
            argument="input_spec", got=f"a {type(input_spec).__name__}", fix="put it into a list",
        )  # fmt: skip
    for spec in () if input_spec is None else input_spec:
        if not isinstance(spec, InputSpec):
            raise _C.ArgumentError(
                "must hold an InputSpec for each tensor of the arguments", op=who,
                argument="input_spec", got=f"a {type(spec).__name__} in it",
                fix="write InputSpec((None, 3), 'float32')",
            )  # fmt: skip
    if on_change not in ("record", "error"):
        raise _C.ArgumentError(
            "must be 'record' or 'error'", op=who, argument="on_change", got=repr(on_change)
        )
