"""Loading a state: all values are checked and made before any tensor is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _C
from .arrays import steady
from .keeping import starts_from
from .levels import stopped, unwrapped
from .tensor import Tensor

# In this order: a number of one kind can be held by a dtype of its own kind or of a later one.
_KINDS = ("bool", "integer", "floating", "complex")


def _rank(dtype: _C.dtype) -> int:
    kind = dtype.kind
    return next((i for i, name in enumerate(_KINDS) if name[:3] in kind), 1)


def check_state(state: object) -> None:
    """Raises TypeError unless it is a mapping from names."""
    if not isinstance(state, Mapping) or not all(isinstance(name, str) for name in state):
        got = type(state).__name__
        raise _C.ParameterError(
            "must be a mapping from names to arrays",
            op="load_state_dict",
            argument="state",
            got=f"{got}",
        )


def saved(tensor: Tensor) -> np.ndarray[Any, Any]:
    """A copy of the elements, from any device."""
    return np.array((tensor if tensor.device == "cpu" else tensor.to("cpu")).numpy())


def _no_numbers(name: str, value: Any) -> _C.DTypeError:
    return _C.DTypeError(
        "must hold numbers", op="load_state_dict", argument=name, got=f"a {type(value).__name__}"
    )


def tensor_or_array(name: str, value: Any) -> Any:
    """A value of a state, as an array where it is no tensor.

    Raises:
        DTypeError: it is no array.
    """
    if isinstance(value, _C.TensorBase):
        return value
    try:
        return np.array(steady(value))
    except Exception as error:
        raise _no_numbers(name, value) from error


def loaded(name: str, value: Any, like: Tensor) -> Tensor:
    """A value of a state as the tensor that it is to take the place of.

    Raises:
        ShapeError: it has another shape.
        DTypeError: it holds no numbers, or of a kind that the tensor cannot hold.
        ValueError: a number is beyond what the tensor's dtype can hold.
    """
    value = tensor_or_array(name, value)
    try:
        is_own = isinstance(value, _C.TensorBase)
        made = Tensor(stopped(unwrapped(value)) if is_own else value)
    except Exception as error:
        raise _no_numbers(name, value) from error
    if made.shape != like.shape:
        raise _C.ShapeError(
            f"must have shape {like.shape}",
            op="load_state_dict",
            argument=name,
            got=f"{made.shape}",
        )
    if made.dtype is like.dtype:
        return made
    if _rank(made.dtype) > _rank(like.dtype):
        raise _C.DTypeError(
            f"must be {like.dtype.name}, or of a kind that this can hold",
            op="load_state_dict",
            argument=name,
            got=made.dtype.name,
        )
    with np.errstate(all="ignore"):
        cast = made.astype(like.dtype)
    if not _keeps_values(made, cast):
        raise _C.ArgumentError(
            f"must be within the range of {like.dtype.name}",
            op="load_state_dict",
            argument=name,
            got=f"{made.dtype.name} beyond it",
        )
    return cast


def _keeps_values(before: Tensor, after: Tensor) -> bool:
    """Whether integers are the same, and what was finite still is."""
    if after.dtype.kind in ("floating", "complex"):
        return bool((after.isfinite() | ~before.isfinite()).all().item())
    return bool((after.astype(before.dtype) == before).all().item())


def set_all(pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Gives tensors their values, where they live: all of them, or, where one fails, none."""
    with _C.Journal() as journal:
        for tensor, value in pairs:
            if starts_from(tensor, value):
                continue
            is_there = value.device == tensor.device
            tensor.set_value(value if is_there else value.to(tensor.device))
        journal.keep()
