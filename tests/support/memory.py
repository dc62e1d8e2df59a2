"""What a process uses of memory, in bytes, as Linux tells it."""

from __future__ import annotations

from pathlib import Path


def field(name: str) -> int:
    (line,) = [
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith(f"{name}:")
    ]
    return int(line.split()[1]) << 10


def resident() -> int:
    return field("VmRSS")


def most_memory() -> int:
    """The most that was resident. (`getrusage` counts what the parent had when it forked, too.)"""
    return field("VmHWM")
