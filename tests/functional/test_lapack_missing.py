"""What ops say where there is no LAPACK: in a process of its own, since it is loaded once."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_missing_library_is_an_error_that_says_what_to_install() -> None:
    code = """
import tensorlike as tl
try:
    tl.linalg.inv(tl.tensor([[1.0]]))
except tl.DispatchError as error:
    assert "pip install scipy-openblas32" in str(error), error
else:
    raise SystemExit("no error")
"""
    env = {**os.environ, "TENSORLIKE_LAPACK": "/nowhere/liblapack.so"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
