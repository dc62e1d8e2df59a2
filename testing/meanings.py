"""Meanings: what `first_divergence` may run a function under, given in the words of its caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ..imperative import ArgumentError, RawTensor, apply, as_dtype, as_raw_tensor, engine
from ..imperative.levels import unwrapped
from ..ops import Cast, Const, OpBase


class Reference:
    """A meaning given by a function: ``function(op, *arrays)`` returns what the op should give.

    Args:
        function: takes the op and NumPy arrays, returns an array or several; NotImplemented leaves
            the op to the kernels.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Keeps it."""
        self.function = function


class Meaning:
    """What `a` or `b` says: how values are taken in, and how ops are applied to them."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.dtype: Any = None
        if isinstance(given, str) and given in engine.MODES:
            self.kind = "mode"
        elif isinstance(given, (Reference, type(None))):
            self.kind = "reference" if given is not None else "kernels"
        elif callable(given) and not isinstance(given, type(as_dtype("float32"))):
            self.kind = "tensor-like"
        else:
            self.kind, self.dtype = "dtype", as_dtype(given)

    def running(self) -> AbstractContextManager[Any]:
        """What holds while the meaning runs."""
        is_mode = self.kind == "mode"
        return engine.mode(self.given, threshold=1) if is_mode else nullcontext()

    def take(self, x: RawTensor) -> Any:
        if self.kind == "tensor-like":
            return unwrapped(self.given(x))
        is_float = self.dtype is not None and x.dtype.kind == "floating"
        return Cast(dtype=self.dtype)(x)[0] if is_float else x

    def apply(self, op: OpBase, xs: Sequence[Any]) -> tuple[Any, ...]:
        if self.kind == "reference":
            found = self.given.function(op, *(np.asarray(x) for x in xs))
            if found is not NotImplemented:
                several = found if isinstance(found, (tuple, list)) else (found,)
                return tuple(as_raw_tensor(np.asarray(y)) for y in several)
        is_cast = isinstance(op, (Cast, Const)) and getattr(op.dtype, "kind", "") == "floating"
        if self.dtype is not None and is_cast:  # the precision is what this meaning is about
            op = type(op)(**{**op.params(), "dtype": self.dtype})
        return apply(op, *xs)


def name_of(meaning: Meaning) -> str:
    """What messages call it."""
    if meaning.kind == "dtype":
        return str(meaning.dtype.name)
    if meaning.kind == "reference":
        return f"Reference({getattr(meaning.given.function, '_name_of__', '?')})"
    return getattr(meaning.given, "_name_of__", None) or str(meaning.given or "kernels")


def as_text(meaning: Meaning) -> tuple[str, str]:
    """An import, if one is needed, and an expression."""
    given = meaning.given
    if meaning.kind in ("mode", "kernels"):
        return "", repr(given)
    if meaning.kind == "dtype":
        return "", repr(meaning.dtype.name)
    function = given.function if meaning.kind == "reference" else given
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
    if module in (None, "__main__") or "<" in name:
        raise ArgumentError(
            "a meaning must be something that a program can import",
            op="repro",
            got=repr(function),
            fix="define it in a module, on its first level",
        )
    text = f"from tensorlike.testing import Reference\nfrom {module} import {name.split('.')[0]}"
    is_reference = meaning.kind == "reference"
    return (text, f"Reference({name})") if is_reference else (text.splitlines()[1], name)
