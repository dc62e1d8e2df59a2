"""Results that must be alike: those of two branches, or of each step of a loop."""

from __future__ import annotations

from typing import Any

from ..imperative import DTypeError, ParameterError, ShapeError, Size
from ..imperative.trees import PLACE


def refuse_other(who: str, name: str, first: Any, second: Any, what: str) -> None:
    """Raises unless two kinds of tensors are the same, as far as they are known."""
    (dtype, shape), (other_dtype, other_shape) = first, second
    kind = DTypeError if dtype is not other_dtype else ShapeError
    is_same = dtype is other_dtype and len(shape) == len(other_shape)
    for size, other in zip(shape, other_shape, strict=False):
        is_known = not isinstance(size, Size) and not isinstance(other, Size)
        is_same = is_same and (not is_known or size == other)
    if not is_same:
        raise kind(
            f"{what} must give the same shape and dtype", op=who, argument=name,
            got=f"{dtype.name}{shape} and {other_dtype.name}{other_shape}",
        )  # fmt: skip


def refuse_other_tree(who: str, argument: str, first: Any, second: Any) -> None:
    """Raises unless two results are arranged in the same way, with the same things in them."""
    if first == second:
        return
    wanted, got = _arrangement(first), _arrangement(second)
    if wanted == got:  # beside the tensors there is something else
        wanted, got = f"{wanted}, and beside it the same", "something else"
    raise ParameterError(
        f"must return what is arranged as {wanted}", op=who, argument=argument, got=got
    )


def _arrangement(treedef: Any) -> str:
    names = paths(treedef, "")
    return f"{type(treedef).__name__}{names}" if treedef is not PLACE else "a tensor"


def paths(treedef: Any, name: str) -> list[str]:
    """What each leaf is called: ``carry[0]['h']``."""
    if treedef is PLACE:
        return [name]
    if isinstance(treedef, dict):
        parts = [(f"{name}[{key!r}]", part) for key, part in treedef.items()]
    elif isinstance(treedef, (list, tuple)):
        parts = [(f"{name}[{i}]", part) for i, part in enumerate(treedef)]
    elif hasattr(type(treedef), "__dataclass_fields__"):
        fields = type(treedef).__dataclass_fields__
        parts = [(f"{name}.{field}", getattr(treedef, field, None)) for field in fields]
    else:
        parts = []
    return [path for inner, part in parts for path in paths(part, inner)]
