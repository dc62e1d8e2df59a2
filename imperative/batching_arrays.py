"""Batching rules of convolutions and searches: where an axis of examples has no place of its own,
they are laid side by side on an axis that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .batched_call import (
    BatchedCall,
    broadcast_to,
    fold,
    reshape,
    unfold,
)

_gather = _C.Function("gather")
_isnan = _C.Function("isnan")
_less = _C.Function("less")
_less_equal = _C.Function("less_equal")
_logical_and = _C.Function("logical_and")
_logical_not = _C.Function("logical_not")
_logical_or = _C.Function("logical_or")
_sum = _C.Function("sum")

Outputs = Sequence[Any]


def convolution(call: BatchedCall) -> Outputs:
    """Examples are images more, and where they have kernels of their own, groups of channels."""
    if min(call.ndims[:2]) < 2 or call.ndims[2:] == [0]:
        call.inferred()
    if not any(call.is_mapped[1:]):
        (y,) = call.op(fold(call.values[0], 0), *call.values[1:])
        return [unfold(y, 0, call.size)]
    x, *rest = (call.mapped(i) for i in range(len(call.values)))
    op = call.with_attrs(groups=call.op.groups * call.size)
    (y,) = op(fold(x, 1), *(fold(value, 0) for value in rest))
    return [unfold(y, 1, call.size)]


def convolution_weight(call: BatchedCall) -> Outputs:
    """The kernels of groups of channels, one group or more for each example."""
    if min(call.ndims) < 2:
        call.inferred()
    op = call.with_attrs(groups=call.op.groups * call.size)
    (y,) = op(fold(call.mapped(0), 1), fold(call.mapped(1), 1))
    return [unfold(y, 0, call.size)]


def search_sorted(call: BatchedCall) -> Outputs:
    """As it is, in one table; in tables of their own by counting what comes before."""
    call.inferred()
    if not call.is_mapped[0] and not any(call.is_mapped[2:]):
        return call.op(*call.values)
    table, wanted = call.mapped(0), call.mapped(1)
    if len(call.values) > 2:
        number = reshape(_arange(0, call.size).__wrapped__, (call.size, 1))
        table = _gather(table, number, call.mapped(2), axes=(0, 1))
    table = reshape(table, (call.size, *[1] * call.ndims[1], table.shape[1]))
    wanted = reshape(wanted, (*wanted.shape, 1))
    is_left = call.op.side == "left"
    is_before = _less(table, wanted) if is_left else _less_equal(table, wanted)
    # NaN is the largest value.
    is_last = _isnan(wanted)
    if is_left:
        is_last = _logical_and(is_last, _logical_not(_isnan(table)))
    is_last = broadcast_to(is_last, is_before.shape)
    return [_sum(_logical_or(is_before, is_last), axis=-1)]


_arange = _C.Function("arange")
