"""The caching allocator: what is in use, what waits for reuse, and the limit."""

from __future__ import annotations

from ._C import empty_cache as empty_cache
from ._C import memory_stats as stats
from ._C import reset_peak_memory as reset_peak
from ._C import set_memory_limit as set_limit

__all__ = ["empty_cache", "reset_peak", "set_limit", "stats"]
