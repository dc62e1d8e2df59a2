"""Programs that tests run in a process of their own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

# For tests that limit the address space.
LIMITS_MEMORY = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="AddressSanitizer's own map of memory exceeds the limit",
)

PRELUDE = """
import gc, os, random, resource, signal, sys, threading, time, warnings
import numpy as np
import tensorlike as tl
from tensorlike import _C, functional as F
warnings.simplefilter("ignore", DeprecationWarning)  # forks beside threads are what we test
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
"""


def run_apart(program: str, mode: str = "sync", stack: int = 0, **numbers: float) -> str:
    """Runs a program in a process of its own, in a mode of the engine, perhaps on a short stack."""
    lines = [PRELUDE, *(f"{name} = {value!r}" for name, value in numbers.items())]
    if mode != "sync":
        lines.append(f"tl.engine.mode({mode!r}, threshold=1)")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))

    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", "\n".join([*lines, program])],
        capture_output=True,
        text=True,
        timeout=880,
        check=False,
        preexec_fn=limit if stack else None,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
