"""Programs that tests run in a process of their own, or in threads."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from typing import Any

import pytest

THREADS = 8

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
from support.memory import most_memory, resident
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


def run_in_threads(work: Any) -> None:
    """Runs `work(i)` in eight threads that start together; raises what one of them raised."""
    barrier = threading.Barrier(THREADS)
    errors: list[BaseException] = []

    def body(i: int) -> None:
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def run_python(source: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", source],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
