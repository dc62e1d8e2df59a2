"""Blocks that watch what Tensors are bound to, or what ops are applied, and finalizers of others.

Python may look for garbage at any allocation, and runs the finalizers of what it finds: somebody's
suspended block that puts tensors back, say. Where a block records or takes back what happens inside
of it, that would become a part of it, or be undone with it. The core puts what it knows of aside
meanwhile, in blocks of users, too (csrc/bind/collections.cpp); what else a call relies on, the
stream of random numbers, say, is safe where finalizers wait until it is over.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_blocks = 0  # that are going on, of all threads
_was_enabled = False  # outside of them


@contextmanager
def finalizers_wait() -> Iterator[None]:
    """A block in which Python looks for no garbage: of a call that ends soon, not of a user's."""
    global _blocks, _was_enabled
    with _lock:
        is_enabled = gc.isenabled()  # inside of another block: somebody enabled it meanwhile
        _was_enabled = is_enabled or (_blocks > 0 and _was_enabled)
        _blocks += 1
        if is_enabled:
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0 and _was_enabled:
                gc.enable()
