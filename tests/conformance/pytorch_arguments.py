"""A sample of PyTorch's as a call of ours: which function, and which argument is which."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

import tensorlike as tl
from tensorlike import functional as F

from .pytorch_names import RENAMED
from .pytorch_table import CALLS, SAME


class MissingError(Exception):
    """We have no such function, or it has no such option."""


class UnknownArgumentsError(Exception):
    """PyTorch has no such call."""


def ours_of(name: str) -> Callable[..., Any] | None:
    name = SAME.get(name, name)
    if name in CALLS:
        return CALLS[name]
    *room, last = name.split(".")
    rooms: list[Any] = [F, tl.linalg]
    if room and room[-1] != "functional":
        rooms.insert(0, getattr(tl, room[-1], None) or getattr(F, room[-1], None))
    for place in rooms:
        if place is not None and callable(getattr(place, last, None)):
            return getattr(place, last)  # type: ignore[no-any-return]
    return None


def parameters(function: Callable[..., Any]) -> list[tuple[str, bool]]:
    """The names of the parameters, and whether they can be given by position only."""
    text = getattr(function, "text_signature", None)
    if text is None:
        found = inspect.signature(function).parameters.values()
        return [(p.name, p.kind is p.POSITIONAL_ONLY) for p in found]
    inner = text[text.index("(") + 1 : -1]
    parts = re.findall(r"(\*?\w+)(?:=|,|$)", re.sub(r"=\([^)]*\)|='[^']*'", "=0", inner))
    return [(part, False) for part in parts if not part.isdigit()]


def fits(value: Any, kind: str) -> bool:
    if kind.startswith("Optional"):
        return value is None or fits(value, kind[9:-1])
    if kind == "Tensor":
        return isinstance(value, torch.Tensor)
    if kind.startswith("List"):
        return isinstance(value, (list, tuple, int, torch.Size))
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("float", "number", "Scalar"):
        return isinstance(value, (int, float, complex))
    return True


def named_arguments(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """PyTorch's names of what a sample gives, the values, and their defaults."""
    target: Any = torch
    for part in op.name.split("."):
        target = getattr(target, part, None)
    if inspect.isfunction(target) or inspect.isfunction(getattr(target, "__wrapped__", None)):
        signature = inspect.signature(target)
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            yield name, value, signature.parameters[name].default
        return
    aten = re.sub(r"^nn\.functional\.", "", op.aten_name or op.name).replace(".", "_")
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{aten}")
    for schema in schemas:
        own = schema.arguments
        places = [a for a in own if not a.kwarg_only]
        if len(args) > len(places) or not kwargs.keys() <= {a.name for a in own}:
            continue
        given = dict(zip((a.name for a in places), args, strict=False)) | kwargs
        known = {a.name: a for a in own}
        if not all(fits(value, str(known[name].type)) for name, value in given.items()):
            continue
        if any(a.default_value is None and a.name not in given and "Optional" not in str(a.type)
               and not a.has_default_value() for a in own):  # fmt: skip
            continue
        for name, value in given.items():
            yield name, value, known[name].default_value
        return
    raise UnknownArgumentsError(f"arguments of {op.name} are not known")


def call_ours(
    op: Any,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    made: Callable[[Any], Any] | None = None,
) -> Any:
    """What our function gives; `made` makes tensors of PyTorch's tensors."""

    def convert(value: Any) -> Any:
        return converted(value, made)

    if SAME.get(op.name, op.name) in CALLS:
        return function(*converted(args, made), **converted_options(kwargs, made))
    own = parameters(function)
    names = [name for name, _ in own]
    by_position = {name for name, only in own if only}
    given: dict[str, Any] = {}
    free = [name for name in names if name not in ("self",)]
    stars: list[Any] = []
    try:
        named = list(named_arguments(op, args, kwargs))
    except UnknownArgumentsError:  # wrong ones: as they stand
        return function(*converted(args, made), **converted_options(kwargs, made))
    for name, value, default in named:
        target = RENAMED.get(name, name)
        target = name if name in names else target
        is_input = isinstance(value, (torch.Tensor, list, tuple, torch.Size)) or name in (
            "other",
            "exponent",
            "n",
        )
        if target not in names and is_input:
            left = [n for n in free if n not in given]
            if left and left[0].startswith("*"):
                stars.append(convert(value))
                continue
            if not left:
                raise MissingError(f"missing option {name}")
            target = left[0]
        if target not in names:
            if value is None or value == default:
                continue
            raise MissingError(f"missing option {name}")
        given[target] = convert(value)
    ahead = []
    for name in names:
        if name not in by_position or name not in given:
            break
        ahead.append(given.pop(name))
    return function(*ahead, *stars, **given)


def converted(value: Any, made: Callable[[Any], Any] | None = None) -> Any:
    if isinstance(value, torch.Tensor):
        return (made or as_ours)(value)
    if isinstance(value, (list, tuple)):
        parts = [converted(part, made) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return value


def converted_options(kwargs: dict[str, Any], made: Any = None) -> dict[str, Any]:
    return {name: converted(value, made) for name, value in kwargs.items()}


def as_ours(value: torch.Tensor, **options: Any) -> Any:
    array = value.detach().resolve_conj().resolve_neg()
    if array.dtype == torch.bfloat16:
        return F.astype(tl.tensor(array.float().numpy()), dtype="bfloat16")
    if array.ndim > 64:  # NumPy has no such array
        return F.reshape(tl.tensor(array.flatten().numpy().copy()), tuple(array.shape))
    return tl.tensor(array.numpy().copy(), **options)
