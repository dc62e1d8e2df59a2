"""Trees: nested lists, tuples, dicts and dataclasses of tensors, as functions take and give them.

A transform flattens a tree: into its leaves and a treedef, in which a mark stands for each leaf. It
unflattens it again with other leaves. Whatever is none of these containers is a leaf where the
transform asks for it, and else static: it stays in the treedef, and has no gradient. A layer counts
as its parameters: while a function runs, they hold what the transform made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _C

_DEEPEST = 200


class _Place:
    """Stands for a leaf in a treedef."""

    __slots__ = ()


class _LayerPlace:
    """Stands for a layer in a treedef."""

    __slots__ = ("layer", "parameters")

    def __init__(self, layer: Any, parameters: dict[str, Any]) -> None:
        self.layer = layer
        self.parameters = parameters


PLACE = _Place()
# Those of tuples of leaves, as the arguments of most functions are: the quick way goes by them.
_FLAT = tuple((PLACE,) * count for count in range(9))


def is_layer(x: Any) -> bool:
    """Whether it is a function with parameters, which are what it is differentiated by."""
    return hasattr(x, "named_parameters") and not isinstance(x, type)


def is_container(x: Any) -> bool:
    """Whether it is a node of a tree."""
    return isinstance(x, (dict, list, tuple)) or _is_dataclass(x)


def holds_elements(x: Any) -> bool:
    """Whether it is a tensor-like, an array, or a number with a fraction."""
    return (
        isinstance(x, (_C.TensorBase, float, complex))
        or hasattr(x, "__array__")
        or hasattr(x, "__dlpack__")
    ) and not isinstance(x, type)


def holds_numbers(x: Any) -> bool:
    """Whether it is a tensor-like, an array or a number."""
    return isinstance(x, (_C.TensorBase, int)) or holds_elements(x)


def can_move(x: Any) -> bool:
    """Whether it is differentiated by: its elements are real or complex floating-point numbers."""
    if not isinstance(x, _C.TensorBase):
        if isinstance(x, (float, complex)):
            return True
        if not holds_elements(x):
            return False
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "OSUMm":
            return False
        x = _C.tensor(x)
    return x.dtype.kind in ("floating", "complex")


def map_tree(function: Callable[..., Any], tree: Any) -> Any:
    """`function` at the leaves of a tree: at whatever is no container; None stays.

    Raises:
        ParameterError: a container holds itself.
    """
    return _mapped(function, tree, _every_field, _refilled)


def _mapped(
    function: Callable[..., Any],
    tree: Any,
    fields: Callable[[Any], list[str]],
    remade: Callable[[Any, dict[str, Any]], Any],
    depth: int = 0,
) -> Any:
    """`map_tree`; which fields of a dataclass take part, and how it is made again, differs."""
    if tree is None:
        return None
    if isinstance(tree, _C.TensorBase) or not is_container(tree) or is_layer(tree):
        return function(tree)
    if depth == _DEEPEST:
        raise _C.ParameterError(
            f"containers must not hold themselves, nor nest deeper than {_DEEPEST}",
            part="trees",
            got=f"a {type(tree).__name__} that does",
            fix="pass what it holds by itself",
        )
    depth += 1
    if isinstance(tree, dict):
        return {key: _mapped(function, x, fields, remade, depth) for key, x in tree.items()}
    if isinstance(tree, (list, tuple)):
        values = [_mapped(function, x, fields, remade, depth) for x in tree]
        is_named = hasattr(tree, "_fields")  # a namedtuple takes its values one by one
        return type(tree)(*values) if is_named else type(tree)(values)
    parts = {name: getattr(tree, name, None) for name in fields(tree)}
    return remade(tree, {n: _mapped(function, x, fields, remade, depth) for n, x in parts.items()})


def _replaced(tree: Any, values: dict[str, Any]) -> Any:
    """A dataclass made by its class, so that what its `__post_init__` computes follows the values.

    That is how arguments are made.
    """
    from dataclasses import replace  # who has one has it loaded

    return replace(tree, **values)


def _refilled(tree: Any, values: dict[str, Any]) -> Any:
    """A dataclass with other values, which its class might refuse: results, marks, gradients."""
    made = object.__new__(type(tree))
    for name in _every_field(tree):
        object.__setattr__(made, name, values.get(name))
    return made


def leaves_of(tree: Any) -> list[Any]:
    """The leaves, in the order in which `map_tree` meets them."""
    if isinstance(tree, _C.TensorBase):
        return [tree]
    if _is_flat(tree):
        return list(tree)
    found: list[Any] = []
    map_tree(found.append, tree)
    return found


def flatten(
    tree: Any, is_leaf: Callable[[Any], bool], *, is_result: bool = False
) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its treedef.

    Args:
        tree: any.
        is_leaf: whether what is no container is a leaf; else it is static.
        is_result: whether it is what a function returned, in which layers are static; in arguments
            their parameters are leaves: each once, where it is met first.

    Raises:
        ParameterError: a container holds itself.
    """
    if isinstance(tree, _C.TensorBase):
        return ([tree], PLACE) if is_leaf(tree) else ([], tree)
    if _is_flat(tree) and len(tree) < len(_FLAT) and all(map(is_leaf, tree)):
        return list(tree), _FLAT[len(tree)]
    leaves: list[Any] = []
    seen: set[int] = set()

    def mark(x: Any) -> Any:
        if not is_result and is_layer(x):
            own = {name: p for name, p in x.named_parameters() if id(p) not in seen and is_leaf(p)}
            seen.update(map(id, own.values()))
            leaves.extend(own.values())
            return _LayerPlace(x, own)
        if not is_leaf(x):
            return x
        leaves.append(x)
        return PLACE

    return leaves, _mapped(mark, tree, _every_field if is_result else _fields, _refilled)


def flatten_arguments(args: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """What a function is differentiated by; an argument by itself always, which may be refused."""
    if _is_flat(args) and len(args) < len(_FLAT):
        return list(args), _FLAT[len(args)]
    return flatten(args, lambda x: can_move(x) or any(x is arg for arg in args))


def unflatten(treedef: Any, leaves: Iterable[Any]) -> Any:
    """The result that has a treedef, with these leaves."""
    if treedef is PLACE:
        return next(iter(leaves))
    if _is_flat_treedef(treedef):
        return tuple(leaves)
    remaining = iter(leaves)
    return map_tree(lambda x: next(remaining) if x is PLACE else x, treedef)


def call(function: Callable[..., Any], treedef: Any, leaves: Iterable[Any]) -> Any:
    """`function` of the arguments that a treedef and leaves make; its layers hold those leaves."""
    if _is_flat_treedef(treedef):
        return function(*leaves)
    remaining = iter(leaves)
    of_layers: list[tuple[Any, Any]] = []

    def fill(x: Any) -> Any:
        if x is PLACE:
            return next(remaining)
        if isinstance(x, _LayerPlace):
            of_layers.extend((p, next(remaining)) for p in x.parameters.values())
            return x.layer
        return x

    args = _mapped(fill, treedef, _fields, _replaced)
    if not of_layers:
        return function(*args)
    with holding(of_layers):
        return function(*args)


# Tensors hold other values in a block, and afterwards, whatever happens, their own.
holding = _C.Holding


def put_in_places(treedef: Any, leaves: Iterable[Any]) -> Any:
    """What belongs to each leaf, in its place: a gradient, say.

    In place of a layer it is a dict by the names of its parameters, of what is static None.
    """
    if treedef is PLACE:
        return next(iter(leaves))
    if _is_flat_treedef(treedef):
        return tuple(leaves)
    remaining = iter(leaves)

    def fill(x: Any) -> Any:
        if x is PLACE:
            return next(remaining)
        if isinstance(x, _LayerPlace):
            return {name: next(remaining) for name in x.parameters}
        return None

    return map_tree(fill, treedef)


def counterparts(
    treedef: Any, other: Any, who: str, what: str, *, of_static: bool = False
) -> list[Any]:
    """What stands in each leaf's place in another tree; None in place of a part is for all of it.

    Args:
        treedef: of the one tree.
        other: as `put_in_places` arranges it.
        who: the call that got them, for errors.
        what: what the other tree is.
        of_static: whether there may be something in place of what is static; it is passed over.

    Raises:
        AutodiffError: the other tree is arranged otherwise.
    """
    if treedef is PLACE:
        return [other]
    if type(other) is tuple and _is_flat_treedef(treedef) and len(treedef) == len(other):
        return list(other)
    parts = _children(treedef)
    if parts is None:
        if treedef is not None and other is not None and not of_static:
            raise _C.AutodiffError(
                "must be None in place of what is not differentiated by",
                op=who,
                argument=what,
                got=f"a {type(other).__name__} for a {type(treedef).__name__}",
            )
        return []
    if other is None:
        inner: Sequence[Any] | None = [None] * len(parts)
    else:
        inner = _children_like(treedef, other)
    if inner is None or len(inner) != len(parts):
        raise _C.AutodiffError(
            f"must be arranged as what they belong to, {_described(treedef)}",
            op=who,
            argument=what,
            got=_described(other),
            fix="pass None for what has none",
        )
    pairs = zip(parts, inner, strict=True)
    return [y for p, o in pairs for y in counterparts(p, o, who, what, of_static=of_static)]


def spread(
    prefix: Any, treedef: Any, who: str, what: str, *, depth: int = 0, is_own: bool = True
) -> list[tuple[Any, bool]]:
    """A value for each leaf of a treedef: a part of `prefix` that ends early holds for all below.

    Returns:
        Pairs of the value, and whether it speaks of this leaf by itself, or of a whole argument.
        Layers take no part, with None, unless it speaks of them by themselves.

    Raises:
        ParameterError: `prefix` is arranged otherwise than the tree.
    """
    if treedef is None:
        return []
    if depth == 0 and _is_flat_treedef(treedef) and (prefix is None or isinstance(prefix, int)):
        return [(prefix, True)] * len(treedef)
    parts = _children(treedef)
    if prefix is None or not is_container(prefix):
        if treedef is PLACE:
            return [(prefix, is_own)]
        if isinstance(treedef, _LayerPlace):
            return [(prefix if is_own else None, is_own)] * len(treedef.parameters)
        return [
            pair
            for part in parts or ()
            for pair in spread(
                prefix, part, who, what, depth=depth + 1, is_own=depth == 0 and part is PLACE
            )
        ]
    inner = None if parts is None else _children_like(treedef, prefix)
    if parts is None or inner is None or len(inner) != len(parts):
        raise _C.ParameterError(
            "must be one value, or values arranged as what it speaks of",
            op=who,
            argument=what,
            got=f"{prefix!r} for {_described(treedef)}",
        )
    pairs = zip(inner, parts, strict=True)
    return [pair for p, part in pairs for pair in spread(p, part, who, what, depth=depth + 1)]


def count_of(treedef: Any) -> int:
    """How many leaves there are."""
    return 1 if treedef is PLACE else sum(map(count_of, _children(treedef) or ()))


def _children(treedef: Any) -> Sequence[Any] | None:
    if isinstance(treedef, _LayerPlace):
        return [PLACE] * len(treedef.parameters)
    if isinstance(treedef, dict):
        return list(treedef.values())
    if isinstance(treedef, (list, tuple)):
        return treedef
    if _is_dataclass(treedef):
        return [getattr(treedef, name, None) for name in _every_field(treedef)]
    return None


def _children_like(treedef: Any, other: Any) -> Sequence[Any] | None:
    """The parts of another tree in the order of the treedef's; None where they are not the same."""
    if isinstance(treedef, (dict, _LayerPlace)):
        names = treedef if isinstance(treedef, dict) else treedef.parameters
        if not isinstance(other, dict) or other.keys() != names.keys():
            return None
        return [other[name] for name in names]
    if isinstance(treedef, (list, tuple)):
        return other if isinstance(other, (list, tuple)) else None
    return _children(other) if type(other) is type(treedef) else None


def _described(treedef: Any) -> str:
    if treedef is PLACE:
        return "a tensor"
    if isinstance(treedef, _LayerPlace):
        return f"a dict of {list(treedef.parameters)} for a {type(treedef.layer).__name__}"
    parts = _children(treedef)
    return f"a {type(treedef).__name__}" + ("" if parts is None else f" of {len(parts)}")


def _is_flat(tree: Any) -> bool:
    """Whether it is a tuple of tensors, as the arguments of most functions are."""
    if type(tree) is not tuple:
        return False
    for x in tree:  # noqa: SIM110 - half the time of all()
        if not isinstance(x, _C.TensorBase):
            return False
    return True


def _is_flat_treedef(treedef: Any) -> bool:
    return type(treedef) is tuple and len(treedef) < len(_FLAT) and treedef is _FLAT[len(treedef)]


def _is_dataclass(tree: Any) -> bool:
    return hasattr(type(tree), "__dataclass_fields__")


def _every_field(tree: Any) -> list[str]:
    """The names of the fields."""
    from dataclasses import fields

    return [field.name for field in fields(tree)]


def _fields(tree: Any) -> list[str]:
    """The names of the fields that the class is made from."""
    from dataclasses import fields

    return [field.name for field in fields(tree) if field.init]
