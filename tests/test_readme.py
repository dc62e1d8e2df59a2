"""README.md: its programs run, and print what it says; its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

# A program, and the output that follows it, if any.
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.M | re.S)


@pytest.mark.parametrize(("program", "output"), PROGRAM.findall(TEXT))
def test_a_program_of_the_readme_runs(program: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not output or done.stdout == output


def test_the_readme_shows_programs() -> None:
    assert len(PROGRAM.findall(TEXT)) >= 5
    assert TEXT.count("```python") == len(PROGRAM.findall(TEXT))


def test_the_readme_stays_short() -> None:
    assert len(TEXT.splitlines()) <= 150
    assert len(TEXT.split()) <= 700


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT))))
def test_a_link_of_the_readme_leads_to_a_file(target: str) -> None:
    assert (ROOT / target).exists()
