"""Devices for tests: a library of the build adds them to the process that loads it.

They stay, and other tests count devices: only processes of their own load it.
"""

from __future__ import annotations

import ctypes
import sysconfig
from pathlib import Path

from tensorlike import _C

ROOT = Path(__file__).resolve().parents[2]
BYTES = 1 << 28  # of each


def _libraries() -> list[Path]:
    """Beside the core that is loaded where that is a build's own; else in the newest build."""
    maps = Path("/proc/self/maps").read_text("utf-8").split()
    core = [Path(part) for part in maps if part.endswith("/libtensorlike.so")]
    tag = "cp" + sysconfig.get_config_var("py_version_nodot")
    builds = sorted((ROOT / "build").glob(f"{tag}-*"), key=lambda path: path.stat().st_mtime)
    folders = [*(path.parent for path in core), *reversed(builds)]
    return [path for folder in folders if (path := folder / "tests/csrc/libemulated.so").exists()]


def add_devices(size: int = BYTES) -> ctypes.PyDLL:
    """Adds "emulated" and "bare"; gives the library, for what else it has."""
    libraries = _libraries()
    assert libraries, "./dev build makes the library of the devices"
    library = ctypes.PyDLL(str(libraries[0]))
    library.add_devices.argtypes = [ctypes.c_size_t]
    library.add_devices.restype = None
    library.add_devices(size)
    assert _C.devices() == ["cpu", "emulated:0", "bare:0"]
    return library
