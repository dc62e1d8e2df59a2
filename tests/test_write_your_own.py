"""docs/write_your_own.md: its programs run, and print what it says; its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "write_your_own.md"
TEXT = PAGE.read_text(encoding="utf-8")

# A program, and the output that follows it, if any.
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.M | re.S)


@pytest.mark.parametrize(("program", "output"), PROGRAM.findall(TEXT))
def test_a_program_of_the_page_runs(program: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert output
    assert done.stdout == output


def test_the_page_has_all_its_programs() -> None:
    assert len(PROGRAM.findall(TEXT)) == TEXT.count("```python") >= 8


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT))
def test_a_link_of_the_page_leads_to_a_file(target: str) -> None:
    assert (PAGE.parent / target).exists()
