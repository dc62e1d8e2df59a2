"""Rules: ops of ONNX whose meaning depends on more than a body can say, a file for each family."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

# Each of them adds its rules to the table.
FAMILIES = tuple(import_module(f".{family.name}", __name__) for family in iter_modules(__path__))
