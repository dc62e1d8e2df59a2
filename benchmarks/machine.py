"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from peers import versions

import tensorlike as tl


def describe(cores: int) -> str:
    """One line: the processor, the cores that are used, the memory, the versions, the load."""
    return ", ".join(
        [
            processor(),
            f"{cores} of {os.cpu_count()} cores",
            f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
            f"{tl.num_threads()} threads for all",
            f"Python {platform.python_version()}",
            *versions(),
            f"load {os.getloadavg()[0]:.1f}",
        ]
    )


def processor() -> str:
    """The name that the processor gives itself."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
