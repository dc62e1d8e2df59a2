"""Calls of half precision that are computed in single precision, as kernels do inside of an op."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from .arranging import as_tensor
from .generated import astype

Function = TypeVar("Function", bound=Callable[..., Any])
_HALVES = ("float16", "bfloat16")


def in_float32(function: Function) -> Function:
    """A call whose first argument is cast where it is half precision, and its result cast back.

    For what adds up or counts elements in steps of its own: float16 ends at 65504.
    """

    @wraps(function)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        x = as_tensor(x)
        if x.dtype.name not in _HALVES:
            return function(x, *args, **kwargs)
        return astype(function(astype(x, dtype="float32"), *args, **kwargs), dtype=x.dtype)

    return call  # type: ignore[return-value]
