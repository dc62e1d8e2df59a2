"""Functional transforms: functions of functions, freely nested.

Each swaps a tensor-like in: `jvp` runs a function on Duals, `vmap` on Batched values, `vjp` on
Tracers. The others are compositions of these three.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import _C
from .autodiff import Recording, lowered, zeros_like
from .batch import Batch
from .batched import Batched, examples
from .carrier import Carrier, beneath, carried, carrying
from .dual import Dual
from .levels import Level, under_leaves, unwrapped
from .naming import named_around
from .sizes import as_size
from .tensor import Tensor
from .trees import (
    call,
    counterparts,
    holds_elements,
    holds_numbers,
    map_tree,
    put_in_places,
    put_together,
    spread,
    take_apart,
    take_arguments_apart,
)

Function = Callable[..., Any]


@named_around
def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
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
    flat, form = take_arguments_apart(tuple(primals))
    moved = _tangents_of("jvp", flat, form, tangents)
    with Level() as level:
        args = [
            x if tangent is None else Tensor(beneath(x, partial(_moving, tangent, level)))
            for x, tangent in zip(flat, moved, strict=True)
        ]
        out = call(function, form, args)
        return (
            map_tree(lambda y: _primal(y, level), out),
            map_tree(lambda y: _tangent(y, level), out),
        )


def _moving(tangent: Any, level: Level, primal: Any) -> Any:
    """The Dual of a value; the tangent is taken from under what goes around transforms."""
    while isinstance(tangent, Carrier) and tangent.is_above_transforms:
        tangent = tangent.value
    return Dual(primal, tangent, level)


def _tangents_of(who: str, flat: list[Any], form: Any, tangents: Sequence[Any]) -> list[Any]:
    """A tangent, or None, for each leaf, in the shape and dtype of its primal."""
    if len(form) != len(tangents):
        raise _C.AutodiffError(
            "one tangent per argument is needed", op=who, got=f"{len(tangents)} for {len(form)}"
        )
    parts = counterparts(form, tuple(tangents), who, "tangents")
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
    return t if t.dtype is x.dtype else _astype(t, dtype=x.dtype)


def _own(y: Any, level: Level) -> Any:
    """The Dual of this level under wrappers and carriers, or None."""
    y = under_leaves(carried(y), level.number)
    return y if isinstance(y, Dual) and y.level is level else None


def _primal(y: Any, level: Level) -> Any:
    own = _own(y, level)
    return y if own is None else carrying(y, own.primal)


def _tangent(y: Any, level: Level) -> Any:
    own = _own(y, level)
    if own is not None and own.tangent is not None:
        return Tensor(own.tangent)
    if not isinstance(y, _C.TensorBase) or y.dtype.kind not in ("floating", "complex"):
        return None
    return Tensor(zeros_like(y))


@named_around
def linearize(function: Function, *primals: Any) -> tuple[Any, Callable[..., Any]]:
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
        flat, form = take_apart(recording.run({}), holds_numbers, is_result=True)
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
        moved = _tangents_of("linearize", recording.traced, recording.form, tangents)
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
        return put_in_places(form, flat_out)

    return put_together(form, tensors), push_forward


@named_around
def vmap(
    function: Function, in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None
) -> Function:
    """A function of one example as a function of many, run on all of them at once.

    The function sees the shapes of one example, and may decide by them, but not by the elements.
    Inside, each example draws random numbers of its own.

    Args:
        function: takes examples, and returns a tensor or a tree of them.
        in_axes: which axis of each argument counts the examples: one integer, or one for each
            argument; for a tree, one for all its tensors or a tree of them, with a dict by names
            for a layer's parameters. None: the same for all examples, as layers, numbers and other
            things in trees are, unless an axis is given for them by themselves.
        out_axes: where that axis is in the results, in the same way.
        axis_size: the number of examples; needed only where no argument has the axis.

    Raises:
        ShapeError: arguments differ in the number of examples, or have no such axis.
        ParameterError: the axes are not arranged as the arguments are, or the number of examples
            is not known.

    Example:
        >>> import tensorlike as tl
        >>> dot = lambda x, y: tl.sum(x * y)
        >>> x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tl.vmap(dot, in_axes=(0, None))(x, tl.tensor([1.0, 10.0])).tolist()
        [21.0, 43.0]
    """

    @functools.wraps(function)
    def mapped(*args: Any) -> Any:
        return run_mapped(function, args, in_axes, out_axes, axis_size, draws=True)

    return mapped


def run_mapped(
    function: Function,
    args: tuple[Any, ...],
    in_axes: Any,
    out_axes: Any,
    axis_size: int | None,
    draws: bool,
) -> Any:
    """What `vmap` does; `draws` says whether examples draw random numbers of their own."""
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    flat, form = take_apart(args, lambda _: True)
    axes = [
        axis if is_own or _has_axes(x) else None
        for x, (axis, is_own) in zip(flat, spread(in_axes, form, "vmap", "in_axes"), strict=True)
    ]
    values = [_axis_first(x, axis) for x, axis in zip(flat, axes, strict=True)]
    size = _size_of(values, axes, axis_size)
    with Batch(size, draws=draws) as batch:
        given = [
            x if axis is None else Tensor(beneath(value, lambda v: Batched(v, batch)))
            for x, value, axis in zip(flat, values, axes, strict=True)
        ]
        results, out = take_apart(call(function, form, given), holds_numbers, is_result=True)
        where = [axis for axis, _ in spread(out_axes, out, "vmap", "out_axes")]
        made = [_axis_at(y, axis, batch) for y, axis in zip(results, where, strict=True)]
    return put_together(out, made)


def _has_axes(x: Any) -> bool:
    """Whether there may be an axis of examples, where none is given for it by itself."""
    return holds_elements(x) and not isinstance(x, (float, complex))


def _axis_first(x: Any, axis: Any) -> Any:
    if axis is None:
        return None
    if not isinstance(axis, int):
        raise _C.ParameterError(
            "must be integers or None", op="vmap", argument="in_axes", got=repr(axis)
        )
    value = unwrapped(x)
    ndim = len(value.shape)
    if not -ndim <= axis < ndim:
        raise _C.ShapeError(
            f"an argument must have the axis {axis} of examples",
            op="vmap",
            got=f"shape {value.shape}",
            fix="pass None in in_axes for what is the same for all",
        )
    return _moved(value, axis % ndim, 0)


def _size_of(values: list[Any], axes: list[Any], axis_size: int | None) -> int:
    pairs = zip(values, axes, strict=True)
    sizes = {value.shape[0] for value, axis in pairs if axis is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return as_size(sizes.pop())
    if not sizes:
        raise _C.ParameterError(
            "the number of examples must be known; no argument has an axis of them; pass axis_size",
            op="vmap",
        )
    raise _C.ShapeError(
        "all arguments must have the same number of examples", op="vmap", got=f"{sorted(sizes)}"
    )


def _axis_at(y: Any, axis: Any, batch: Batch) -> Any:
    """A result with the axis of examples where it is asked for."""
    value = Tensor(unwrapped(y)) if not isinstance(y, _C.TensorBase) else y
    if axis is None:
        inner = under_leaves(carried(value), batch.number)
        if isinstance(inner, Batched) and inner.batch is batch:
            raise _C.ParameterError(
                "out_axes may be None only for what is the same for all examples",
                op="vmap",
                got="a result that differs between them",
            )
        return value
    ndim = len(value.shape) + 1
    if not isinstance(axis, int) or not -ndim <= axis < ndim:
        raise _C.ParameterError(
            f"must be integers within the {ndim} axes of the result, or None",
            op="vmap",
            argument="out_axes",
            got=repr(axis),
        )
    return _moved(examples(value, batch), 0, axis % ndim)


def _moved(x: Any, source: int, target: int) -> Any:
    if source == target:
        return x
    order = list(range(len(x.shape)))
    order.insert(target, order.pop(source))
    return _permute_dims(x, tuple(order))


_astype = _C.Function("astype")
_full = _C.Function("full")
_permute_dims = _C.Function("permute_dims")
_reshape = _C.Function("reshape")
_split = _C.Function("split")


def _ones_like(y: Any) -> Any:
    return _full(y.shape, 1, dtype=y.dtype).__wrapped__
