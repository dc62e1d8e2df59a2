"""Executor and Scope: running programs on values under names."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from .. import _C
from ..imperative import Listing, Size, Tensor, TensorBase, as_raw_tensor, device, devices
from ..imperative.blocks import is_symbolic
from ..imperative.control_flow import has_examples
from ..imperative.levels import is_differentiated, level_of, stopped, unwrapped
from ..imperative.nested import Nested, innermost
from .compiled import CompiledProgram
from .guard import default_main_program
from .numbers import number_in
from .program import Program


class Scope(_C.Scope):
    """Values under names; what a scope does not have is looked up in its parent.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> scope = static.Scope()
        >>> scope.set("w", tl.as_raw_tensor([1.0]))
        >>> child = scope.new_scope()
        >>> child.find_var("w").tolist(), child.names()
        ([1.0], [])
    """

    def find_var(self, name: str) -> Tensor | None:
        """The value, here or in the nearest parent that has it; None: nowhere."""
        found = self.find(name)
        return None if found is None else Tensor(found)

    def set(self, name: str, value: Any) -> None:
        """Sets a value here, whatever the parents have.

        Args:
            name: under which it is found.
            value: a tensor-like, or data.
        """
        super().set(name, _value(value))

    def __reduce__(self) -> NoReturn:
        """It has no copies: values of the parents would be in them, or be missing."""
        raise _C.ParameterError(
            "a scope must not be pickled or copied by Python", op="pickle", got="a Scope",
            fix="set what find_var gives for its names() in another scope; static.save keeps the "
            "states of a program in a file",
        )  # fmt: skip


_global = Scope()


class _Guarded(Nested):
    """A block in which a scope is the global one."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope


_current: ContextVar[_Guarded | None] = ContextVar("tensorlike_scope", default=None)


def global_scope() -> Scope:
    """Where executors keep states, unless they are told otherwise."""
    found: _Guarded | None = innermost(_current)
    return _global if found is None else found.scope


def given_scope(scope: Any, op: str) -> Scope:
    """A scope that a call was given; None is the global one.

    Raises:
        ParameterError: it is none.
    """
    if scope is None:
        return global_scope()
    if not isinstance(scope, Scope):
        raise _C.ParameterError(
            "must be a Scope", op=op, argument="scope", got=type(scope).__name__
        )  # fmt: skip
    return scope


@contextmanager
def scope_guard(scope: Scope) -> Iterator[Scope]:
    """A block in which another scope is the global one."""
    if scope is None:
        raise _C.ParameterError("must be a Scope", op="scope_guard", argument="scope", got="None")
    block = _Guarded(given_scope(scope, "scope_guard"))
    block.begin(_current)
    try:
        yield scope
    finally:
        block.end(_current)


def _note_started(scope: Scope, program: Program) -> None:
    """A startup program has been run there."""
    for name, tensor in program.starts.items():
        if (holder := _holder(scope, name)) is not None:
            vars(holder).setdefault("_started", {})[name] = tensor


def _check_started(scope: Scope, program: Program) -> None:
    """Raises where a startup program would write over what another one has begun."""
    rivals = _rivals(scope, program)
    if rivals:  # which may be held by one another alone
        gc.collect()
        rivals = _rivals(scope, program)
    if rivals:
        raise _C.ArgumentError(
            "must not be a state of another program that is still there", op="run",
            argument=rivals[0], got="a startup program that would begin it anew",
            fix="run each in a Scope of its own, or build both with one startup program",
        )  # fmt: skip


def _rivals(scope: Scope, program: Program) -> list[str]:
    """The states that another tensor stands for, which is still there."""
    found = []
    for name, tensor in program.starts.items():
        holder = _holder(scope, name)
        known = None if holder is None else vars(holder).get("_started", {}).get(name)
        other = None if known is None else known()
        if other is not None and other is not tensor():
            found.append(name)
    return found


def _holder(scope: Scope | None, name: str) -> Scope | None:
    """The nearest scope that has a value of this name."""
    while scope is not None and name not in scope.names():
        scope = scope.parent()
    return scope


class CPUPlace:
    """The host, as a place to run on."""

    device = "cpu"

    def __repr__(self) -> str:
        """How it is made."""
        return "CPUPlace()"


class Executor:
    """Runs programs: the states in a scope, what is fed, and what is fetched.

    Args:
        place: where: a `CPUPlace`, the name of a device, or None, the default one.

    Raises:
        DeviceError: there is no such device.

    Source:
        Paddle, ``fluid.Executor``.

    Example:
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     x = static.data("x", (None,))
        ...     y = x * 2
        >>> static.Executor().run(main, feed={"x": [1.0, 2.0]}, fetch_list=[y])
        [array([2., 4.], dtype=float32)]
    """

    def __init__(self, place: Any = None) -> None:
        """Keeps the place."""
        name = getattr(place, "device", place)
        if name is not None and name not in devices():
            raise _C.DeviceError(
                "must be a device", op="Executor", argument="place", got=repr(name),
                fix=f"there are {', '.join(devices())}",
            )  # fmt: skip
        self.place = place
        self._device = name

    def run(
        self,
        program: Any = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        scope: Scope | None = None,
        *,
        return_numpy: bool = True,
        donate_states: bool = False,
    ) -> list[Any]:
        """Runs a program once, all of its ops in their order.

        States are found in the scope, and set there when the run is over; an error changes nothing.
        What is computed on the way is dropped after its last reader.

        Args:
            program: None is the default main program; or a `CompiledProgram`.
            feed: a value for each input, by name: tensors, arrays or numbers.
            fetch_list: the variables that are asked for, or their names. A state is as it is after
                the run.
            scope: None is `global_scope()`.
            return_numpy: whether arrays come back, or tensors.
            donate_states: whether states that change are written over, where nobody else has their
                elements: less memory, and less to write. That comes last, and without interrupts;
                if it runs out of memory in between, some states are new and some old, and another
                thread does not find them meanwhile.

        Returns:
            The values of `fetch_list`.

        Raises:
            ArgumentError: an input is missing, a feed or a fetched variable is none of the
                program's, a state has no value yet, or a startup program would begin a state of
                another program that is still there.
            ShapeError: a feed has another shape.
            DTypeError: a feed has another dtype, or numbers that are none of it.
            AutodiffError: a transform differentiates by a feed, or a program with states is fed
                the examples of a `vmap`.
        """
        if not (feed is None or isinstance(feed, Mapping)):
            raise _C.ParameterError(
                "must be a mapping of names to values", op="run", argument="feed",
                got=type(feed).__name__,
            )  # fmt: skip
        program = default_main_program() if program is None else program
        asked = [] if fetch_list is None else fetch_list
        if isinstance(asked, (str, TensorBase)) or not isinstance(asked, Iterable):
            raise _C.ParameterError(
                "must be a list of variables, or of their names", op="run", argument="fetch_list",
                got=type(fetch_list).__name__, fix="[loss], say",
            )  # fmt: skip
        asked = list(asked)
        scheduling: AbstractContextManager[Any] = nullcontext()
        source = program.program if isinstance(program, CompiledProgram) else program
        if isinstance(program, CompiledProgram):
            scheduling = program.scheduling()
            program, numbers = program.optimised(asked)
        else:
            _check(program)
            numbers = [number_in(program, x) for x in asked]
        scope = given_scope(scope, "run")
        startup = source if isinstance(source, Program) and source.starts else None
        if startup is not None:
            _check_started(scope, startup)
        with nullcontext() if self._device is None else device(self._device):
            values = {name: self._fed(program, name, x) for name, x in (feed or {}).items()}
            try:
                with scheduling:
                    found = _C.execute(program, values, numbers, scope, donate_states)
            except _C.ShapeError as error:
                if error.place:  # of a step, which can do nothing for what it was fed
                    error.place += _told_feeds(program, values)
                raise
        if startup is not None:
            _note_started(scope, startup)
        if return_numpy:
            return [np.asarray(x) for x in found]
        return [Tensor(x) for x in found]

    def _fed(self, program: Listing, name: str, x: Any) -> Any:
        if not isinstance(name, str):
            raise _C.ParameterError(
                "must have names of inputs for its keys", op="run", argument="feed",
                got=type(name).__name__,
            )  # fmt: skip
        try:
            if isinstance(x, TensorBase):
                return _with_elements(x, "run", is_kept=bool(_C.assigned_states(program)))
            number = program.find(name)
            # Lists and numbers have no dtype of their own; arrays are held against the program's.
            dtype = program.dtype(number) if number is not None and not _has_dtype(x) else None
            value = as_raw_tensor(x, dtype=dtype)
            if dtype is not None and dtype.kind in ("integer", "bool"):
                _refuse_others(x, value)
        except _C.TensorlikeError as error:
            error.op, error.argument = "run", name
            raise
        return value


def _told_feeds(program: Listing, values: Mapping[str, Any]) -> str:
    """The shapes that were fed where the program leaves sizes open."""
    told = []
    for name, x in values.items():
        number = program.find(name)
        assert number is not None, "a step was run, so that feeds name inputs"
        if any(isinstance(size, Size) for size in program.shape(number)):
            told.append(f"{name} of {x.shape}")
    return f", fed {', '.join(told)}" if told else ""


def _refuse_others(x: Any, value: _C.RawTensor) -> None:
    """Raises where numbers of a list are others as integers, or as booleans."""
    own = np.asarray(as_raw_tensor(x))
    others = own != np.asarray(value)
    if others.any():
        raise _C.DTypeError(f"must be {value.dtype.name}", got=f"{own[others].flat[0]}")


def _with_elements(x: Any, op: str, *, is_kept: bool) -> Any:
    """The value of a tensor, without a history.

    Args:
        x: the tensor, or another tensor-like.
        op: for errors.
        is_kept: whether it, or what follows from it, is still there when a transform has ended.

    Raises:
        ArgumentError: it is a variable, or has no elements.
        AutodiffError: a transform that is going on would lose its derivatives, or leave examples.
    """
    value = unwrapped(x)
    if type(value) is _C.RawTensor:
        return value
    if is_symbolic(value):
        raise _C.ArgumentError(
            "must have elements", op=op, got=f"a {type(stopped(value)).__name__}",
            fix="static.program_op applies a program to variables",
        )  # fmt: skip
    if level_of(value) > 0 and is_differentiated(value):
        raise _C.AutodiffError(
            "must not be differentiated by: a run gives values without a history", op=op,
            got=f"a {type(value).__name__}",
            fix="static.program_op is a program as a function; stop_gradient(x) is the value alone",
        )  # fmt: skip
    if is_kept and has_examples(value):
        raise _C.AutodiffError(
            "must be one value: states stay when the examples of a vmap are gone", op=op,
            got=f"a {type(value).__name__}", fix="static.program_op changes no states",
        )  # fmt: skip
    return stopped(value)


def _has_dtype(x: Any) -> bool:
    return hasattr(x, "dtype") or hasattr(x, "__dlpack__") or isinstance(x, memoryview)


def _check(program: Any) -> None:
    if not isinstance(program, Program):
        raise _C.ParameterError(
            "must be a Program, or a CompiledProgram", op="run", argument="program",
            got=type(program).__name__,
        )  # fmt: skip


def _value(x: Any) -> Any:
    return _with_elements(x, "set", is_kept=True) if isinstance(x, TensorBase) else as_raw_tensor(x)
