"""What a function reads of Python's state, found in its byte code before it runs.

Names are followed from globals, closures and `self` along attributes, into the user's own functions
and layers. What is found are guards, and the tensors that the function may meet.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sysconfig
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from .. import _C
from ..nn import Layer
from ..optim import Optimizer
from .bound_methods import ATTRIBUTE
from .python_guards import MISSING, Guard, Slots, is_container, is_plain

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_NOT_USERS = tuple(
    {_PACKAGE, *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib"))}
)
_LOADS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
# After these the same value is on top of the stack.
_KEEPING = (
    "PUSH_NULL", "CACHE", "PRECALL", "EXTENDED_ARG", "RESUME", "COPY_FREE_VARS", "COPY", "DUP_TOP",
    "NOT_TAKEN",
)  # fmt: skip
_DEEPEST = 6
# What is called to change a container, whatever is in it.
_CHANGING = ("add", "append", "clear", "discard", "extend", "insert", "update")
# What is on top of the stack: the value, how the function says it, and the guard of its name.
Top: TypeAlias = tuple[Any, str, Guard | None]


def is_users(code: CodeType) -> bool:
    """Whether it is code of the user's program: of no package that is installed."""
    return not code.co_filename.startswith((*_NOT_USERS, "<frozen", "<string"))


class Reading:
    """What a function reads.

    Attributes:
        guards: names and what they were.
        tensors: those that were found, by a name for people.
        reads_gradients: whether it asks for the `grad` of something.
    """

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self.tensors: list[tuple[str, Any]] = []
        self.reads_gradients = False
        self._guards: dict[Any, Guard] = {}
        self._given: Mapping[str, Any] = {}
        self._seen: set[Any] = set()
        self._held: list[Any] = []  # so that no other object gets the id of one that was seen

    def _is_new(self, *parts: Any) -> bool:
        key = tuple(map(id, parts))
        if key in self._seen:
            return False
        self._seen.add(key)
        self._held.append(parts)
        return True

    def guard(self, holder: Any, name: str, text: str, line: str, *, whole: bool = False) -> Guard:
        """Notes what a name is; `whole`: of a container, what is in it too."""
        key = (id(holder.owner) if isinstance(holder, Slots) else id(holder), name)
        if key not in self._guards:
            self._guards[key] = Guard(holder, name, text, line)
            self.guards.append(self._guards[key])
        if whole:
            self._guards[key].look_inside()
        return self._guards[key]

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Reads what is called, and what its code asks of objects among the arguments."""
        try:
            given = inspect.signature(function).bind(*args, **kwargs).arguments
        except (TypeError, ValueError):  # it will say so itself
            given = {}
        self._given = {name: x for name, x in given.items() if _is_object(x)}
        self.function(function)
        self._given = {}

    def function(self, function: Any, instance: Any = MISSING, name: str = "") -> None:
        """Reads a function, a method, or what is called like one."""
        if isinstance(function, MethodType):
            self.function(function.__func__, function.__self__)
        elif isinstance(function, functools.partial):
            self.function(function.func)
            for value in (*function.args, *function.keywords.values()):
                self.value(value, "an argument", name)
        elif isinstance(function, FunctionType):
            if is_users(function.__code__) and self._is_new(function, instance):
                given, self._given = self._given, {}  # which are the first one's
                _Code(self, function, instance, given).read(function.__code__)
                for value in (
                    *(function.__defaults__ or ()),
                    *(function.__kwdefaults__ or {}).values(),
                ):
                    self.value(value, f"a default of {function.__name__}", name)
        elif isinstance(function, Layer):
            self.layer(function, "self", name)
        elif hasattr(function, "__wrapped__"):
            self.function(function.__wrapped__, instance)
        elif not isinstance(function, type):
            call = inspect.getattr_static(type(function), "__call__", None)
            if isinstance(call, FunctionType):
                self.function(call, function)

    def value(self, x: Any, text: str, line: str, depth: int = 0) -> None:
        """Looks into a value that the function has got hold of."""
        if is_plain(x) or isinstance(x, (type, ModuleType)) or depth > _DEEPEST:
            return
        if isinstance(x, _C.TensorWrapper):
            if self._is_new(x):
                self.tensors.append((text, x))
        elif isinstance(x, Layer):
            self.layer(x, text, line)
        elif isinstance(x, Optimizer):
            self.optimizer(x, text, line)
        elif is_container(x):
            if self._is_new(x):
                items: Any = x.items() if isinstance(x, dict) else enumerate(x)
                for key, item in items:
                    self.value(item, f"{text}[{key!r}]", line, depth + 1)
        elif callable(x):
            self.function(x, name=line)

    def layer(self, layer: Any, text: str, line: str) -> None:
        """Reads a layer: what its code reads, or, of one of this package, all that it holds."""
        if not self._is_new(layer):
            return
        forward = inspect.getattr_static(type(layer), "forward", None)
        is_own = isinstance(forward, FunctionType) and is_users(forward.__code__)
        # What its code sets counts where it is read.
        cls: Any = type(layer)
        stored = _stored_by(cls) if is_own else frozenset()
        for name in list(vars(layer)):
            x = vars(layer)[name]
            if name == ATTRIBUTE:
                continue
            if name not in stored:
                self.guard(vars(layer), name, f"{text}.{name}", line, whole=True)
            self.value(x, f"{text}.{name}", line)
        if "training" not in vars(layer):
            self.guard(vars(layer), "training", f"{text}.training", line)
        if is_own:
            self.function(forward, layer)

    def optimizer(self, optimizer: Any, text: str, line: str) -> None:
        """Reads an optimiser: its settings, its parameters and its state."""
        if not self._is_new(optimizer):
            return
        counted = getattr(optimizer, "counted", ())
        for name, x in list(vars(optimizer).items()):
            if name in counted:
                continue
            self.guard(vars(optimizer), name, f"{text}.{name}", line, whole=True)
            self.value(x, f"{text}.{name}", line)


def _is_object(x: Any) -> bool:
    """Whether it has attributes that a function may depend on."""
    return not (is_plain(x) or is_container(x) or isinstance(x, (_C.TensorBase, np.ndarray)))


class _Code:
    """Follows names through the byte code of one function."""

    def __init__(
        self,
        reading: Reading,
        function: FunctionType,
        instance: Any,
        given: Mapping[str, Any],
    ) -> None:
        self.reading = reading
        self.globals = function.__globals__
        self.instance = instance
        names = function.__code__.co_freevars
        self.cells = dict(zip(names, function.__closure__ or (), strict=True))
        self.known: dict[str, Top] = {name: (x, name, None) for name, x in given.items()}
        if instance is not MISSING and function.__code__.co_argcount:
            first = function.__code__.co_varnames[0]
            self.known[first] = (instance, first, None)

    def read(self, code: CodeType) -> None:
        """All that the code, and functions that are written in it, read."""
        line = code.co_firstlineno
        top: Top | None = None
        for step in dis.get_instructions(code):
            line = _line_of(step, line)
            place = f"{code.co_filename}:{line}"
            found = self._step(step, top, place)
            if top is not None and found is not _FOLLOWED:
                self._escapes(top, place)
            top = found if isinstance(found, tuple) else self._followed
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.read(constant)
        if "super" in code.co_names and self.instance is not MISSING:
            self._read_overridden(code.co_names)

    def _read_overridden(self, names: Sequence[str]) -> None:
        """What `super()` may call: functions of these names of all classes."""
        for cls in type(self.instance).__mro__:
            for name in names:
                if isinstance(function := vars(cls).get(name), FunctionType):
                    self.reading.function(function, self.instance)

    _followed: Top | None = None

    def _step(self, step: Any, top: Any, place: str) -> Any:
        name = step.opname
        self._followed = None
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            if step.argval == "grad":
                self.reading.reads_gradients = True
            if top is None:
                return None
            self._followed = self._attribute(top, step.argval, place)
            return _FOLLOWED
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            return self._global(step.argval, place)
        if name in ("LOAD_DEREF", "LOAD_CLASSDEREF") and step.argval in self.cells:
            cell = self.cells[step.argval]
            return _top(self.reading.guard(cell, step.argval, step.argval, place))
        if name in _LOADS or name == "LOAD_DEREF":
            return self.known.get(step.argval)
        if name == "LOAD_FAST_LOAD_FAST":
            if (first := self.known.get(step.argval[0])) is not None:
                self._escapes(first, place)
            return self.known.get(step.argval[1])
        if name in ("STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):
            return self._stored(step, top)
        if name == "STORE_FAST":
            if top is not None:
                self.known[step.argval] = top
                return _FOLLOWED
            self.known.pop(step.argval, None)
        if name in ("STORE_ATTR", "DELETE_ATTR"):
            return _FOLLOWED
        if name in _KEEPING:
            self._followed = top
            return _FOLLOWED
        return None

    def _stored(self, step: Any, top: Top | None) -> Any:
        """Two steps in one, as Python 3.13 has them."""
        first, second = step.argval
        self.known.pop(first, None)
        if top is not None:
            self.known[first] = top
        if step.opname == "STORE_FAST_STORE_FAST":
            self.known.pop(second, None)
            return None if top is None else _FOLLOWED
        return self.known.get(second)

    def _global(self, name: str, place: str) -> Any:
        if name not in self.globals:
            return None  # a built-in one
        return _top(self.reading.guard(self.globals, name, name, place))

    def _attribute(self, top: Top, name: str, place: str) -> Any:
        owner, text, guard = top
        text = f"{text}.{name}"
        if is_container(owner) and name not in _CHANGING and guard is not None:
            guard.look_inside()
        if isinstance(owner, ModuleType):
            if owner.__name__.partition(".")[0] == __name__.partition(".")[0]:
                return None
            return _top(self.reading.guard(vars(owner), name, text, place))
        if isinstance(owner, _C.TensorBase):
            self.reading.value(owner, top[1], place)
            return None
        if isinstance(owner, (Layer, Optimizer)):
            self.reading.value(owner, top[1], place)
        held: Any = getattr(owner, "__dict__", None)
        if held is not None and not isinstance(owner, type) and name in held:
            return _top(self.reading.guard(held, name, text, place))
        if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
            return getattr(owner, name), text, None
        for cls in owner.__mro__ if isinstance(owner, type) else type(owner).__mro__:
            if name not in vars(cls):
                continue
            found = self.reading.guard(vars(cls), name, text, place)
            value = found.was
            if isinstance(value, MemberDescriptorType):  # of __slots__
                return _top(self.reading.guard(Slots(owner), name, text, place))
            if held is not None and not isinstance(owner, type):
                self.reading.guard(held, name, text, place)  # nothing, as yet
            return self._of_class(owner, value, text, found)
        return None

    def _of_class(self, owner: Any, value: Any, text: str, guard: Guard) -> Any:
        if isinstance(value, property):
            self.reading.function(value.fget, owner)
            return None
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, FunctionType):
            self.reading.function(value, owner)
            return None
        return value, text, guard

    def _escapes(self, top: Top, place: str) -> None:
        """A value goes where its attributes are not followed: all that it holds counts."""
        value, text, guard = top
        if guard is not None:
            guard.look_inside()
        self.reading.value(value, text, place)
        held = getattr(value, "__dict__", None)
        is_object = held is not None and not isinstance(
            value, (type, ModuleType, FunctionType, Layer, Optimizer, _C.TensorBase)
        )
        if is_object and _is_of_user(type(value)) and self.reading._is_new(value, held):
            assert held is not None
            for name, x in list(held.items()):
                self.reading.guard(held, name, f"{text}.{name}", place, whole=True)
                self.reading.value(x, f"{text}.{name}", place)


_FOLLOWED: Any = object()


def _top(guard: Guard) -> Top | None:
    return None if guard.was is MISSING else (guard.was, guard.text, guard)


def _line_of(step: Any, line: int) -> int:
    positions = getattr(step, "positions", None)
    if positions is not None:
        return positions.lineno or line
    return step.starts_line or line  # Python 3.10


@functools.cache
def _stored_by(cls: type) -> frozenset[str]:
    """The attributes that functions of a class set, but for those that make an instance."""
    functions = [
        function
        for base in cls.__mro__
        for name, function in vars(base).items()
        if isinstance(function, FunctionType) and name not in ("__init__", "build")
    ]
    users = [function for function in functions if is_users(function.__code__)]
    return frozenset(
        step.argval
        for function in users
        for step in dis.get_instructions(function)
        if step.opname == "STORE_ATTR"
    )


def _is_of_user(cls: type) -> bool:
    functions = [x for x in vars(cls).values() if isinstance(x, FunctionType)]
    return any(is_users(f.__code__) for f in functions)
