"""Trees: nested lists, tuples, dicts and dataclasses of tensors, as functions take and give them.

A tree is taken apart into its leaves and put together again in the same arrangement. Whatever is
none of these containers is a leaf; None holds nothing, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _C


def map_tree(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`function` at the leaves of a tree, and at what stands in the same places of the others."""
    if tree is None:
        return None
    if isinstance(tree, _C.TensorBase):
        return function(tree, *others)
    if isinstance(tree, dict):
        return {
            key: map_tree(function, value, *(other[key] for other in others))
            for key, value in tree.items()
        }
    if isinstance(tree, (list, tuple)):
        rows = zip(tree, *others, strict=True)
        values = [map_tree(function, *row) for row in rows]
        is_named = hasattr(tree, "_fields")  # a namedtuple takes its values one by one
        return type(tree)(*values) if is_named else type(tree)(values)
    if _is_dataclass(tree):
        from dataclasses import replace  # who has one has it loaded

        found = {
            name: map_tree(function, getattr(tree, name), *(getattr(o, name) for o in others))
            for name in _fields(tree)
        }
        return replace(tree, **found)
    return function(tree, *others)


def _is_flat(tree: Any) -> bool:
    """Whether it is a tuple of tensors, as the arguments of most functions are."""
    if type(tree) is not tuple:
        return False
    for x in tree:  # noqa: SIM110 - half the time of all()
        if not isinstance(x, _C.TensorBase):
            return False
    return True


def leaves_of(tree: Any) -> list[Any]:
    """The leaves, in the order in which `map_tree` meets them."""
    if isinstance(tree, _C.TensorBase):
        return [tree]
    if _is_flat(tree):
        return list(tree)
    found: list[Any] = []
    map_tree(found.append, tree)
    return found


def rebuilt(tree: Any, leaves: Iterable[Any]) -> Any:
    """A tree of the same arrangement with other leaves."""
    if _is_flat(tree):
        return tuple(leaves)
    remaining = iter(leaves)
    return map_tree(lambda _: next(remaining), tree)


def spread(prefix: Any, tree: Any, what: str) -> list[Any]:
    """A value for each leaf of a tree: a part of `prefix` that ends early holds for all below.

    Raises:
        ParameterError: `prefix` is arranged otherwise than the tree.
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(leaves_of(tree))
    is_container = isinstance(prefix, (dict, list, tuple)) or _is_dataclass(prefix)
    if not is_container:
        return [prefix] * len(leaves_of(tree))
    if isinstance(prefix, dict) and isinstance(tree, dict) and prefix.keys() == tree.keys():
        prefix = {key: prefix[key] for key in tree}
    parts, inner = _children(prefix), _children(tree)
    if parts is None or inner is None or len(parts) != len(inner):
        raise _C.ParameterError(
            f"{what} must be one value, or values arranged as what it speaks of; got {prefix!r} "
            f"for a {type(tree).__name__}" + (f" of {len(inner)}" if inner is not None else "")
        )
    return [value for p, t in zip(parts, inner, strict=True) for value in spread(p, t, what)]


def _children(tree: Any) -> Sequence[Any] | None:
    if isinstance(tree, dict):
        return list(tree.values())
    if isinstance(tree, (list, tuple)):
        return tree
    if _is_dataclass(tree):
        return [getattr(tree, name) for name in _fields(tree)]
    return None


def _is_dataclass(tree: Any) -> bool:
    return hasattr(type(tree), "__dataclass_fields__")


def _fields(tree: Any) -> list[str]:
    """The names of the fields that the class is made from."""
    from dataclasses import fields

    return [field.name for field in fields(tree) if field.init]
