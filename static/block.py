"""Block: ops in their order, and the variables that they read and make; those inside of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _C
from ..imperative import Listing, SymbolicTensor
from ..imperative.sub_programs import sub_programs_of
from .numbers import is_unnamed, number_of_name, variable_of
from .operator import Operator

if TYPE_CHECKING:
    from .program import Program, Variable


class Block:
    """Ops in their order, and the variables that they read and make.

    Attributes:
        program: the program that it is of.
        listing: what has its ops: the program, or one that an op of the block around holds.
        idx: its number; 0 is the global one.
        parent_idx: the number of the block around it; -1 for the global one.
    """

    def __init__(
        self,
        program: Program,
        idx: int = 0,
        parent: Block | None = None,
        listing: Listing | None = None,
    ) -> None:
        """Made by programs."""
        self.program = program
        self.listing = program if listing is None else listing
        self.idx = idx
        self.parent = parent
        self.parent_idx = -1 if parent is None else parent.idx

    @property
    def vars(self) -> dict[str, Variable]:
        """The variables by name, in the order of their making."""
        program = self.listing
        used = {n for step in program.applied() for n in (*step.inputs, *step.outputs)}
        used.update(_C.assigned_states(program).values())
        named = {}
        for number, (name, role, _) in enumerate(program.variables()):
            if role in ("input", "state") or (role == "result" and number in used):
                named[name] = variable_of(program, number)
        return named

    @property
    def ops(self) -> list[Operator]:
        """The ops, in order."""
        program = self.listing
        names = [name for name, _, _ in program.variables()]
        # What a state becomes has its name in the seed's form.
        for state, value in _C.assigned_states(program).items():
            if program.variable(value)[1] == "result" and is_unnamed(names[value]):
                names[value] = names[state]
        numbers = {id(block.listing): block.idx for block in self.program.blocks}
        made = []
        for step in program.applied():
            inputs, outputs = ([names[i] for i in group] for group in (step.inputs, step.outputs))
            inner = [numbers[id(call.program)] for call in sub_programs_of(step.op)]
            made.append(Operator(step.op, inputs, outputs, step.line, inner))
        return made

    def var(self, name: str) -> Variable:
        """The variable of this name, here or in the blocks around.

        Raises:
            KeyError: there is none.
        """
        block: Block | None = self
        while block is not None:
            found = number_of_name(block.listing, name)
            if found is not None:
                variable: Variable = variable_of(block.listing, found)
                return variable
            block = block.parent
        raise KeyError(f"var: there must be a variable of this name; got {name!r}")

    def has_var(self, name: str) -> bool:
        """Whether there is such a variable in this block itself."""
        return number_of_name(self.listing, name) is not None

    def desc(self) -> dict[str, Any]:
        """The block as the seed's BlockDesc has it, and what it takes for granted of its sizes."""
        return {
            "idx": self.idx,
            "parent_idx": self.parent_idx,
            "vars": [variable.desc() for variable in self.vars.values()],
            "ops": [op.desc() for op in self.ops],
            "assumptions": list(self.listing.assumptions()),
        }


class SubBlocks:
    """The programs inside of a program: those that its ops hold, and those that are being built."""

    def __init__(self, program: Program) -> None:
        """None yet."""
        self._open: list[Listing] = [program]
        self._counts: list[dict[int, int]] = []  # of the variables around each, when it began
        self._begun: list[tuple[Listing, Listing]] = []  # each, and what is around it

    @property
    def current(self) -> Listing:
        """The innermost that is being built."""
        return self._open[-1]

    def begin(self, listing: Listing) -> None:
        """A block is built from now on."""
        self._begun.append((listing, self.current))
        self._counts.append({id(outer): len(outer.variables()) for outer in self._open})
        self._open.append(listing)

    def end(self, listing: Listing) -> None:
        """It is complete."""
        del self._counts[self._open.index(listing) - 1]
        self._open.remove(listing)

    def receiver(self, listing: Listing, args: Sequence[SymbolicTensor]) -> Listing:
        """The block that is being built, where variables from before it are used in it."""
        if listing is self.current or not self.has_older(args):
            return listing
        return self.current

    def has_older(self, args: Sequence[SymbolicTensor]) -> bool:
        """Whether a variable was there before the block that is being built."""
        before = self._counts[-1] if self._counts else {}
        return any(x.number < before.get(id(x.listing), 0) for x in args)

    def inside(self, around: Listing) -> Iterator[Listing]:
        """The blocks directly inside of a program, in their order."""
        for step in around.applied():
            for call in sub_programs_of(step.op):
                yield call.program
        for listing, other in self._begun:
            if other is around:
                yield listing
