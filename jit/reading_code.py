"""Follows what a function reads of Python's state through its byte code.

Names are followed from globals, closures, imports and `self` along attributes, into the user's own
functions and layers. What is found are guards, and the tensors that the function may meet; a value
that goes elsewhere escapes, and is looked into as a whole (`reading.py`).
"""

from __future__ import annotations

import dis
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MemberDescriptorType, MethodDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _C
from ..nn import Layer
from ..optim import Optimizer
from .python_guards import MISSING, Fields, Guard, is_container
from .users import dict_of, is_ours, is_users, slots_of

if TYPE_CHECKING:
    from .reading import Reading

_LOADS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
# After these the same value is on top of the stack.
_KEEPING = (
    "PUSH_NULL", "CACHE", "PRECALL", "EXTENDED_ARG", "RESUME", "COPY_FREE_VARS", "COPY", "DUP_TOP",
    "NOT_TAKEN",
)  # fmt: skip
# What is called to put something into a container, whatever is in it.
_ADDING = ("add", "append", "extend", "update")
# Who asks for attributes by texts.
_BY_TEXT = ("getattr", "hasattr")
# Who reads objects as a whole, or by names that are computed.
_WHOLE = {
    "__dict__", "asdict", "astuple", "copy", "deepcopy", "dir", "dumps", "fields", "getattr",
    "replace", "vars",
}  # fmt: skip
# What is on top of the stack: the value, how the function says it, and the guard of its name.
Top: TypeAlias = tuple[Any, str, Guard | None]


class CodeReader:
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
        self._code = code
        self._bindings = _bindings(code)
        self._note_texts(code, f"{code.co_filename}:{line}")
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
    _constants: tuple[Any, Any] = (0, None)
    _module: ModuleType | None = None

    def _step(self, step: Any, top: Any, place: str) -> Any:
        name = step.opname
        self._followed = None
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            self.reading.names.add(step.argval)
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
            return self._bound(step.argval, top)
        if name in ("LOAD_CONST", "IMPORT_NAME", "IMPORT_FROM"):
            return self._imported(step, place)
        if name in ("STORE_ATTR", "DELETE_ATTR"):
            if top is not None:
                self._note_set(top[0], step.argval)
            return _FOLLOWED
        if name == "MATCH_CLASS":  # by position
            self.reading.reads_all = True
        if name == "STORE_GLOBAL":
            self.reading.before.note_name(self.globals, step.argval)
        if name == "STORE_DEREF" and step.argval in self.cells:
            self.reading.before.note_name(self.cells[step.argval], step.argval)
        if name in _KEEPING:
            self._followed = top
            return _FOLLOWED
        return None

    def _note_set(self, owner: Any, name: str) -> None:
        """An attribute is about to be another."""
        self.reading.before.note_attributes(owner)
        if name in slots_of(type(owner)):
            self.reading.before.note_name(Fields(owner), name)

    def _stored(self, step: Any, top: Top | None) -> Any:
        """Two steps in one, as Python 3.13 has them."""
        first, second = step.argval
        stored = self._bound(first, top)
        if step.opname == "STORE_FAST_STORE_FAST":
            self.known.pop(second, None)
            return stored
        if top is not None and stored is not _FOLLOWED:
            self._escapes(top, "")
        return self.known.get(second)

    def _bound(self, name: str, top: Top | None) -> Any:
        """A name is a value from here on, and in other steps of a loop, or branches, another."""
        self.known.pop(name, None)
        if top is None:
            return None
        self.known[name] = top
        return _FOLLOWED if self._bindings[name] == 1 else None

    def _imported(self, step: Any, place: str) -> Any:
        """Modules that a function imports, and what it takes of them."""
        name = step.opname
        if name == "LOAD_CONST":
            self._constants = (self._constants[-1], step.argval)
            return None
        if name == "IMPORT_NAME":
            level, taken = self._constants
            said = "." * level + step.argval if isinstance(level, int) else step.argval
            self._module = _module(said, self.globals, is_whole=bool(taken))
            return None if self._module is None else (self._module, step.argval, None)
        if (module := self._module) is None:
            return None
        found = self._attribute((module, module.__name__, None), step.argval, place)
        inner = sys.modules.get(f"{module.__name__}.{step.argval}")
        if not self._constants[1]:  # the next part of `import a.b.c as d`
            self._module = inner
        return found if found is not None or inner is None else (inner, step.argval, None)

    def _note_texts(self, code: CodeType, place: str) -> None:
        """Texts that may be names."""
        texts = set(_texts(code.co_consts))
        self.reading.names |= texts
        self.reading.reads_all |= not _WHOLE.isdisjoint(code.co_names)
        if any(name in code.co_names for name in _BY_TEXT):
            self.reading.words |= texts
        if "globals" in code.co_names:
            for name in sorted(texts & set(self.globals)):
                self._escapes(_top(self.reading.guard(self.globals, name, name, place)), place)

    def _global(self, name: str, place: str) -> Any:
        if name not in self.globals:
            return None  # a built-in one
        return _top(self.reading.guard(self.globals, name, name, place))

    def _attribute(self, top: Top, name: str, place: str) -> Any:
        owner, text, guard = top
        text = f"{text}.{name}"
        self.reading.before.note(owner)
        if is_container(owner) and name not in _ADDING and guard is not None:
            guard.look_inside()
        if isinstance(owner, ModuleType):
            if is_ours(owner.__name__):
                return None
            return _top(self.reading.guard(vars(owner), name, text, place))
        if isinstance(owner, _C.TensorBase):
            self.reading.value(owner, top[1], place)
            return None
        if isinstance(owner, (Layer, Optimizer)):
            self.reading.value(owner, top[1], place)
        if name == "__class__":
            return type(owner), text, None
        self.reading.before.note_attributes(owner)
        held = dict_of(owner)
        if held is not None and not isinstance(owner, type) and name in held:
            return _top(self.reading.guard(held, name, text, place))
        if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
            return getattr(owner, name), text, None
        for cls in owner.__mro__ if isinstance(owner, type) else type(owner).__mro__:
            if name not in vars(cls):
                continue
            found = self.reading.guard(self.reading.held_by(cls), name, text, place)
            value = found.was
            if isinstance(value, MemberDescriptorType):  # of __slots__
                return _top(self.reading.guard(Fields(owner), name, text, place))
            if held is not None and not isinstance(owner, type):
                self.reading.guard(held, name, text, place)  # nothing, as yet
            return self._of_class(top, value, text, found, place)
        self._escapes(top, place)  # its class may answer for it
        return None

    def _of_class(self, top: Top, value: Any, text: str, guard: Guard, place: str) -> Any:
        owner = top[0]
        if isinstance(value, property):
            self._followed_into(value.fget, owner, top, place)
            return None
        if isinstance(value, classmethod) and not isinstance(owner, type):
            owner = type(owner)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, FunctionType):
            self._followed_into(value, owner, top, place)
            return None
        if hasattr(type(value), "__get__") and not isinstance(owner, type):
            is_added = isinstance(value, MethodDescriptorType) and value.__name__ in _ADDING
            if not (is_added and is_container(owner)):
                self._escapes(top, place)
            self.reading.value(value, text, place)
            return None
        return value, text, guard

    def _followed_into(self, function: Any, owner: Any, top: Top, place: str) -> None:
        """A function of the user's is read with its instance; another may ask for anything."""
        if isinstance(function, FunctionType) and is_users(function.__code__):
            self.reading.function(function, owner)
        else:
            self._escapes(top, place)

    def _escapes(self, top: Top | None, place: str) -> None:
        """A value goes where its attributes are not followed: all that it holds counts."""
        if top is None:
            return
        value, text, guard = top
        if guard is not None:
            guard.look_inside()
        self.reading.value(value, text, place)


_FOLLOWED: Any = object()


def _top(guard: Guard) -> Top | None:
    is_followed = guard.was is not MISSING and not guard.is_given
    return (guard.was, guard.text, guard) if is_followed else None


def _line_of(step: Any, line: int) -> int:
    positions = getattr(step, "positions", None)
    if positions is not None:
        return positions.lineno or line
    return step.starts_line or line  # Python 3.10


def _bindings(code: CodeType) -> Counter[str]:
    """How often names are bound to values."""
    count = code.co_argcount + code.co_kwonlyargcount
    found = Counter(code.co_varnames[:count])
    for step in dis.get_instructions(code):
        if step.opname.startswith("STORE_FAST"):
            found.update(step.argval[:1] if isinstance(step.argval, tuple) else [step.argval])
    return found


def _texts(constants: Sequence[Any]) -> Iterator[str]:
    for x in constants:
        if isinstance(x, tuple):
            yield from _texts(x)
        elif isinstance(x, str) and x.isidentifier():
            yield x


def _module(name: str, names: Mapping[str, Any], *, is_whole: bool) -> ModuleType | None:
    """A module that a function imports, if it is there; `is_whole`: not the package around it."""
    try:
        full = importlib.util.resolve_name(name, names.get("__package__"))
    except (ImportError, ValueError):
        return None
    return sys.modules.get(full if is_whole else full.partition(".")[0])
