"""What the words under `batch` in a declaration mean: how an op goes over an axis of examples.

A rule is given a `BatchedCall` and returns the outputs of all examples, with their axis in front;
or None, where the op's body says it. Rules are written in ops, so that what is batched can be
differentiated, batched and recorded in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .. import _C
from .. import functional as F
from ..ops import OpBase
from .batched_call import (
    BatchedCall,
    UnequalExamplesError,
    fold,
    moved_axis,
    transposed,
    unfold,
)
from .batching_arrays import convolution, convolution_weight, search_sorted
from .batching_recurrences import recurrence, recurrence_grad

Outputs = Any  # a sequence of values


def elementwise(call: BatchedCall) -> Outputs:
    """Examples are lined up by their last dimensions."""
    ndims = call.ndims
    ndim = max(ndims)
    if min(ndims) == ndim:
        return call.op(*call.values)
    return call.op(*[call.padded(i, ndim) for i in range(len(call.values))])


def reduction(call: BatchedCall) -> Outputs:
    """Over the same axes; over all of an example as over one long axis."""
    (x,) = call.values
    ndim = call.ndims[0]
    axis = call.op.axis
    if axis is not None and ndim > 0:
        return call.moved()(x)
    if axis is not None:
        call.inferred()  # which axes a number without dimensions has
    rest = math.prod(x.shape[1:])
    long = F.reshape(x, (call.size, rest))
    (y,) = call.with_attrs(axis=1, keepdims=False)(long)
    is_kept = call.op.keepdims
    return [F.reshape(y, (call.size, *[1] * ndim)) if is_kept else y]


def each(call: BatchedCall) -> Outputs:
    """Every argument with the axis of examples in front."""
    return call.moved()(*(call.mapped(i) for i in range(len(call.values))))


def loop(call: BatchedCall) -> Outputs:
    """Example by example, for kernels that know of no axis in front."""
    if call.size == 0:
        return [F.full((0, *y.shape), 0, dtype=y.dtype).__wrapped__ for y in call.inferred()]
    pairs = list(zip(call.values, call.is_mapped, strict=True))
    examples = [_examples(x, call.size) if m else (x,) * call.size for x, m in pairs]
    found = [call.op(*values) for values in zip(*examples, strict=True)]
    if any(y.shape != one.shape for ys in found for y, one in zip(ys, found[0], strict=True)):
        raise UnequalExamplesError(
            "all examples must give results of one shape",
            op=type(call.op).__name__,
            got="different ones",
            fix="use a loop",
        )
    return [F.stack(list(ys)) for ys in zip(*found, strict=True)]


def _examples(value: Any, size: int) -> list[Any]:
    parts = F.split(value, (1,) * size, axis=0) if size > 1 else (value,)
    return [F.reshape(part, value.shape[1:]) for part in parts]


def aligned(call: BatchedCall) -> Outputs:
    """The same for arguments that broadcast: those of fewer dimensions get some of size 1."""
    ndim = max(call.ndims)
    values = []
    for i, own in enumerate(call.ndims):
        value = call.mapped(i)
        shape = value.shape
        padding = [1] * (ndim - own)
        values.append(F.reshape(value, (shape[0], *padding, *shape[1:])) if padding else value)
    found = call.moved(ndim)(*values)
    if min(call.ndims) == ndim:
        return found
    return [
        y if len(y.shape) == 1 + len(one.shape) else F.reshape(y, (call.size, *one.shape))
        for y, one in zip(found, call.inferred(), strict=True)
    ]


def broadcast(call: BatchedCall) -> Outputs:
    """To the shape, with the examples in front."""
    shape = call.op.shape
    if len(shape) < call.ndims[0]:
        call.inferred()
    return [F.broadcast_to(call.padded(0, len(shape)), (call.size, *shape))]


def folded(call: BatchedCall) -> Outputs:
    """The examples side by side on the axis that counts images anyway."""
    if not all(call.ndims):
        call.inferred()
    values = [fold(call.mapped(i), 0) for i in range(len(call.values))]
    changed = {
        name: (call.size * shape[0], *shape[1:])
        for name, follows, _ in call.declared.moving
        if follows == "shape" and (shape := getattr(call.op, name))
    }
    op = call.with_attrs(**changed) if changed else call.op
    return [unfold(y, 0, call.size) for y in op(*values)]


def sequences(call: BatchedCall) -> Outputs:
    """The examples side by side on the axis of sequences: behind the steps, where there are any."""
    if not all(call.ndims):
        call.inferred()
    axes = [1 if ndim == 3 else 0 for ndim in call.ndims]
    values = [fold(call.mapped(i), axis) for i, axis in enumerate(axes)]
    return [unfold(y, 1 if len(y.shape) == 3 else 0, call.size) for y in call.op(*values)]


def none(call: BatchedCall) -> Outputs:
    """Examples may give results of different shapes."""
    raise UnequalExamplesError(
        "under vmap the shape of the result must not depend on the elements of each example; "
        "it does; use where, or map over what comes before",
        op=name_of(call.op),
    )


def name_of(op: OpBase) -> str:
    """What errors call an op."""
    return type(op).__name__


def set_subtensor(call: BatchedCall) -> Outputs:
    """The value is lined up with what it is assigned to."""
    kinds = call.op.items[::4]
    target = call.ndims[0] + kinds.count(_NEW_AXIS) - kinds.count(_INTEGER)
    if call.ndims[1] > target:
        call.inferred()
    return call.moved()(call.mapped(0), call.padded(1, target))


_INTEGER, _NEW_AXIS = 0, 2


def matmul(call: BatchedCall) -> Outputs:
    """One product for all examples where one operand is the same for all."""
    a_ndim, b_ndim = call.ndims
    if not a_ndim or not b_ndim:
        call.inferred()
    a, b = call.values
    if not call.is_mapped[1] and b_ndim <= 2:
        return [F.matmul(a, b)]
    if not call.is_mapped[0] and a_ndim <= 2 and b_ndim >= 2:
        return [F.matmul(a, b)]
    if not call.is_mapped[0] and a_ndim <= 2:
        return [F.matmul(b, a if a_ndim == 1 else transposed(a))]
    rows, columns = (a_ndim == 1), (b_ndim == 1)
    if rows:
        a = F.reshape(a, (*a.shape[:-1], 1, a.shape[-1]))
    if columns:
        b = F.reshape(b, (*b.shape, 1))
    wide = BatchedCall(call.op, (a, b), call.is_mapped, call.size)
    ndim = max(wide.ndims)
    y = F.matmul(wide.padded(0, ndim), wide.padded(1, ndim))
    shape = list(y.shape)
    if columns:
        del shape[-1]
    if rows:
        del shape[-1 if columns else -2]
    return [F.reshape(y, tuple(shape)) if rows or columns else y]


def linear(call: BatchedCall) -> Outputs | None:
    """As it is, where only x differs between examples."""
    is_shared = not any(call.is_mapped[1:]) and call.ndims[1] <= 2 and call.ndims[0] > 0
    fits = call.ndims[2] <= call.ndims[0] + call.ndims[1] - 2
    return call.op(*call.values) if is_shared and fits else None


def gather(call: BatchedCall) -> Outputs:
    """Indices come first in the result, and with them the examples where they have some."""
    x, *indices = call.values
    ndim = max(call.ndims[1:], default=0)
    if not any(call.is_mapped[1:]):
        (y,) = call.moved()(x, *indices)
        return [moved_axis(y, ndim, 0)]
    indices = [call.padded(1 + i, ndim) for i in range(len(indices))]
    if not call.is_mapped[0] and not call.op.last_only:
        return call.op(x, *indices)
    op = call.with_attrs(axes=(0, *call.moved().axes))
    return op(call.mapped(0), number_of_example(call, ndim), *indices)


def scatter(call: BatchedCall) -> Outputs:
    """The number of the example is one index more."""
    ndim = max(call.ndims[2:], default=0)
    axes = call.moved().axes
    indices = [call.padded(2 + i, ndim) for i in range(len(axes))]
    target = ndim + call.ndims[0] - len(axes)
    if call.ndims[1] > target:
        call.inferred()
    op = call.with_attrs(axes=(0, *axes))
    number = number_of_example(call, ndim)
    return op(call.mapped(0), call.padded(1, target), number, *indices)


def number_of_example(call: BatchedCall, ndim: int) -> Any:
    """0, 1, ... for the examples, beside indices of `ndim` dimensions."""
    return F.reshape(F.arange(0, call.size).__wrapped__, (call.size, *[1] * ndim))


def masked(call: BatchedCall) -> Outputs:
    """One mask for all examples: they lie behind its dimensions. Else the count must be known."""
    x, mask, *values = call.values
    if not call.is_mapped[1]:
        ndim = call.ndims[1]
        if ndim > call.ndims[0]:
            call.inferred()
        x = moved_axis(call.mapped(0), 0, ndim)
        if not values:
            return [moved_axis(y, 1, 0) for y in call.op(x, mask)]
        value = call.padded(2, 1 + call.ndims[0] - ndim)
        value = value if call.is_mapped[2] else call.repeated(value)
        return [moved_axis(y, ndim, 0) for y in call.op(x, mask, moved_axis(value, 0, 1))]
    if not values:
        return none(call)
    return [_scatter_masked(call)]


def _scatter_masked(call: BatchedCall) -> Any:
    """Each place takes the value whose number is the count of places before it."""
    x, mask, value = (call.mapped(i) for i in range(3))
    call.inferred()
    places = math.prod(mask.shape[1:])
    width = math.prod(x.shape[len(mask.shape) :])
    count = value.shape[1] if call.ndims[2] > 0 else 1
    if count == 0 or places == 0:
        return x
    flags = F.reshape(mask, (call.size, places, 1))
    one = _full_like(mask, 1)
    number = F.subtract(F.cumulative_sum(F.astype(flags, dtype=_C.int64), axis=1), one)
    number = F.minimum(F.maximum(number, _full_like(mask, 0)), _full_like(mask, count - 1))
    rows = F.broadcast_to(F.reshape(value, (call.size, count, -1)), (call.size, count, width))
    chosen = F.take_along_axis(rows, F.broadcast_to(number, (call.size, places, width)), axis=1)
    kept = F.reshape(x, (call.size, places, width))
    return F.reshape(F.where(flags, F.astype(chosen, dtype=x.dtype), kept), x.shape)


def _full_like(_: Any, number: int) -> Any:
    return F.full((), number, dtype=_C.int64).__wrapped__


def solve(call: BatchedCall) -> Outputs:
    """A right side of one dimension becomes a matrix of one column, where examples have theirs."""
    is_vector = call.ndims[1] == 1
    if min(call.ndims) == 0 or call.ndims[0] < 2:
        call.inferred()
    if is_vector and not call.is_mapped[1]:
        return call.op(*call.values)
    values = [call.mapped(0), call.mapped(1)]
    if is_vector:
        is_left = getattr(call.op, "left", True)
        shape = values[1].shape
        values[1] = F.reshape(values[1], (*shape, 1) if is_left else (shape[0], 1, shape[1]))
    wide = BatchedCall(call.op, tuple(values), (True, True), call.size)
    ndim = max(wide.ndims)
    outputs = call.op(wide.padded(0, ndim), wide.padded(1, ndim))
    if not is_vector and min(wide.ndims) == ndim:
        return outputs
    return [
        F.reshape(y, (call.size, *one.shape))
        for y, one in zip(outputs, call.inferred(), strict=True)
    ]


RULES: Mapping[str, Callable[[BatchedCall], Outputs | None]] = {
    rule.__name__: rule
    for rule in (
        each, loop, aligned, broadcast, folded, sequences, none, set_subtensor, matmul, linear,
        gather, scatter, masked, solve, convolution, convolution_weight, search_sorted, recurrence,
        recurrence_grad,
    )
}  # fmt: skip
