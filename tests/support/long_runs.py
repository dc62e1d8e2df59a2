"""Fuzzers that go on for a time: as long as each usually does, or as FUZZ_SECONDS says.

Every day they draw other cases; the seed is in the text of a failure.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator


def seconds(usual: int) -> int:
    """How long a fuzzer goes on."""
    return int(os.environ.get("FUZZ_SECONDS", usual))


def today() -> int:
    """The day, as a number."""
    return int(time.time()) // 86_400


def seeds(usual: int) -> Iterator[int]:
    """Those of the day, until the time is over."""
    end = time.monotonic() + seconds(usual)
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(today() * 10**6))
