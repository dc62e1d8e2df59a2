"""Names of a package whose modules are loaded when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late(package: str, module_of: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Args:
        package: its ``__name__``.
        module_of: the module that has each name, as an import within the package writes it; ``""``
            for a name that is a module itself.
    """

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if module_of[name]:
            value = getattr(import_module(module_of[name], package), name)
        else:
            value = import_module(f".{name}", package)
        setattr(sys.modules[package], name, value)
        return value

    return load
