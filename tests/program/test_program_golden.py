"""Files that older versions wrote are read, and give what they gave."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.program_files import split
from support.program_golden import MAKERS, inputs_of, results_of

import tensorlike as tl
from tensorlike.__main__ import run_path

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.tlp"))


def test_each_kind_of_program_is_kept() -> None:
    kept = {path.stem.rpartition("-")[0] for path in FILES}
    assert kept == set(MAKERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_read_as_it_was_written(path: Path) -> None:
    wanted = json.loads(path.with_suffix(".json").read_text("utf-8"))
    text, results = results_of(path.read_bytes())
    assert text.splitlines() == wanted["text"]
    assert len(results) == len(wanted["results"])
    for found, expected in zip(results, wanted["results"], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_run_without_python(path: Path, tmp_path: Path) -> None:
    try:
        runner = run_path()
    except FileNotFoundError:
        pytest.skip("tensorlike is not installed with its programs")
    program, _ = tl.Listing.from_bytes(path.read_bytes())
    words = []
    names = [name for name, role, _ in program.variables() if role == "input"]
    for name, value in zip(names, inputs_of(program), strict=True):
        np.save(tmp_path / f"{name}.npy", value)
        words += ["--input", f"{name}={tmp_path / name}.npy"]
    done = subprocess.run([runner, path, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": ") == len(split(path.read_bytes())[0]["results"])


def test_programs_that_were_written_as_texts_inside_of_others_are_read() -> None:
    path = FOLDER.parent / "golden_text" / "control-1.tlp"
    data = path.read_bytes()
    assert '"foreign"' in json.dumps(split(data)[0])
    text, results = results_of(data)
    assert text == results_of((FOLDER / "control-1.tlp").read_bytes())[0]
    wanted = json.loads(path.with_suffix(".json").read_text("utf-8"))["results"]
    for found, expected in zip(results, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    program, again = tl.Listing.from_bytes(data)
    assert '"foreign"' not in json.dumps(split(program.to_bytes(list(again)))[0])
