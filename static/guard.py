"""Where a program is built: `program_guard`, the default programs, and `data`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from .. import _C
from ..imperative import Tensor
from ..imperative.keeping import keeping
from ..imperative.levels import stopped, unwrapped
from ..imperative.naming import named
from ..imperative.nested import Nested, innermost
from .backward import append_backward
from .program import Program, Variable


class _Builder(Nested):
    """The programs that are being built, and what is told of tensors that stay between runs."""

    def __init__(self, main: Program, startup: Program) -> None:
        self.main = main
        self.startup = startup

    def free_name(self, kind: str) -> str:
        """A name that neither program has."""
        while self.startup.number_of(name := self.main.unique_name(kind)) is not None:
            pass
        return name

    def keep(self, tensor: Tensor, kind: str) -> None:
        """A parameter, a buffer, or what an optimiser keeps has been made."""
        self.main.keep(tensor, self.free_name(kind), self.startup)

    def start_from(self, tensor: Tensor, value: Any) -> bool:
        """A value was loaded: what the state of a tensor starts from."""
        return self.main.start_from(tensor, value, self.startup)

    def parameters(self) -> list[Tensor]:
        """The tensors of the states that learn."""
        return [tensor for tensor in self.main.tensors.values() if tensor.requires_grad]

    def append_backward(
        self, loss: Any, parameters: Sequence[Any], no_grad_set: Iterable[Any]
    ) -> list[tuple[Tensor, Tensor]]:
        """The gradients of a loss, as ops of the program."""
        return append_backward(loss, parameters, no_grad_set)


_building: ContextVar[_Builder | None] = ContextVar("tensorlike_building", default=None)
_defaults = _Builder(Program(), Program())
_static: list[ExitStack] = []  # what `enable_static` entered


def building() -> _Builder:
    """What is being built; the default programs where nothing is."""
    return innermost(_building) or _defaults


def default_main_program() -> Program:
    """The program that ops are added to: that of the innermost `program_guard`, or the process's.

    Example:
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     static.default_main_program() is main
        True
    """
    return building().main


def default_startup_program() -> Program:
    """The program that gives states their first values, beside `default_main_program`."""
    return building().startup


@contextmanager
def program_guard(
    main_program: Program, startup_program: Program | None = None
) -> Iterator[Program]:
    """A block in which calls add to a program.

    What is applied to variables of the program is added to it; so is what is made of nothing, such
    as `zeros`. Arrays beside variables are constants. Parameters, buffers and the state of
    optimisers that are made here become states of the program, named ``parameter_0`` and so on;
    what gives them their first values goes to the startup program. When the block ends, each
    state is assigned what its tensor has become.

    Args:
        main_program: is added to.
        startup_program: gets the first values of states; None: the default one.

    Yields:
        The main program.

    Raises:
        ArgumentError: at the end, if a tensor that was made before the block stands for a variable:
            it would be forgotten. `keep` makes such tensors states.

    Source:
        Paddle, ``fluid.program_guard``.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     y = static.data("x", (2,)) + 1
        >>> len(main.block.ops)
        2
    """
    if not isinstance(main_program, Program):
        raise _C.ParameterError(
            "must be a Program", op="program_guard", argument="main_program",
            got=type(main_program).__name__,
        )  # fmt: skip
    startup = default_startup_program() if startup_program is None else startup_program
    builder = _Builder(main_program, startup)
    builder.begin(_building, keeping)
    journal = _C.Journal()
    older: Sequence[Any] = ()
    try:
        with journal, _C.Recording(main_program):
            main_program.enter()
            try:
                yield main_program
            finally:
                older = journal.rebound()  # they hold what they do inside, whoever ends the block
                main_program.assign_kept()
            _refuse_forgotten(main_program, older)
    finally:
        builder.end(_building, keeping)


def _refuse_forgotten(program: Program, older: Sequence[Any]) -> None:
    states = {id(tensor) for tensor in program.tensors.values()}
    for tensor in older:
        value = stopped(unwrapped(tensor))
        if id(tensor) in states or not isinstance(value, Variable):
            continue
        raise _C.ArgumentError(
            "a tensor that was made before the block must not become a variable, which a run would "
            "not give back",
            op="program_guard", got=value.name,
            fix="make it inside the block, or a state by static.keep(tensor)",
        )  # fmt: skip


@named
def keep(tensors: Any, names: str | Sequence[str] | None = None) -> None:
    """Makes tensors that were made before the block states of the program that is being built.

    They start from what they hold. After the block they hold it again.

    Args:
        tensors: a tensor, several, or a layer: its parameters and buffers, by their dotted names.
        names: what the states are called.

    Raises:
        ArgumentError: nothing is being built, or a name is taken.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> layer = tl.nn.Linear(2, 1)
        >>> with static.program_guard(static.Program(), static.Program()) as main:
        ...     static.keep(layer)
        ...     y = layer(static.data("x", (None, 2)))
        >>> list(main.block.vars)
        ['x', 'weight', 'bias', '_1']
    """
    builder: _Builder | None = innermost(_building)
    if builder is None:
        raise _C.ArgumentError("a program must be being built", op="keep", fix="use program_guard")
    if hasattr(tensors, "named_parameters"):
        found = [*tensors.named_parameters(), *tensors.named_buffers()]
    else:
        listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        given = [names] if isinstance(names, str) else names
        given = given or [builder.free_name("state") for _ in listed]
        found = list(zip(given, listed, strict=True))
    for name, tensor in found:
        builder.main.keep(tensor, name, builder.startup)


@named
def data(name: str, shape: Sequence[int | str | None], dtype: Any = _C.float32) -> Variable:
    """A variable of the program that is being built which each run is fed.

    Args:
        name: by which it is fed.
        shape: sizes; None, or -1, or a name, is one that differs from run to run. Those of one name
            are equal. A first size that is None is called "batch"; no other None is equal to any.
        dtype: the element type.

    Raises:
        ArgumentError: the program has a variable of this name.
        ParameterError: the shape is no sequence.

    Source:
        Paddle, ``fluid.data``.
    """
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise _C.ParameterError(
            "must be a sequence of sizes", op="data", argument="shape", got=repr(shape),
            fix=f"[{shape!r}], say",
        )  # fmt: skip
    sizes = [None if type(size) is int and size == -1 else size for size in shape]
    if sizes and sizes[0] is None:
        sizes[0] = "batch"
    variable: Variable = default_main_program().input(name, sizes, dtype)
    return variable


def enable_static() -> None:
    """From now on calls build the default programs, until `disable_static`.

    Source:
        Paddle, ``paddle.enable_static``.
    """
    if _static:
        return
    stack = ExitStack()
    stack.enter_context(program_guard(_defaults.main, _defaults.startup))
    _static.append(stack)


def disable_static() -> None:
    """Calls run at once again."""
    while _static:
        _static.pop().close()
