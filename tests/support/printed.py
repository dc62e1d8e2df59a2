"""Scalar functions as opdecl prints them for devices, compiled as C++ and called on arrays."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorlike.opdecl.compiler.emit_cuda import SCALARS, emit_cuda
from tensorlike.opdecl.compiler.scalar_code import Code

Array = np.ndarray[Any, Any]
FLAGS = ("-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


class Printed:
    """A library of printed functions."""

    def __init__(self, folder: Path, code: Sequence[Code]) -> None:
        write(folder, code)
        target = folder / "printed.so"
        command = ["g++", *FLAGS, "-shared", "-fPIC", "-o", str(target), str(folder / "run.cpp")]
        subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(target))

    def __call__(self, code: Code, *args: Array) -> tuple[Array, ...]:
        """A function's results for each row of the arguments."""
        given = [np.ascontiguousarray(a, d) for a, d in zip(args, code.args, strict=True)]
        found = tuple(np.empty(given[0].size, one.dtype) for one in code.results)
        inputs = (ctypes.c_void_p * len(given))(*[a.ctypes.data for a in given])
        outputs = (ctypes.c_void_p * len(found))(*[a.ctypes.data for a in found])
        run = getattr(self.library, f"run_{code.name}_{code.of}")
        run(inputs, outputs, ctypes.c_longlong(given[0].size))
        return found


def write(folder: Path, code: Sequence[Code]) -> None:
    """Writes the printed files, and run.cpp: a loop for each function."""
    for name, text in emit_cuda(code).items():
        (folder / name).write_text(text)
    loops = "\n".join(map(_loop, code))
    text = f'#include "{SCALARS}"\nnamespace tensorlike {{\n{loops}\n}}\n'
    (folder / "run.cpp").write_text(text)


def _loop(code: Code) -> str:
    values = [f"static_cast<const {d}*>(in[{i}])[k]" for i, d in enumerate(code.args)]
    results = [f"static_cast<{one.dtype}*>(out[{i}])[k]" for i, one in enumerate(code.results)]
    several = len(results) > 1
    call = f"{code.name}({', '.join([*values, *(results if several else [])])})"
    body = call if several else f"{results[0]} = {call}"
    parameters = "const void* const* in, void* const* out, int64 n"
    head = f'extern "C" void run_{code.name}_{code.of}({parameters})'
    return f"{head} {{ for (int64 k = 0; k < n; ++k) {body}; }}"
