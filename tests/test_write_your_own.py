"""Pages that tell how: their programs run, and print what they say; their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
# By page, how many programs it has at least.
PAGES = {"write_your_own.md": 8, "write_a_transform.md": 3}
TEXTS = {name: (DOCS / name).read_text(encoding="utf-8") for name in PAGES}

# A program, and the output that follows it, if any.
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.M | re.S)
PROGRAMS = [(page, *found) for page, text in TEXTS.items() for found in PROGRAM.findall(text)]
LINKS = [
    (page, target)
    for page, text in TEXTS.items()
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
]


@pytest.mark.parametrize(("page", "program", "output"), PROGRAMS)
def test_a_program_of_the_page_runs(page: str, program: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert output
    assert done.stdout == output


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_all_its_programs(page: str) -> None:
    text = TEXTS[page]
    assert len(PROGRAM.findall(text)) == text.count("```python") >= PAGES[page]


@pytest.mark.parametrize(("page", "target"), LINKS)
def test_a_link_of_the_page_leads_to_a_file(page: str, target: str) -> None:
    assert (DOCS / target).exists()
