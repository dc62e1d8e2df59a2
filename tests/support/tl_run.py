"""`tl-run` as a process, on arrays in files."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import tensorlike as tl
from tensorlike.__main__ import run_path


def run(model: Path, folder: Path, inputs: dict[str, Any], *options: str) -> Any:
    """The process, and its results by name."""
    words = [str(run_path()), str(model), *options]
    for i, (name, x) in enumerate(inputs.items()):
        np.save(folder / f"in{i}.npy", x)
        words += ["--input", f"{name}={folder / f'in{i}.npy'}"]
    names = [one.name for one in onnx.load(model, load_external_data=False).graph.output]
    for i, name in enumerate(names):
        words += ["--output", f"{name}={folder / f'out{i}.npy'}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done, []
    return done, [np.load(folder / f"out{i}.npy") for i in range(len(names))]


def by_both_readers(model: onnx.ModelProto, folder: Path, inputs: dict[str, Any]) -> Any:
    """Each result of a model twice: as it is read in Python, and in the core by `tl-run`."""
    found = tl.export.onnx.load(model).named(inputs).values()
    path = folder / "model.onnx"
    onnx.save(model, path)
    done, by_core = run(path, folder, inputs)
    assert done.returncode == 0, done.stderr
    return zip(found, by_core, strict=True)
