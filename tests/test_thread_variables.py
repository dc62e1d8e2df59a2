"""Libraries that are loaded while a program runs share little room for variables of threads.

The GNU loader keeps some 1.6 KB for all of them that were built to reach theirs at once, as ours
and OpenMP's are; whoever comes when it is used up can't be loaded ("cannot allocate memory in
static TLS block").
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tensorlike import _C

MOST = 900  # bytes of all of ours


def thread_bytes(library: Path) -> int:
    """The size of a 64-bit ELF file's segment of thread variables."""
    data = library.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        pytest.skip("no 64-bit ELF file")
    begin, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    for i in range(count):
        at = begin + i * size
        if struct.unpack_from("<I", data, at)[0] == 7:  # PT_TLS
            return int(struct.unpack_from("<Q", data, at + 40)[0])
    return 0


def test_little_room_for_thread_variables_is_taken() -> None:
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    ours = [Path(name) for name in sorted(loaded) if "libtensorlike.so" in name]
    assert _C.__file__ is not None and ours
    taken = {path.name: thread_bytes(path) for path in [Path(_C.__file__), *ours]}
    assert sum(taken.values()) <= MOST, taken
