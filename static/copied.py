"""What programs know of their gradients, and of the programs that they were copied from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .. import _C
from ..imperative import Listing

if TYPE_CHECKING:
    from .program import Program, Variable


@dataclass
class Backward:
    """What `append_backward` added to a program; all are numbers of variables.

    Args:
        loss: what was differentiated.
        seed: the loss's own gradient, 1; -1 where the program has no variable for it.
        gradients: by the parameter's state.
        made: what its ops give.
        scale: the state by which the seed is multiplied; -1: none.
    """

    loss: int
    seed: int
    gradients: dict[int, int]
    made: set[int]
    scale: int = -1


class Copied(Listing):
    """A listing with gradients, of which copies can be made.

    Attributes:
        backwards: what `append_backward` added, in order.
        recomputed: variables that are computed a second time, on purpose: they save memory.
        copied_from: the program that this one was made of, and what its variables are here.
    """

    def __init__(self) -> None:
        """A copy of nothing."""
        super().__init__()
        self.backwards: list[Backward] = []
        self.recomputed: set[int] = set()
        self.copied_from: tuple[Program, dict[int, int]] | None = None

    def clone(self, *, for_test: bool = False) -> Program:
        """The same program once more; what is added to one is not in the other.

        Variables of this program may be fetched from the copy, which knows them.

        Args:
            for_test: leave out gradients, updates, and all other changes of states; dropout lets
                everything pass, and batch norm takes the running statistics that it moved in
                training. What cannot be told by its ops stays as it was built: alpha dropout,
                instance norm that tracks statistics, an `if training` of the user's own.

        Source:
            Paddle, ``fluid.Program.clone``.

        Example:
            >>> import tensorlike as tl
            >>> from tensorlike import static
            >>> with static.program_guard(static.Program()) as main:
            ...     y = tl.nn.Dropout(0.5)(static.data("x", (3,)))
            >>> test = main.clone(for_test=True)
            >>> static.Executor().run(test, feed={"x": [1.0, 2.0, 3.0]}, fetch_list=[y])
            [array([1., 2., 3.], dtype=float32)]
        """
        from .copying import copy
        from .evaluation import in_evaluation

        program = cast("Program", self)  # the one class that is made of this
        return in_evaluation(program) if for_test else copy(program)

    def how_kept(self) -> str:
        """What keeps and copies it instead of pickles."""
        return "program.clone() copies it, and static.save and static.load keep it in a file"

    def prune(self, targets: Any) -> Program:
        """The part of the program that some variables need; no state changes in it.

        Args:
            targets: variables, or names of them, one or several.

        Example:
            >>> from tensorlike import static
            >>> with static.program_guard(static.Program()) as main:
            ...     y = static.data("x", (2,)) + static.data("bias", (2,))
            ...     z = y * static.data("scale", (2,))
            >>> list(main.prune(y).block.vars)
            ['x', 'bias', '_1']
        """
        from .copying import pruned
        from .numbers import number_in

        listed = list(targets) if isinstance(targets, (list, tuple)) else [targets]
        program = cast("Program", self)
        return pruned(program, [number_in(program, x, "prune", "targets") for x in listed], {})

    def is_same(self, other: Program) -> bool:
        """Whether both are the same ops on the same variables, whatever unnamed results are called.

        Lines of the user and the order in which inputs, states and constants came do not count.

        Example:
            >>> from tensorlike import static
            >>> with static.program_guard(static.Program()) as main:
            ...     y = static.data("x", (2,)) * 2
            >>> main.is_same(main.clone()), main.is_same(static.Program())
            (True, False)
        """
        from .equality import is_same

        if not isinstance(other, type(self)):
            raise _C.ParameterError(
                "must be a Program", op="is_same", argument="other", got=type(other).__name__
            )
        return is_same(cast("Program", self), other)

    def copy_of(self, variable: Variable) -> int | None:
        """The number of a variable of this program, or of one that it was copied from."""
        if variable.listing is self:
            return variable.listing.current(variable.number)
        if self.copied_from is None:
            return None
        source, numbers = self.copied_from
        found = source.copy_of(variable)
        return None if found is None else numbers.get(found)
