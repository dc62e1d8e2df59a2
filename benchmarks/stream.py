"""The bandwidth that a plain C++ loop reaches: stream.cpp, compiled here and called in turns."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from peers import Array, Build, Call

import tensorlike as tl

SOURCE = Path(__file__).with_name("stream.cpp")
PLAIN, PAST_CACHES = "STREAM, plain stores", "STREAM, non-temporal stores"


@functools.cache
def library() -> ctypes.CDLL:
    """stream.cpp, compiled for this machine."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "stream.so"
        options = ["-std=c++20", "-O3", "-march=native", "-shared", "-fPIC", "-pthread"]
        compiler = os.environ.get("CXX", "g++")
        subprocess.run([compiler, *options, str(SOURCE), "-o", str(made)], check=True)
        loaded = ctypes.CDLL(str(made))
    loaded.stream_allocate.restype = ctypes.c_void_p
    loaded.stream_allocate.argtypes = [ctypes.c_size_t]
    loaded.stream_free.argtypes = [ctypes.c_void_p]
    pointers = [ctypes.c_void_p] * 3
    loaded.stream_add.argtypes = [*pointers, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
    return loaded


def contenders(size: int, inputs: Sequence[Array]) -> dict[str, Build]:
    """Both kinds of stores, on the same numbers."""
    return {
        PLAIN: lambda: _call(size, inputs, past_caches=False),
        PAST_CACHES: lambda: _call(size, inputs, past_caches=True),
    }


def _call(size: int, inputs: Sequence[Array], *, past_caches: bool) -> Call:
    threads = tl.num_threads()
    if size % (16 * threads):
        raise ValueError(f"stream: {size} elements cannot be shared by {threads} threads")
    code = library()
    memory = [_Memory(code, size) for _ in range(3)]
    views = [part.array for part in memory]
    for view, x in zip(views, inputs, strict=False):
        view[:] = x
    addresses = [part.address for part in memory]
    result = views[2]

    def call() -> Array:
        code.stream_add(*addresses, size, threads, past_caches)
        return result

    call.memory = memory  # type: ignore[attr-defined]
    return call


class _Memory:
    """Floats on large pages."""

    def __init__(self, code: ctypes.CDLL, size: int) -> None:
        self.code = code
        self.address = code.stream_allocate(size)
        if not self.address:
            raise MemoryError(f"stream: no memory for {size} floats")
        floats = ctypes.cast(self.address, ctypes.POINTER(ctypes.c_float))
        self.array: Array = np.ctypeslib.as_array(floats, (size,))
        self.array[:] = 0

    def __del__(self) -> None:
        if self.address:
            self.code.stream_free(self.address)
