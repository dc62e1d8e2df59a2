"""What it costs to have it: importing, and the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compare import Result, Settings, in_turns

ROOT = Path(__file__).resolve().parent.parent


def imports(settings: Settings) -> list[Result]:
    """Importing, in fresh processes. NumPy's own import is part of ours."""

    installed = dict(os.environ)  # an installed package has its bytecode
    installed.pop("PYTHONDONTWRITEBYTECODE", None)

    def measure(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; "
        code += "print(time.perf_counter() - t)"
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=installed
        )
        return float(done.stdout)

    measure("tensorlike")
    timings = in_turns(
        {"tensorlike": lambda: measure("tensorlike"), "NumPy": lambda: measure("numpy")},
        settings.rounds,
    )
    return timings.results("import, in a fresh process", {"NumPy": 1.2})


def wheel(settings: Settings) -> list[Result]:
    """The size of the wheel; built only when asked, since that compiles everything."""
    if not settings.builds_wheel:
        return []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", folder, str(ROOT)]
        subprocess.run(command, check=True)
        (made,) = Path(folder).glob("*.whl")
        size = made.stat().st_size
    return [Result("size of the wheel", size, "B", bar=8 * 2**20)]
