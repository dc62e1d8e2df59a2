"""Scalar functions as opdecl prints them for devices, compiled as C++ or CUDA, called on arrays."""

from __future__ import annotations

import ctypes
import os
import shutil
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
        self.libraries = [ctypes.CDLL(str(target))]

    def __call__(self, code: Code, *args: Array) -> tuple[Array, ...]:
        """A function's results for each row of the arguments."""
        given = [np.ascontiguousarray(a, d) for a, d in zip(args, code.args, strict=True)]
        found = tuple(np.empty(given[0].size, one.dtype) for one in code.results)
        inputs = (ctypes.c_void_p * len(given))(*[a.ctypes.data for a in given])
        outputs = (ctypes.c_void_p * len(found))(*[a.ctypes.data for a in found])
        name = f"run_{code.name}_{code.of}"
        run = next(getattr(one, name) for one in self.libraries if hasattr(one, name))
        if run(inputs, outputs, ctypes.c_longlong(given[0].size)) != 0:
            raise RuntimeError(f"{name}: the device failed")
        return found


def has_cuda() -> bool:
    """Whether there are a compiler for NVIDIA's devices and one of them."""
    if shutil.which("nvcc") is None or shutil.which("nvidia-smi") is None:
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0


class PrintedForCuda(Printed):
    """Libraries of printed functions that run on a device, one for each core that compiles."""

    def __init__(self, folder: Path, code: Sequence[Code]) -> None:
        write(folder, code)
        compilers = []
        count = os.cpu_count() or 1
        for i in range(count):
            source, target = folder / f"run{i}.cu", folder / f"printed{i}.so"
            loops = "\n".join(map(_kernel, code[i::count]))
            text = f'#include "{SCALARS}"\n{_ON_DEVICE}namespace tensorlike {{\n{loops}\n}}\n'
            source.write_text(text)
            flags = ["-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
            command = ["nvcc", *flags, "-o", str(target), str(source)]
            compilers.append((subprocess.Popen(command), target))
        for compiler, target in compilers:
            if compiler.wait() != 0:
                raise RuntimeError(f"nvcc fails to make {target.name}")
        self.libraries = [ctypes.CDLL(str(target)) for _, target in compilers]


# Arguments on the device, and results back.
_ON_DEVICE = """
#include <vector>
struct Arrays {
  std::vector<void*> all;
  template <class T>
  T* of(const void* from, long long n) {
    void* at = nullptr;
    cudaMalloc(&at, n * sizeof(T));
    if (from != nullptr) cudaMemcpy(at, from, n * sizeof(T), cudaMemcpyHostToDevice);
    all.push_back(at);
    return static_cast<T*>(at);
  }
  template <class T>
  void back(void* to, const T* from, long long n) {
    cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost);
  }
  int finish() {
    for (void* at : all) cudaFree(at);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};
"""


def _kernel(code: Code) -> str:
    args = [f"const {dtype}* a{i}" for i, dtype in enumerate(code.args)]
    outs = [f"{one.dtype}* o{i}" for i, one in enumerate(code.results)]
    values = [f"a{i}[k]" for i in range(len(args))]
    results = [f"o{i}[k]" for i in range(len(outs))]
    several = len(results) > 1
    call = f"{code.name}({', '.join([*values, *(results if several else [])])})"
    body = call if several else f"{results[0]} = {call}"
    name = f"{code.name}_{code.of}"
    place = "const int64 k = int64(blockIdx.x) * blockDim.x + threadIdx.x"
    made = [f"auto* a{i} = xs.of<{dtype}>(in[{i}], n);" for i, dtype in enumerate(code.args)]
    made += [f"auto* o{i} = xs.of<{x.dtype}>(nullptr, n);" for i, x in enumerate(code.results)]
    named = ", ".join([*(f"a{i}" for i in range(len(args))), *(f"o{i}" for i in range(len(outs)))])
    back = " ".join(f"xs.back(out[{i}], o{i}, n);" for i in range(len(outs)))
    return f"""
__global__ void on_device_{name}({", ".join([*args, *outs])}, int64 n) {{
  {place};
  if (k < n) {body};
}}
extern "C" int run_{name}(const void* const* in, void* const* out, int64 n) {{
  Arrays xs;
  {" ".join(made)}
  on_device_{name}<<<(n + 127) / 128, 128>>>({named}, n);
  {back}
  return xs.finish();
}}"""


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
    head = f'extern "C" int run_{code.name}_{code.of}({parameters})'
    return f"{head} {{ for (int64 k = 0; k < n; ++k) {body}; return 0; }}"
