"""A device has a place: nothing above a backend touches elements, and operands live on one device.

The device is "emulated" (tests/csrc/emulated.cpp): its kernels are the CPU's, run later by a
thread, and its memory kills whoever follows an address that a tensor holds. So a check that passes
has touched nothing. Each runs in a process of its own, with the device added.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support import device_checks


def run(check: str, mode: str = "sync") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "support.device_checks", check, mode],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )


def passes(check: str, mode: str = "sync") -> None:
    assert hasattr(device_checks, check)
    done = run(check, mode)
    assert done.returncode == 0, done.stderr[-6000:]


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_every_op_gives_what_the_cpu_gives(mode: str) -> None:
    passes("every_op_gives_what_the_cpu_gives", mode)


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_every_gradient_is_what_the_cpu_gives(mode: str) -> None:
    passes("every_gradient_is_what_the_cpu_gives", mode)


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_layers_and_optimizers_step_as_on_the_cpu(mode: str) -> None:
    passes("layers_and_optimizers_step_as_on_the_cpu", mode)


@pytest.mark.parametrize(
    "check",
    [
        "without_kernels_ops_run_through_their_bodies",
        "every_documented_example_holds_on_the_device",
        "tensors_are_made_where_it_is_said",
        "states_are_saved_from_a_device_and_loaded_to_it",
        "moving_is_differentiable",
        "reading_copies_and_views_refuse",
        "operands_live_on_one_device",
        "memory_may_end",
        "errors_of_kernels_come_at_the_wait",
        "a_kind_without_a_class_reaches_rules_whole",
    ],
)
def test_devices(check: str) -> None:
    passes(check)


def test_the_host_cannot_touch_the_memory_of_the_device() -> None:
    assert run("touching_is_fatal").returncode == -signal.SIGSEGV
