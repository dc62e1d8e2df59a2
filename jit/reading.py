"""What a function reads of Python's state, found before it runs.

Its byte code is followed as far as it goes (`reading_code.py`). A value that goes where that does
not follow it (into a container, to a function, around a loop) may have anything of it read: then
all that it holds counts, and those of its methods that somebody names are read as well.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .. import _C
from ..nn import Layer
from ..optim import Optimizer
from .bound_methods import ATTRIBUTE
from .putting_back import Before, id_of
from .python_guards import MISSING, Fields, Guard, Variable, is_container, is_plain, read
from .reading_code import CodeReader
from .state import State, is_tree
from .users import (
    dict_of,
    functions_of,
    is_ours,
    is_users,
    is_users_class,
    is_users_module,
    slots_of,
    stored_by,
)

_DEEPEST = 40
# So many attributes of objects are watched; of objects of installed packages so many.
_MOST_FIELDS = 4000
_MOST_OF_PACKAGES = 64
_NOT_LOOKED_INTO = (
    BuiltinFunctionType, CodeType, Enum, FunctionType, MethodType, np.ndarray, np.generic, property,
    _C.TensorBase,
)  # fmt: skip


class Asked(NamedTuple):
    """What somebody may ask for by a name, once it is known which names there are."""

    holder: Any
    names: frozenset[str]
    text: str
    line: str
    is_object: bool  # of the user's, which code that knows no names may read as a whole

    def names_for(self, reading: Reading) -> list[str]:
        """Those that are asked for, and texts that may be names of what is not there."""
        is_whole = self.is_object and reading.reads_all
        found = self.names if is_whole else self.names & reading.names
        missing = set() if isinstance(self.holder, Fields) else reading.words - set(self.holder)
        return sorted(found | missing)


class Reading:
    """What a function reads.

    Attributes:
        guards: names and what they were.
        tensors: those that were found, by a name for people.
        reads_gradients: whether it asks for the `grad` of something.
        names: the attributes that code which was read asks for.
        words: texts in code that asks for attributes by texts.
        reads_all: whether some code reads objects without saying names.
        before: notes what the function may change.
        state: the names whose values are given with the arguments.
    """

    def __init__(self, before: Before, state: State | None = None) -> None:
        self.guards: list[Guard] = []
        self.tensors: list[tuple[str, Any]] = []
        self.reads_gradients = False
        self.names: set[str] = set()
        self.words: set[str] = set()
        self.reads_all = False
        self.before = before
        self.state = State() if state is None else state
        self._guards: dict[Any, Guard] = {}
        self._given: Mapping[str, Any] = {}
        self._seen: set[Any] = set()
        self._class_dicts: dict[type, Any] = {}
        self._names_of_classes: dict[type, frozenset[str]] = {}
        self._fields_left = {True: _MOST_FIELDS, False: _MOST_OF_PACKAGES}
        self._held: list[Any] = []  # so that no other object gets the id of one that was seen
        self._methods: list[tuple[type, Any, str]] = []  # of what has escaped; and the instance
        self._later: list[Asked] = []

    def _is_new(self, *parts: Any) -> bool:
        key = tuple(map(id, parts))
        if key in self._seen:
            return False
        self._seen.add(key)
        self._held.append(parts)
        return True

    def guard(
        self,
        holder: Any,
        name: str,
        text: str,
        line: str,
        *,
        whole: bool = False,
        is_guessed: bool = False,
    ) -> Guard:
        """Notes what a name is.

        Args:
            holder: what has it.
            name: the name.
            text: how the function says it.
            line: where.
            whole: of a container, what is in it counts, too.
            is_guessed: it counts only where the function leaves it alone.
        """
        key = (id_of(holder), name)
        if key not in self._guards:
            self._guards[key] = Guard(holder, name, text, line)
            self._guards[key].is_guessed = is_guessed
            self._guards[key].is_given = self._is_given(holder, name)
            self.guards.append(self._guards[key])
        self._guards[key].is_guessed &= is_guessed
        if whole:
            self._guards[key].look_inside()
        return self._guards[key]

    def _is_given(self, holder: Any, name: str) -> bool:
        """Whether what a name is stands among the arguments."""
        return self.state.has(holder, name) and is_tree(read(holder, name))

    def given(self) -> list[Guard]:
        """The names whose values are given."""
        return [guard for guard in self.guards if guard.is_given]

    def _guarded(self, guard: Guard, depth: int = 0) -> None:
        """Looks into what a name is."""
        if not guard.is_given:
            self.value(guard.was, guard.text, guard.line, depth)

    def held_by(self, cls: type) -> Any:
        """The attributes of a class, as the same mapping each time."""
        return self._class_dicts.setdefault(cls, vars(cls))

    def call(
        self,
        function: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        tensors: Sequence[Any] = (),
    ) -> None:
        """Reads what is called, and what its code asks of objects among the arguments.

        Args:
            function: what is called.
            args: its arguments.
            kwargs: those by name.
            tensors: those among them, which are others in each call.
        """
        try:
            given = inspect.signature(function).bind(*args, **kwargs).arguments
        except (TypeError, ValueError):  # it will say so itself
            given = {}
        self.before.note_all(self.state.values())
        self._given = {name: x for name, x in given.items() if _is_object(x)}
        followed = set(map(id, self._given.values()))
        self.function(function)
        self._given = {}
        before = len(self.tensors)
        for name, x in given.items():
            if id(x) not in followed or not isinstance(function, (FunctionType, MethodType)):
                self._argument(x, name)
        others = set(map(id, tensors))
        self.tensors[before:] = [x for x in self.tensors[before:] if id(x[1]) not in others]
        self._follow_what_is_named()

    def _argument(self, x: Any, name: str) -> None:
        """Reads an argument, of which more may count than which it is."""
        if type(x) in (list, tuple, dict) or is_dataclass(x):  # what is in it is a part of the call
            items = [getattr(x, f.name, None) for f in fields(x)] if is_dataclass(x) else x
            for item in items.values() if isinstance(items, dict) else items:
                self._argument(item, name)
        elif is_container(x):
            self.guard({name: x}, name, name, "", whole=True)
        if not isinstance(x, _C.TensorBase):
            self.value(x, name, "")

    def function(self, function: Any, instance: Any = MISSING, name: str = "") -> None:
        """Reads a function, a method, or what is called like one."""
        if isinstance(function, MethodType):
            self.function(function.__func__, function.__self__, name)
        elif isinstance(function, FunctionType):
            if not is_users(function.__code__):
                self._function_of_package(function, name)
            elif self._is_new(function, instance):
                given, self._given = self._given, {}  # which are the first one's
                CodeReader(self, function, instance, given).read(function.__code__)
                self._fields(function, ("__defaults__", "__kwdefaults__"), function.__name__, name)
        elif isinstance(function, Layer):
            self.layer(function, "self", name)
        elif isinstance(function, partial):
            self.function(function.func, name=name)
            self._fields(function, ("args", "keywords"), "partial", name)
        elif not isinstance(function, type):
            wrapped = inspect.getattr_static(function, "__wrapped__", None)
            if wrapped is not None:
                self.function(wrapped, instance, name)
            call = inspect.getattr_static(type(function), "__call__", None)
            if isinstance(call, FunctionType):
                self.function(call, function, name)

    def _function_of_package(self, function: FunctionType, line: str) -> None:
        """What it may ask of objects of its module, as `os.getenv` does of `os.environ`."""
        for name in () if is_ours(function.__module__ or "") else function.__code__.co_names:
            x = function.__globals__.get(name)
            if dict_of(x) and not (callable(x) or isinstance(x, (*_NOT_LOOKED_INTO, ModuleType))):
                self._guarded(self.guard(function.__globals__, name, name, line, is_guessed=True))

    def _fields(self, owner: Any, names: Sequence[str], text: str, line: str) -> None:
        """Attributes that are in no dict."""
        for name in names:
            x = getattr(owner, name, MISSING)
            if x is not MISSING and x is not None:
                self._guarded(self.guard(Fields(owner), name, f"{text}.{name}", line, whole=True))

    def value(self, x: Any, text: str, line: str, depth: int = 0) -> None:
        """Looks into a value that the function has got hold of."""
        if is_plain(x) or depth > _DEEPEST or not self._is_looked_into(x, text, line):
            return
        if isinstance(x, _C.TensorWrapper):
            if self._is_new(x):
                self.tensors.append((text, x))
        elif isinstance(x, Layer):
            self.layer(x, text, line)
        elif isinstance(x, Optimizer):
            self.optimizer(x, text, line)
        elif is_container(x):
            self.before.note(x)
            if self._is_new(x):
                items: Any = x.items() if isinstance(x, dict) else enumerate(x)
                for key, item in items:
                    self.value(item, f"{text}[{key!r}]", line, depth + 1)
        else:
            if callable(x):
                self.function(x, name=line)
            self._object(x, text, line, depth)

    def _is_looked_into(self, x: Any, text: str, line: str) -> bool:
        """Whether a value is more than names; these are asked for once it is known which."""
        if isinstance(x, type):
            self._class(x, MISSING, text, line)
        elif isinstance(x, ModuleType):
            if is_users_module(x) and self._is_new(x):
                self._later.append(Asked(vars(x), frozenset(vars(x)), text, line, False))
        elif isinstance(x, ContextVar):
            self.guard(Variable(x), "value", f"{text}.get()", line, whole=True)
        elif isinstance(x, weakref.ref):
            self.value(x(), f"{text}()", line)
        else:
            return True
        return False

    def _object(self, x: Any, text: str, line: str, depth: int) -> None:
        """All that an object holds."""
        cls = type(x)
        if isinstance(x, _NOT_LOOKED_INTO) or is_ours(cls.__module__) or not self._is_new(x, cls):
            return
        held = dict_of(x)
        self.before.note_attributes(x)
        if not is_users_class(cls):
            self._object_of_package(x, held, text, line, depth)
        elif held is not None:
            self._later.append(Asked(held, self._named_in(cls) | held.keys(), text, line, True))
        if slots := slots_of(cls):
            self._later.append(Asked(Fields(x), frozenset(slots), text, line, True))
        self._class(cls, MISSING, text, line)

    def _object_of_package(
        self, x: Any, held: dict[str, Any] | None, text: str, line: str, depth: int
    ) -> None:
        """What a package's code may read of an object, as far as the function leaves it alone."""
        for name in () if held is None else list(held):
            if name == ATTRIBUTE or not self._fields_left[False]:
                continue
            self._fields_left[False] -= 1
            guard = self.guard(held, name, f"{text}.{name}", line, whole=True, is_guessed=True)
            self._guarded(guard, depth + 1)
        if held is not None:
            self._later.append(Asked(held, frozenset(), text, line, False))

    def _named_in(self, cls: type) -> frozenset[str]:
        """The names that a class and its bases have."""
        if cls not in self._names_of_classes:
            names = [name for base in cls.__mro__[:-1] for name in self.held_by(base)]
            self._names_of_classes[cls] = frozenset(names)
        return self._names_of_classes[cls]

    def _class(self, cls: type, instance: Any, text: str, line: str) -> None:
        """What the classes of the user that it stands on hold, and such methods as are named."""
        if not self._is_new(cls, instance):
            return
        for base in filter(is_users_class, cls.__mro__):
            if instance is MISSING:
                held = self.held_by(base)
                self._later.append(Asked(held, frozenset(held), text, line, False))
            self._methods.append((base, instance, line))
        if type(cls) is not type and is_users_class(type(cls)):
            self._class(type(cls), MISSING, text, line)

    def _follow_what_is_named(self) -> None:
        """Reads what has escaped and is asked for by its name somewhere."""
        done: set[Any] = set()
        while True:
            before = len(done)
            for cls, instance, line in list(self._methods):
                for name, function in functions_of(cls):
                    is_named = name in self.names or name.startswith("__")
                    if is_named and (id(function), id(instance)) not in done:
                        done.add((id(function), id(instance)))
                        if function.__code__.co_filename == "<string>":  # made for the class
                            self.names.update(function.__code__.co_names)
                        self.function(function, instance, line)
            for asked in list(self._later):
                for name in asked.names_for(self):
                    if not name.startswith("__") and (id(asked.holder), name) not in done:
                        done.add((id(asked.holder), name))
                        self._asked(asked, name)
            if len(done) == before:
                return

    def _asked(self, asked: Asked, name: str) -> None:
        """Somebody may ask for that name."""
        if asked.is_object:
            if name == ATTRIBUTE or not self._fields_left[True]:
                return
            self._fields_left[True] -= 1
        guard = self.guard(
            asked.holder, name, f"{asked.text}.{name}", asked.line, whole=True,
            is_guessed=not asked.is_object,
        )  # fmt: skip
        self._guarded(guard)

    def layer(self, layer: Any, text: str, line: str) -> None:
        """Reads a layer: what its code reads, or, of one of this package, all that it holds."""
        if not self._is_new(layer):
            return
        self.before.note_attributes(layer)
        forward = inspect.getattr_static(type(layer), "forward", None)
        is_own = isinstance(forward, FunctionType) and is_users(forward.__code__)
        # What its code sets counts where it is read.
        cls: Any = type(layer)
        stored = stored_by(cls) if is_own else frozenset()
        for name in list(vars(layer)):
            x = vars(layer)[name]
            if name == ATTRIBUTE or self._is_given(vars(layer), name):
                continue
            if name not in stored:
                self.guard(vars(layer), name, f"{text}.{name}", line, whole=True)
            if name not in stored or isinstance(x, (_C.TensorBase, Layer)) or is_container(x):
                self.value(x, f"{text}.{name}", line)
        if "training" not in vars(layer):
            self.guard(vars(layer), "training", f"{text}.training", line)
        if is_own:
            self._later.append(Asked(vars(layer), stored, text, line, False))
            self._class(cls, layer, text, line)
            self.function(forward, layer)

    def optimizer(self, optimizer: Any, text: str, line: str) -> None:
        """Reads an optimiser: its settings, its parameters and its state."""
        if not self._is_new(optimizer):
            return
        counted = getattr(optimizer, "counted", ())
        for name in list(vars(optimizer)):
            if name in counted:
                continue
            self._guarded(self.guard(vars(optimizer), name, f"{text}.{name}", line, whole=True))


def _is_object(x: Any) -> bool:
    """Whether it has attributes that a function may depend on."""
    return not (is_plain(x) or is_container(x) or isinstance(x, (_C.TensorBase, np.ndarray)))
