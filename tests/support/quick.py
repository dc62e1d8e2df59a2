"""Which calls of a traced function went the quick way, and how to make them go the long one."""

from __future__ import annotations

from typing import Any

MODES: dict[str, dict[str, Any]] = {"sync": {}, "lazy": {"threshold": 1}, "async": {}}


def quick_calls(function: Any) -> int:
    return sum(quick.calls for quick in function._quick)


def the_long_way(function: Any, *args: Any) -> Any:
    """What the function gives without its quick calls."""
    kept, function._quick = function._quick, ()
    try:
        return function(*args)
    finally:
        function._quick = kept
