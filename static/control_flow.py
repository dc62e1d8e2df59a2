"""What IfElse, While and StaticRNN share: blocks of `with`, in the manner of Fluid 1.x.

Each block is a program inside of the one that is built. What it reads from outside becomes an input
of it; when it is complete, one op of the program around holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _C
from ..imperative import SymbolicTensor, Tensor, apply, blocks
from ..imperative.batched import Batched
from ..imperative.dual import Dual
from ..imperative.levels import layers, level_of, unwrapped
from ..imperative.ongoing import SharedRules
from ..ops import OpBase
from .guard import building
from .numbers import is_unnamed
from .program import Program, Variable


class _BlockVariable(blocks.BlockTensor, Variable):
    """A variable of a block inside of a program."""

    listing: SubProgram


class SubProgram(blocks.Block, Program):
    """The program of a block."""

    def __init__(self, outermost: Program) -> None:
        """Empty."""
        super().__init__()
        self._outermost = outermost

    @property
    def outermost(self) -> Program:
        """The program that is built."""
        return self._outermost

    @property
    def block(self) -> Any:
        """Its face among the blocks of the outermost program."""
        return next(block for block in self._outermost.blocks if block.listing is self)

    @block.setter
    def block(self, block: Any) -> None:
        """Programs have one of their own, which is of no use here."""

    def symbol(self, number: int) -> Any:
        """The variable of this number."""
        return _BlockVariable(self, number)

    def take(self, value: Any) -> SymbolicTensor:
        """A value of any kind as a variable of the block; none from before a While changed it."""
        is_known = blocks.key_of(value) in self._taken
        if not is_known and isinstance(value, Variable) and value.listing is not self:
            value.listing.check_current(value.number)
        return super().take(value)

    def like(self, x: Any, name: str, shape: Sequence[Any] | None = None) -> SymbolicTensor:
        """An input, under a name that is free."""
        if is_unnamed(name) or self.number_of(name) is not None:
            name = self.unique_name("outer")
        return super().like(x, name, shape)


def _applied_in_sub_program(op: OpBase, args: Sequence[Any]) -> Any:
    """The op on values from outside of the block that is being built, as an op of the block.

    Those of transforms that began inside of it go the usual way, and so does what is made of
    variables that the block has added to the program around.
    """
    innermost = [bottom for x in args for *_, bottom in [layers(x)]]
    bottoms: list[Any] = [x for x in innermost if isinstance(x, SymbolicTensor)]
    if not bottoms or not all(isinstance(x, Variable) for x in bottoms):
        return NotImplemented
    blocks_of_program = bottoms[0].listing.outermost.sub_blocks
    block = blocks_of_program.current
    if not isinstance(block, SubProgram) or any(x.listing is block for x in bottoms):
        return NotImplemented
    is_inside = any(level_of(x) > block.level.number for x in args)
    if is_inside or not blocks_of_program.has_older(bottoms):
        return NotImplemented
    return op(*map(block.take, args))


@apply.register
def apply_traced_in_sub_program(op: OpBase, *args: _C.Tracer) -> Any:
    """Parameters, and what follows from them."""
    return _applied_in_sub_program(op, args)


@apply.register
def apply_dual_in_sub_program(op: OpBase, *args: Dual) -> Any:
    """Tangents of transforms that began outside."""
    return _applied_in_sub_program(op, args)


@apply.register
def apply_batched_in_sub_program(op: OpBase, *args: Batched) -> Any:
    """Examples of transforms that began outside."""
    return _applied_in_sub_program(op, args)


_building_blocks = SharedRules(
    [apply_traced_in_sub_program, apply_dual_in_sub_program, apply_batched_in_sub_program]
)


class Recorder:
    """What the three have in common: blocks of one program, one after the other."""

    what = ""

    def __init__(self) -> None:
        self._outermost = building().main
        self._block: SubProgram | None = None  # that is being built

    @contextmanager
    def _building(self, *, draws: bool) -> Iterator[SubProgram]:
        if self._block is not None:
            self._refuse("its blocks must not be nested in each other", "one inside of another")
        outermost = self._outermost
        before = len(outermost.steps())
        self._block = block = SubProgram(outermost)
        outermost.sub_blocks.begin(block)
        _building_blocks.begin()
        try:
            with block:
                yield block
        finally:
            _building_blocks.end()
            self._block = None
            outermost.sub_blocks.end(block)
        _C.copy_draws(outermost, block)  # which notes them while it is built
        if draws:
            return
        for step in outermost.applied()[before:]:
            if _C.is_random(step.op):
                self._refuse(
                    "what is made of nothing is made once, before the steps, and not at random",
                    f"{step.op}", "draw like a variable of the block, or use scan or while_loop",
                )  # fmt: skip

    def builds(self, block: SubProgram) -> bool:
        """Whether it is this block of it that is being built."""
        return self._block is block

    def _inside(self) -> SubProgram:
        if self._block is None:
            self._refuse("must be called inside of a block of it", "a call outside")
        return self._block  # type: ignore[return-value]

    def _from_before(self, x: Any) -> Any:
        """A value that the block is given: its own steps come too late for that."""
        value = unwrapped(x)
        *_, bottom = layers(value)
        if isinstance(bottom, SymbolicTensor) and bottom.listing is self._inside():
            self._refuse(
                "must be given what was made before the block", f"{bottom.name}, which it made",
                "compute it before the block",
            )  # fmt: skip
        return value

    def _refuse(self, must: str, got: str, fix: str = "") -> None:
        raise _C.ArgumentError(must, op=self.what, got=got, fix=fix or None)


def results(values: Sequence[Any]) -> Any:
    """Variables as they are, what carries gradients as Tensors; one, or a list."""
    found = [y if isinstance(y, Variable) else Tensor(y) for y in values]
    return found[0] if len(found) == 1 else found
