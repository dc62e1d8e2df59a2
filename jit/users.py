"""What is the user's: code, classes and modules of no package that is installed."""

from __future__ import annotations

import dis
import functools
import os
import sys
import sysconfig
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_NOT_USERS = tuple(
    {_PACKAGE, *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib"))}
)


def is_users(code: CodeType) -> bool:
    """Whether it is code of the user's program."""
    return not code.co_filename.startswith((*_NOT_USERS, "<frozen", "<string"))


def is_ours(module: str) -> bool:
    """Whether a module's name is of this package."""
    return module.partition(".")[0] == __name__.partition(".")[0]


def is_users_module(module: ModuleType) -> bool:
    """Whether a module is of the user's program."""
    if module.__name__.partition(".")[0] in sys.stdlib_module_names:
        return module.__name__ == "__main__"
    file = getattr(module, "__file__", None)
    return not is_ours(module.__name__) and not (file or "").startswith(_NOT_USERS)


def is_users_class(cls: type) -> bool:
    """Whether a class is of the user's program."""
    name = cls.__module__
    module = sys.modules.get(name)
    if module is not None:
        return is_users_module(module)
    return name.partition(".")[0] not in sys.stdlib_module_names


def functions_of(cls: type) -> list[tuple[str, FunctionType]]:
    """The functions that a class defines, under their names, but for those that make and show."""
    found = []
    for name, x in vars(cls).items():
        if name in ("__new__", "__init_subclass__", "__repr__", "__del__", "__reduce__"):
            continue
        parts = (x.fget, x.fset) if isinstance(x, property) else (getattr(x, "__func__", x),)
        functions = (getattr(part, "func", part) for part in parts)  # of a cached property
        found += [(name, part) for part in functions if isinstance(part, FunctionType)]
    return found


def slots_of(cls: type) -> list[str]:
    """The names of attributes that a class keeps in slots."""
    return [
        name
        for base in cls.__mro__
        for name, x in vars(base).items()
        if isinstance(x, MemberDescriptorType) and not name.startswith("__")
    ]


@functools.cache
def stored_by(cls: type) -> frozenset[str]:
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


def dict_of(x: Any) -> dict[str, Any] | None:
    """The attributes of an object; None: it has no dict of them."""
    try:
        held = x.__dict__
    except Exception:  # whatever the user's code raises
        return None
    return held if isinstance(held, dict) else None
