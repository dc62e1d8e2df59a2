"""vmap: a function of one example as a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from .. import functional as F
from ..imperative.batch import Batch
from ..imperative.batched import Batched
from ..imperative.crossing import enter, own
from ..imperative.levels import unwrapped
from ..imperative.naming import named_around
from ..imperative.sizes import as_size
from ..imperative.tensor import Tensor
from ..imperative.trees import (
    call,
    flatten,
    holds_elements,
    holds_numbers,
    spread,
    unflatten,
)
from .batching import examples

AnyCallable = Callable[..., Any]


@named_around
def vmap(
    function: AnyCallable, in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None
) -> AnyCallable:
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
    function: AnyCallable,
    args: tuple[Any, ...],
    in_axes: Any,
    out_axes: Any,
    axis_size: int | None,
    draws: bool,
) -> Any:
    """What `vmap` does; `draws` says whether examples draw random numbers of their own."""
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    flat, treedef = flatten(args, lambda _: True)
    axes = [
        axis if is_own or _has_axes(x) else None
        for x, (axis, is_own) in zip(flat, spread(in_axes, treedef, "vmap", "in_axes"), strict=True)
    ]
    values = [_axis_first(x, axis) for x, axis in zip(flat, axes, strict=True)]
    size = _size_of(values, axes, axis_size)
    with Batch(size, draws=draws) as batch:
        given = [
            x if axis is None else enter(value, lambda v: Batched(v, batch))
            for x, value, axis in zip(flat, values, axes, strict=True)
        ]
        results, out = flatten(call(function, treedef, given), holds_numbers, is_result=True)
        where = [axis for axis, _ in spread(out_axes, out, "vmap", "out_axes")]
        made = [_axis_at(y, axis, batch) for y, axis in zip(results, where, strict=True)]
    return unflatten(out, made)


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
        if own(value, batch) is not None:
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
    return F.permute_dims(x, tuple(order))
