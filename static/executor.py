"""Executor and Scope: running programs on values under names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from .. import _C
from ..imperative import Listing, Tensor, TensorBase, as_raw_tensor, device, devices
from ..imperative.levels import stopped, unwrapped
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
                program's, or a state has no value yet.
            ShapeError: a feed has another shape.
            DTypeError: a feed has another dtype.
        """
        if not (feed is None or isinstance(feed, Mapping)):
            raise _C.ParameterError(
                "must be a mapping of names to values", op="run", argument="feed",
                got=type(feed).__name__,
            )  # fmt: skip
        program = default_main_program() if program is None else program
        asked = [] if fetch_list is None else list(fetch_list)
        scheduling: AbstractContextManager[Any] = nullcontext()
        if isinstance(program, CompiledProgram):
            scheduling = program.scheduling()
            program, numbers = program.optimised(asked)
        else:
            _check(program)
            numbers = [number_in(program, x) for x in asked]
        scope = global_scope() if scope is None else scope
        with nullcontext() if self._device is None else device(self._device):
            values = {name: self._fed(program, name, x) for name, x in (feed or {}).items()}
            with scheduling:
                found = _C.execute(program, values, numbers, scope, donate_states)
        if return_numpy:
            return [np.asarray(x) for x in found]
        return [Tensor(x) for x in found]

    def _fed(self, program: Listing, name: str, x: Any) -> Any:
        value = stopped(unwrapped(x)) if isinstance(x, TensorBase) else None
        if value is None:
            number = program.find(name)
            # Lists and numbers have no dtype of their own; arrays are held against the program's.
            dtype = program.dtype(number) if number is not None and not _has_dtype(x) else None
            value = as_raw_tensor(x, dtype=dtype)
        return value


def _has_dtype(x: Any) -> bool:
    return hasattr(x, "dtype") or hasattr(x, "__dlpack__") or isinstance(x, memoryview)


def _check(program: Any) -> None:
    if not isinstance(program, Program):
        raise _C.ParameterError(
            "must be a Program, or a CompiledProgram", op="run", argument="program",
            got=type(program).__name__,
        )  # fmt: skip


def _value(x: Any) -> Any:
    return stopped(unwrapped(x)) if isinstance(x, TensorBase) else as_raw_tensor(x)
