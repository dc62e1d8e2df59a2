"""The caching allocator: what is in use, what waits for reuse, and the limit."""

from __future__ import annotations

from . import _C
from ._C import empty_cache as empty_cache
from ._C import memory_stats as stats
from ._C import reset_peak_memory as reset_peak

__all__ = ["empty_cache", "reset_peak", "set_limit", "stats"]


def set_limit(limit: int | None) -> None:
    """The most bytes that may be in use; more is an OutOfMemoryError. None takes the limit away.

    Raises:
        ParameterError: the limit is no integer.
        ValueError: the limit is not positive.

    Example:
        >>> from tensorlike import memory
        >>> memory.set_limit(10**9)
        >>> memory.stats()["limit"]
        1000000000
        >>> memory.set_limit(None)
    """
    _C.set_memory_limit(limit)


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
