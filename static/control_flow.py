"""What IfElse, While and StaticRNN share: blocks of `with`, in the manner of Fluid 1.x.

Each block is a program inside of the one that is built. What it reads from outside becomes an input
of it; when it is complete, one op of the program around holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _C
from ..imperative import SymbolicTensor, Tensor, blocks
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

    def like(self, x: Any, name: str, shape: Sequence[Any] | None = None) -> SymbolicTensor:
        """An input, under a name that is free."""
        if is_unnamed(name) or self.number_of(name) is not None:
            name = self.unique_name("outer")
        return super().like(x, name, shape)


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
        try:
            with block:
                yield block
        finally:
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

    def _inside(self) -> SubProgram:
        if self._block is None:
            self._refuse("must be called inside of a block of it", "a call outside")
        return self._block  # type: ignore[return-value]

    def _refuse(self, must: str, got: str, fix: str = "") -> None:
        raise _C.ArgumentError(must, op=self.what, got=got, fix=fix or None)


def results(values: Sequence[Any]) -> Any:
    """Variables as they are, what carries gradients as Tensors; one, or a list."""
    found = [y if isinstance(y, Variable) else Tensor(y) for y in values]
    return found[0] if len(found) == 1 else found
