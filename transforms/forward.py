"""Forward mode: `jvp`, which runs a function on Duals, and `linearize`, by transposing twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import _C
from .. import functional as F
from ..imperative.autodiff import Recording, lowered, zeros_like
from ..imperative.carrier import Carrier
from ..imperative.crossing import enter, leave, own
from ..imperative.dual import Dual
from ..imperative.levels import Level, unwrapped
from ..imperative.naming import named_around
from ..imperative.tensor import Tensor
from ..imperative.trees import (
    call,
    counterparts,
    flatten,
    flatten_arguments,
    holds_numbers,
    map_tree,
    put_in_places,
    unflatten,
)

AnyCallable = Callable[..., Any]


@named_around
def jvp(function: AnyCallable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function, and how it moves when its arguments move along tangents.

    Args:
        function: returns a tensor, or a tree of them.
        primals: the positional arguments: tensors, numbers, layers, or trees of them.
        tangents: arranged as gradients are: as the primals, with a dict by the names of its
            parameters for a layer; None for what does not move.

    Returns:
        ``(value, tangent)``. The tangent of what is not of floating-point numbers is None.

    Raises:
        AutodiffError: there is not a tangent for each primal, or a primal that moves is not of
            floating-point numbers.
        ShapeError: a tangent has not the shape of its primal.

    Example:
        >>> import tensorlike as tl
        >>> value, tangent = tl.jvp(lambda x: x ** 3, (2.0,), (1.0,))
        >>> value.item(), tangent.item()
        (8.0, 12.0)
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise _C.AutodiffError("primals and tangents must be tuples of arguments", op="jvp")
    flat, treedef = flatten_arguments(tuple(primals))
    moved = _tangents_of("jvp", flat, treedef, tangents)
    with Level() as level:
        args = [
            x if tangent is None else enter(x, partial(_moving, tangent, level))
            for x, tangent in zip(flat, moved, strict=True)
        ]
        out = call(function, treedef, args)
        return (
            map_tree(lambda y: leave(y, level, lambda dual: dual.primal), out),
            map_tree(lambda y: _tangent(y, level), out),
        )


def _moving(tangent: Any, level: Level, primal: Any) -> Any:
    """The Dual of a value; the tangent is taken from under what goes around transforms."""
    while isinstance(tangent, Carrier) and tangent.is_above_transforms:
        tangent = tangent.value
    return Dual(primal, tangent, level)


def _tangents_of(who: str, flat: list[Any], treedef: Any, tangents: Sequence[Any]) -> list[Any]:
    """A tangent, or None, for each leaf, in the shape and dtype of its primal."""
    if len(treedef) != len(tangents):
        raise _C.AutodiffError(
            "one tangent per argument is needed", op=who, got=f"{len(tangents)} for {len(treedef)}"
        )
    parts = counterparts(treedef, tuple(tangents), who, "tangents")
    return [_fitted(who, x, t) for x, t in zip(flat, parts, strict=True)]


def _fitted(who: str, primal: Any, tangent: Any) -> Any:
    if tangent is None:
        return None
    x, t = unwrapped(primal), unwrapped(tangent)
    if x.dtype.kind not in ("floating", "complex"):
        raise _C.AutodiffError(
            "only floating-point arguments can move",
            op=who,
            got=x.dtype.name,
            fix="cast it: x.astype(float32), or pass None for its tangent",
        )
    if x.shape != t.shape:
        raise _C.ShapeError(
            f"a tangent must have the shape {x.shape} of its argument", op=who, got=f"{t.shape}"
        )
    return t if t.dtype is x.dtype else F.astype(t, dtype=x.dtype)


def _tangent(y: Any, level: Level) -> Any:
    found = own(y, level)
    if found is not None and found.tangent is not None:
        return Tensor(found.tangent)
    if not isinstance(y, _C.TensorBase) or y.dtype.kind not in ("floating", "complex"):
        return None
    return Tensor(zeros_like(y))


@named_around
def linearize(function: AnyCallable, *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its derivative there as a linear function of tangents.

    The function runs once; each call of the derivative costs what a gradient does.

    Args:
        function: returns a tensor, or a tree of them.
        primals: where it is taken.

    Returns:
        ``(value, push_forward)``; `push_forward` takes a tangent for each argument.

    Raises:
        AutodiffError: an op that is not differentiable stands between value and arguments.

    Example:
        >>> import tensorlike as tl
        >>> value, push = tl.linearize(lambda x: x * x, tl.tensor([1.0, 3.0]))
        >>> push(tl.tensor([1.0, 0.0])).tolist(), push(tl.tensor([0.0, 1.0])).tolist()
        ([2.0, 0.0], [0.0, 6.0])
    """
    recording = Recording("linearize", function, primals, tuple(range(len(primals))))
    with recording:
        flat, treedef = flatten(recording.run({}), holds_numbers, is_result=True)
        depend = recording.reached(flat)
    tensors = [lowered(y, recording.tape.level) for y in flat]
    # Gradients are linear in cotangents; what is pulled back through that map is the derivative.
    tape = _C.open_tape()
    try:
        seeds = [
            tape.leaf(_ones_like(y)) if flows else None
            for y, flows in zip(tensors, depend, strict=True)
        ]
        pulled = recording.pull(flat, depend, seeds, retain=False)
    finally:
        tape.close()

    def push_forward(*tangents: Any) -> Any:
        moved = _tangents_of("linearize", recording.traced, recording.treedef, tangents)
        pairs = [
            (root, t)
            for root, t in zip(pulled, moved, strict=True)
            if root is not None and t is not None
        ]
        leaves = tuple(seed for seed in seeds if seed is not None)
        roots = tuple(root for root, _ in pairs)
        found = iter(
            _C.backward(roots, tuple(t for _, t in pairs), True, False, leaves, None)
            if pairs
            else [None] * len(leaves)
        )
        flat_out = []
        for y, seed in zip(tensors, seeds, strict=True):
            tangent = next(found) if seed is not None else None
            is_number = isinstance(y, _C.TensorBase) and y.dtype.kind in ("floating", "complex")
            zero = zeros_like(y) if is_number else None
            made = tangent if tangent is not None else zero
            flat_out.append(None if made is None else Tensor(made))
        return put_in_places(treedef, flat_out)

    return unflatten(treedef, tensors), push_forward


def _ones_like(y: Any) -> Any:
    return F.full(y.shape, 1, dtype=y.dtype).__wrapped__
