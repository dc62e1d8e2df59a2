"""Signatures: what two calls must have in common to be served by one program.

That is the arrangement of the arguments, the values of those that are no tensors, and what is known
of tensors without looking at elements: class, dtype, shape, device, and whether derivatives are
wanted. Shapes are apart, since one program may serve several.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .. import _C
from ..imperative import Listing, SymbolicTensor, Tensor
from ..imperative.levels import is_differentiated
from ..imperative.sizes import Size
from ..imperative.trees import flatten, leaves_of
from .errors import Untraceable

_RawTensor = _C.RawTensor
_PLAIN = (bool, int, str, bytes, type(None), _C.dtype)


class Same:
    """An object that is equal to itself alone."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)

    def __repr__(self) -> str:
        return f"this {type(self.held).__name__}"


def signature(
    args: tuple[Any, ...], kwargs: dict[str, Any], kept: Sequence[Any] = ()
) -> tuple[list[Any], Any, Any]:
    """The tensors among arguments; what a call must have in common; the tensors' shapes.

    The last two are hashable.

    Args:
        args: the arguments.
        kwargs: those by name.
        kept: what the function's own state is, which is given behind them.
    """
    tensors: list[Any] = []
    parts = tuple([_part(x, tensors) for x in args])
    named = tuple([(name, _part(kwargs[name], tensors)) for name in sorted(kwargs)])
    held = tuple([_part(x, tensors) for x in kept])
    same = _same_containers((args, kwargs, tuple(kept)))
    is_paused = _C.paused_level() >= 0  # within `no_grad` nothing that is made has a history
    key = parts, named, held, same, is_paused, _C.default_device()
    return tensors, key, tuple([x.shape for x in tensors])


def _same_containers(given: Any) -> tuple[int, ...]:
    """Which containers that may be changed are met again, by the numbers of their first meeting."""
    met: dict[int, int] = {}
    found: list[int] = []

    def look(x: Any) -> None:
        if isinstance(x, (list, dict)):
            is_known = id(x) in met
            found.append(met.setdefault(id(x), len(met)))
            if is_known:
                return
        if isinstance(x, (list, tuple, dict)):
            for item in x.values() if isinstance(x, dict) else x:
                look(item)

    look(given)
    return tuple(found)


def is_of_another_program(args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> bool:
    """Whether a call is a part of what is being built: on its variables, or of its sizes."""
    if any(isinstance(x, SymbolicTensor) for x in (*args, *kwargs.values())):
        return True
    return any(type(size) is Size for shape in shapes for size in shape)


def argument_names(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: Sequence[Any]
) -> list[str]:
    """A name for each of the tensors, which `signature` has found among the arguments."""
    called = getattr(function, "forward", function)  # of a layer
    bound: Mapping[str, Any]
    try:
        bound = inspect.signature(called).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {f"x{i}": x for i, x in enumerate(args)} | kwargs
    names: dict[int, str] = {}
    for name, value in bound.items():
        known = len(names)
        for x in leaves_of(value):
            if isinstance(x, _C.TensorWrapper):
                is_one = x is value
                names.setdefault(id(x), name if is_one else f"{name}_{len(names) - known}")
    return [names.get(id(x), f"x{i}") for i, x in enumerate(tensors)]


def _part(x: Any, tensors: list[Any]) -> Any:
    kind = type(x)
    if isinstance(x, _C.TensorWrapper):
        return _tensor_part(x, tensors)
    if kind in _PLAIN:
        return (kind, x)
    if kind in (list, tuple):
        return (kind, *[_part(item, tensors) for item in x])
    if kind is dict:
        return (kind, *[(key, _part(item, tensors)) for key, item in x.items()])
    if kind in (float, complex):
        return (kind, repr(x))  # zeros have signs, and NaN is not equal to itself
    if isinstance(x, (np.ndarray, np.generic)):
        return (kind, x.shape, x.dtype.str, x.tobytes() if x.dtype.kind != "O" else Same(x))
    if isinstance(x, tuple):
        return (kind, *[_part(item, tensors) for item in x])
    if is_dataclass(x) and not isinstance(x, type):
        return (kind, *[_part(getattr(x, f.name, None), tensors) for f in fields(x)])
    if kind is slice:
        return (kind, *[_part(item, tensors) for item in (x.start, x.stop, x.step)])
    return Same(x)


def is_by_itself(x: Any) -> bool:
    """Whether it counts of an argument which object it is."""
    return type(_part(x, [])) is Same


def _tensor_part(x: Any, tensors: list[Any]) -> Any:
    for index, other in enumerate(tensors):
        if other is x:
            return index  # the same tensor again
    tensors.append(x)
    value = x.__wrapped__
    kind = type(x)
    if type(value) is _RawTensor:
        return kind if kind is Tensor and value.dtype is _C.float32 else (kind, value.dtype)
    return kind, value.dtype, len(value.shape), is_differentiated(value), x.is_leaf


def refuse_sizes(result: Any, listing: Listing) -> None:
    """A size that is not known here is a number in each call: a program with numbers returns it."""
    sizes, _ = flatten(result, lambda x: isinstance(x, Size), is_result=True)
    if any(size.owner is listing for size in sizes):
        raise _C.ShapeError(
            "a function of unknown sizes must not return one", op="trace", got="a result with it",
            fix="return the tensor, and read its shape outside",
        )  # fmt: skip


def refuse_kept_sizes(listing: Any) -> None:
    """Says that a function which put away a size runs at once: Python would do so in no other call.

    Raises:
        Untraceable: it is kept by somebody, with the user's line.
    """
    line = listing.kept_size()
    if line is not None:
        raise Untraceable(f"it keeps a size, which is another one in other calls ({line})")
