"""Random numbers: generators, keys, and the distributions on the process's own generator.

`tl.manual_seed` seeds what the functions here draw from. A draw is a function of a key, of the
number of the draw under this key and of the shape and dtype: the same for any number of threads, in
every mode of the engine, and when a program is run again. `Generator(seed)` has a sequence of its
own; `key(seed)` gives keys for functions without state.
"""

from __future__ import annotations

from .functional.random import *  # noqa: F403
from .functional.random import __all__ as __all__


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
