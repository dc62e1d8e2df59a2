"""The generated Python in the repository is what the declarations say today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_generated_files_are_fresh() -> None:
    command = [sys.executable, "-m", "opdecl", "--check"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"run `./dev gen`\n{result.stdout}{result.stderr}"
