"""Program and Variable: the named faces of the one program form."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _C
from ..imperative import Listing, RawTensor, SymbolicTensor, Tensor
from ..imperative.levels import stopped, unwrapped
from ..imperative.random import default_stream as default_stream  # programs draw from it
from ..imperative.shape_methods import ShapedMethods
from .block import Block, SubBlocks
from .copied import Copied
from .numbers import is_unnamed


class Variable(SymbolicTensor):
    """A variable of a program: a name, a dtype and a shape; applying an op adds it to the program.

    Attributes:
        block: where it was made.
        name: what it is called there.
        persistable: whether it stays between runs.
    """

    listing: Program

    @property
    def block(self) -> Block:
        """The block that has it."""
        return self.listing.block

    @property
    def persistable(self) -> bool:
        """Whether it stays between runs: a parameter, a moment, a running mean."""
        return self.listing.variable(self.number)[1] == "state"

    @property
    def stop_gradient(self) -> bool:
        """Whether gradients stop at it: at all but those that `append_backward` goes through."""
        tensor = getattr(self.listing, "tensors", {}).get(self.number)
        return tensor is None or not tensor.requires_grad

    @property
    def type(self) -> str:
        """What it is: all variables are dense tensors."""
        return "LOD_TENSOR"

    def desc(self) -> dict[str, Any]:
        """The variable as the seed's VarDesc has it: name, type, persistable."""
        return {"name": self.name, "type": self.type, "persistable": self.persistable}

    def __getattr__(self, name: str) -> Any:
        """The methods of tensors that are calls: ``x.sum()`` is ``tl.Tensor(x).sum()``."""
        if name[:1] == "_" or name not in _CALLS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(Tensor(self), name)

    def __repr__(self) -> str:
        """The name and what is known."""
        return f"Variable({self.name}: {self.describe()})"


# What tensors do beside these has no meaning without elements, or sets the tensor.
_CALLS = frozenset(dir(ShapedMethods)) - frozenset(dir(_C.TensorWrapper))


class Program(Copied):
    """A program that is built, optimised, run, differentiated and saved: ops over named variables.

    Within `program_guard` functional calls, layers, losses, gradients and optimisers add to it;
    an `Executor` runs it.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> main, startup = static.Program(), static.Program()
        >>> with static.program_guard(main, startup):
        ...     x = static.data("x", (None, 2))
        ...     y = tl.nn.Linear(2, 1).initialize(weight=tl.nn.initializers.Constant(1.0))(x)
        >>> exe = static.Executor()
        >>> _ = exe.run(startup)
        >>> exe.run(main, feed={"x": [[1.0, 2.0], [3.0, 4.0]]}, fetch_list=[y])[0].tolist()
        [[3.0], [7.0]]
    """

    def __init__(self) -> None:
        """Empty."""
        super().__init__()
        self.block = Block(self)
        self.sub_blocks = SubBlocks(self)
        # Tensors that stand for states while the program is built, by the state's number.
        self.tensors: dict[int, Tensor] = {}
        # Of a startup program: the tensors whose states it begins, by the states' names.
        self.starts: dict[str, weakref.ref[Tensor]] = {}
        self._counts: dict[str, int] = {}
        self.results: dict[str, Variable] = {}  # of a program that was loaded
        # What variables have become by a While; -1 where that is in another block.
        self._superseded: dict[int, int] = {}

    def input(self, name: str, shape: Sequence[int | str | None], dtype: Any = _C.float32) -> Any:
        """A variable that is fed.

        Raises:
            ArgumentError: there is one of this name.
        """
        self.check_name(name)
        return super().input(name, shape, dtype)

    def symbol(self, number: int) -> Variable:
        """The variable of this number."""
        return Variable(self, number)

    @property
    def outermost(self) -> Program:
        """The program that blocks are of."""
        return self

    def receiver(self, args: Sequence[SymbolicTensor]) -> Listing:
        """The program that an op on such variables is added to: the block that is being built."""
        outermost = self.outermost
        return outermost.sub_blocks.receiver(self, args)

    def global_block(self) -> Block:
        """The outermost block."""
        return self.blocks[0]

    def current_block(self) -> Block:
        """The block that ops are added to."""
        inner = self.sub_blocks.current
        return next(block for block in self.blocks if block.listing is inner)

    @property
    def blocks(self) -> list[Block]:
        """The global block, and those that ops hold, each behind the one that it is in."""
        found = [self.block]

        def visit(block: Block) -> None:
            for listing in self.sub_blocks.inside(block.listing):
                if all(listing is not known.listing for known in found):
                    found.append(Block(self, len(found), block, listing))
                    visit(found[-1])

        visit(self.block)
        return found

    @property
    def num_blocks(self) -> int:
        """How many blocks there are, nested ones included."""
        return len(self.blocks)

    def list_vars(self) -> Iterator[Variable]:
        """The variables of all blocks."""
        for block in self.blocks:
            yield from block.vars.values()

    def verify(self) -> None:
        """Raises unless it could run: what the tests of passes ask after each of them.

        Variables are made before they are read, shapes and dtypes are those that ops infer,
        attributes are in range, and blocks lie within each other.

        Raises:
            TensorlikeError: it could not; the error names the step.

        Example:
            >>> from tensorlike import static
            >>> with static.program_guard(static.Program()) as main:
            ...     y = static.data("x", (None,)) * 2
            >>> main.verify()
        """
        _C.verify_program(self, tuple(self.assigned().values()))

    def number_of(self, name: str) -> int | None:
        """The number of the variable of this name, of several the last; None: there is none."""
        return self.find(name)

    def check_name(self, name: str) -> None:
        """Raises where a new variable may not be called so.

        Raises:
            ArgumentError: there is one of this name, or it looks like the program's own ones.
        """
        if not isinstance(name, str) or not name or is_unnamed(name):
            raise _C.ArgumentError(
                "must be a name, and none that a program gives itself, as _1 is",
                op="Program", argument="name", got=repr(name),
            )  # fmt: skip
        if self.number_of(name) is not None:
            raise _C.ArgumentError(
                "must be the only variable of this name in its block",
                op="Program", argument="name", got=repr(name), fix="give it another name",
            )  # fmt: skip

    def unique_name(self, kind: str) -> str:
        """``kind_0``, ``kind_1``, and so on."""
        while True:
            number = self._counts.get(kind, 0)
            self._counts[kind] = number + 1
            name = f"{kind}_{number}"
            if self.number_of(name) is None:
                return name

    def _supersede(self, number: int, new: Variable) -> None:
        """Behind a While that assigned to a variable, it is another one."""
        self._superseded[number] = new.number if new.listing is self else -1

    def current(self, number: int) -> int:
        """The variable that one has become by now."""
        while self._superseded.get(number, -1) >= 0:
            number = self._superseded[number]
        return number

    def check_current(self, number: int) -> None:
        """Raises where a variable is used that a While has assigned to.

        Gradients read what it was; nobody else can mean that without having copied it.

        Raises:
            ArgumentError: it has become another one.
        """
        if number in self._superseded and not _C.is_pulling():
            raise _C.ArgumentError(
                "must not be used behind a loop that has assigned to it",
                op="While", argument=self.names(number), got="what it was before",
                fix="loop() gives what it has become; static.assign(x) before the loop keeps what "
                "it was",
            )  # fmt: skip

    def behind_cut(self, number: int) -> int:
        """The variable that calls take: see `Listing`; none from before a While changed it."""
        if self._superseded:
            self.check_current(number)
        return super().behind_cut(number)

    def assigned(self) -> dict[int, int]:
        """What states become in a run: variables by the states that they are assigned to."""
        return _C.assigned_states(self)

    def keep(self, tensor: Tensor, name: str, startup: Program) -> None:
        """Makes a state of a tensor: it stands for the state from now on.

        Args:
            tensor: what it holds is what the state starts from: an array, or what ops of this
                program made of no input.
            name: of the state, in both programs; that of a state already is changed.
            startup: the program that gives the state its first value.

        Raises:
            ArgumentError: it depends on an input, or the name is taken.
        """
        self.check_name(name)
        startup.check_name(name)
        for number, kept in self.tensors.items():
            if kept is tensor:  # it is one already, and gets another name
                before = self.names(number)
                other = startup.number_of(before)
                self.rename(number, name)
                if other is not None:
                    startup.rename(other, name)
                    startup.starts[name] = startup.starts.pop(before)
                return
        value = stopped(unwrapped(tensor))
        start: Any = value
        if isinstance(value, Variable) and value.listing is self:
            start = value.number
        elif not isinstance(value, RawTensor):
            raise _C.ArgumentError(
                "must start from an array, or from what this program makes",
                op="keep", argument=name, got=f"a {type(value).__name__}",
            )  # fmt: skip
        number = _C.keep_state(self, start, name, startup)
        self.tensors[number] = tensor
        startup.starts[name] = weakref.ref(tensor)
        self.bind_tensor(number, number)

    def start_from(self, tensor: Tensor, value: Any, startup: Program) -> bool:
        """Whether a tensor is a state; then the startup program gives it this value, an array."""
        first = stopped(unwrapped(value))
        if not isinstance(first, RawTensor):
            return False
        for number, kept in self.tensors.items():
            state = startup.number_of(self.names(number)) if kept is tensor else None
            if state is not None:
                _C.start_state(startup, state, first)
                return True
        return False

    def bind_tensor(self, state: int, number: int) -> None:
        """Lets the tensor of a state stand for a variable, as a leaf where it was one."""
        tensor = self.tensors[state]
        has_gradient = tensor.requires_grad
        tensor._reset(self.symbol(number))
        tensor.requires_grad = has_gradient

    def assign_kept(self) -> None:
        """Assigns to each state what its tensor stands for by now."""
        known = self.assigned()
        for state, tensor in self.tensors.items():
            value = stopped(unwrapped(tensor))
            if not isinstance(value, Variable) or value.listing is not self:
                raise _C.ArgumentError(
                    "must stand for a variable of the program while that is built",
                    op="Program", argument=self.variable(state)[0],
                    got=f"a {type(value).__name__}",
                )  # fmt: skip
            if value.number != known.get(state, state):
                _C.assign_state(self, state, value.number)

    def enter(self) -> None:
        """Building goes on: tensors of states stand for what these are by now."""
        known = self.assigned()
        for state in self.tensors:
            self.bind_tensor(state, known.get(state, state))

    def rename_result(self, number: int, name: str) -> None:
        """Another name for what an op makes, unless it is taken."""
        if self.number_of(name) is None:
            self.rename(number, name)

    def names(self, number: int) -> str:
        """What a variable is called."""
        return self.variable(number)[0]

    def all_parameters(self) -> list[Variable]:
        """The states that learn."""
        return [self.symbol(n) for n, tensor in self.tensors.items() if tensor.requires_grad]
