"""Loads the core and what stands on it, while Python's collector waits.

What an import makes lives on, so that a search for garbage in between finds none, and looks through
all that NumPy has made as well: a seventh of the time.
"""

from __future__ import annotations

import gc
from importlib import import_module

_collects = gc.isenabled()
gc.disable()
try:
    import_module(".imperative", __package__)
finally:
    if _collects:
        gc.enable()
