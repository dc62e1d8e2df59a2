"""What happens in a block happens where the block does: ops on values from outside are its ops.

While a function is recorded in a block, rules that are enabled meanwhile make inputs of the block
of values that were there before. So what a branch prepares of them is computed, drawn and
differentiated where the branch is taken alone, and what a loop's body does once in each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..ops import OpBase
from .batched import Batched
from .blocks import Block, BlockTensor
from .dispatch import apply
from .dual import Dual
from .levels import level_of
from .ongoing import Ongoing
from .symbolic import SymbolicTensor


def applied_in_block(op: OpBase, args: Sequence[Any]) -> Any:
    """The op on values from outside of the block that is recorded, as an op of the block.

    Values of transforms that began inside of the block go the usual way, until what they are around
    comes here.
    """
    taken = taken_in(args)
    return NotImplemented if taken is None else op(*taken)


def taken_in(args: Sequence[Any]) -> list[Any] | None:
    """Values from outside as variables of the block; None: some are from inside."""
    block = recorded_blocks.innermost()
    if block is None:
        return None
    own = block.level.number
    for x in args:
        if isinstance(x, BlockTensor):
            if x.listing.level.number >= own:
                return None
        elif level_of(x) > own:
            return None
    return list(map(block.take, args))


@apply.register
def apply_symbolic_in_block(op: OpBase, *args: SymbolicTensor) -> Any:
    """Variables of the program around."""
    return applied_in_block(op, args)


@apply.register
def apply_traced_in_block(op: OpBase, *args: _C.Tracer) -> Any:
    """Values on tapes that began outside."""
    return applied_in_block(op, args)


@apply.register
def apply_dual_in_block(op: OpBase, *args: Dual) -> Any:
    """Tangents of transforms that began outside."""
    return applied_in_block(op, args)


@apply.register
def apply_batched_in_block(op: OpBase, *args: Batched) -> Any:
    """Examples of transforms that began outside."""
    return applied_in_block(op, args)


recorded_blocks: Ongoing[Block] = Ongoing(
    "tensorlike_block",
    [
        apply_symbolic_in_block,
        apply_traced_in_block,
        apply_dual_in_block,
        apply_batched_in_block,
    ],
)
