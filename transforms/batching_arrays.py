"""Batching rules of convolutions and searches: where an axis of examples has no place of its own,
they are laid side by side on an axis that there is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functional as F
from .batched_call import (
    BatchedCall,
    fold,
    unfold,
)

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
    """As it is, in one table; rows of queries in rows of tables where these are many."""
    call.inferred()
    is_one = call.ndims[0] == 1 and not call.is_mapped[0] and not any(call.is_mapped[2:])
    if is_one:
        return call.op(*call.values)
    wanted = call.mapped(1)
    if call.ndims[0] > 1:
        return call.op(call.mapped(0), wanted, *(call.mapped(i) for i in range(2, len(call.ndims))))
    flat = F.reshape(wanted, (call.size, math.prod(wanted.shape[1:])))
    (y,) = call.op(call.mapped(0), flat, *(call.mapped(i) for i in range(2, len(call.ndims))))
    return [F.reshape(y, wanted.shape)]
