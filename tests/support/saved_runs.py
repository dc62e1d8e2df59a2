"""Saved programs, run by tl-run: what it prints, and the arrays that it writes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tensorlike.__main__ import run_path

from .program_files import split


def run(*command: str | Path) -> str:
    """What a command prints; a failure shows all that it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _fed(folder: Path, inputs: dict[str, Any]) -> list[str]:
    """Options that feed inputs, which are written to files."""
    words = []
    for i, (name, value) in enumerate(inputs.items()):
        np.save(folder / f"in{i}.npy", value)
        words += ["--input", f"{name}={folder / f'in{i}.npy'}"]
    return words


def printed_and_results(
    runner: Path, folder: Path, data: bytes, inputs: dict[str, Any], *options: str
) -> tuple[str, dict[str, Any]]:
    """What tl-run prints, and the results of a program by their names, as it writes them."""
    (folder / "program.tlp").write_bytes(data)
    words = _fed(folder, inputs)
    names = [name for name, _ in split(data)[0]["results"]]
    for name in names:
        words += ["--output", f"{name}={folder / f'out_{name}.npy'}"]
    printed = run(runner, folder / "program.tlp", *words, *options)
    return printed, {name: np.load(folder / f"out_{name}.npy") for name in names}


def results_of(
    runner: Path, folder: Path, data: bytes, inputs: dict[str, Any], *options: str
) -> dict[str, Any]:
    """The results of a program by their names; nothing else is printed."""
    printed, results = printed_and_results(runner, folder, data, inputs, *options)
    assert printed == ""
    return results


def run_model(
    proto: Any, folder: Path, inputs: dict[str, Any], *options: str
) -> tuple[str, list[Any]]:
    """What tl-run prints for a model of ONNX, and the model's results in their order."""
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    words = _fed(folder, inputs)
    names = [one.name for one in proto.graph.output]
    for i, name in enumerate(names):
        words += ["--output", f"{name}={folder / f'out{i}.npy'}"]
    printed = run(run_path(), path, *words, *options)
    return printed, [np.load(folder / f"out{i}.npy") for i in range(len(names))]
