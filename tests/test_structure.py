"""`./dev structure`: the limits are kept, and one that is not is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from structure.limits import LIMITS, broken
from structure.table import Table
from structure.ways import cpp_way

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_the_numbers_of_the_structure_are_within_their_limits(tmp_path: Path) -> None:
    # In a process of its own: it declares an op, and counts frames.
    path = tmp_path / "numbers.json"
    ran = subprocess.run(
        [sys.executable, "-m", "structure", "--check", "--json", str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stdout.rpartition("\n\n")[2] + ran.stderr
    assert set(LIMITS) <= set(json.loads(path.read_text("utf-8")))


def test_a_number_above_its_limit_is_told_as_is_one_that_is_unknown() -> None:
    table = Table("things", ("here", "there"), {"red": (3, 2), "blue": (None, 0)})
    limits = {"things": {"red": {"here": 2, "there": 2}, "blue": {"here": 1}, "green": {"here": 1}}}
    assert broken([table], limits) == [
        "things: red: here: must be at most 2; got 3",
        "things: blue: here: must be known; it is not",
        "things: green: here: must be known; it is not",
    ]


def test_a_step_of_a_way_that_the_sources_do_not_say_is_told() -> None:
    right = "dispatch/apply.cpp apply\n  dispatch/apply.cpp apply_small\n"
    assert cpp_way(right) == (
        {("dispatch/apply.cpp", "apply"), ("dispatch/apply.cpp", "apply_small")},
        [],
    )
    assert cpp_way("dispatch/apply.cpp apply_later")[1] == [
        "dispatch/apply.cpp no longer defines apply_later"
    ]
    assert cpp_way("dispatch/apply.cpp apply_raw\n  dispatch/apply.cpp apply_shape")[1] == [
        "apply_raw no longer calls apply_shape"
    ]
