"""What the tests of saved programs share: the program that runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorlike.__main__ import run_path


@pytest.fixture(scope="module")
def runner() -> Path:
    """tl-run of this installation."""
    try:
        return run_path()
    except FileNotFoundError:
        pytest.skip("tensorlike is not installed with its programs")
