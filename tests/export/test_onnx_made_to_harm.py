"""Models that are made to harm end in our errors, in both readers, soon and in little memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
from support.hostile_onnx import (
    cyclic,
    data_elsewhere,
    external,
    named_twice,
    output_twice,
    shadowed,
)

import tensorlike as tl
from tensorlike.__main__ import run_path

SECONDS, BYTES = 20, 2**30
X = np.array([1, -2], np.float32)


def by_python(path: Path) -> Any:
    """The result y, or the error."""
    try:
        return tl.export.onnx.load(path).named({"x": X, "c": np.array(True)})["y"].tolist()
    except (tl.ArgumentError, tl.DTypeError, tl.ShapeError) as error:
        return error


def by_core(path: Path, folder: Path) -> Any:
    """The same of `tl-run`, whose memory is limited."""
    np.save(folder / "x.npy", X)
    np.save(folder / "c.npy", np.array(True))
    given = [word for name in "xc" for word in ("--input", f"{name}={folder / name}.npy")]
    (folder / "y.npy").unlink(missing_ok=True)
    done = subprocess.run(
        [str(run_path()), str(path), *given, "--output", f"y={folder / 'y.npy'}"],
        capture_output=True, check=False, timeout=SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES)),
    )  # fmt: skip
    if done.returncode == 0:
        return np.load(folder / "y.npy").tolist()
    assert done.returncode == 1, done
    return done.stderr.decode(errors="replace")


def held(path: Path, folder: Path, name: str, wanted: Any) -> None:
    """Holds both readers to a result, or to an error."""
    begin = monotonic()
    found = by_python(path)
    assert monotonic() - begin < SECONDS, name
    core = by_core(path, folder)
    if wanted is None:
        assert isinstance(found, tl.TensorlikeError), (name, found)
        assert isinstance(core, str) and "must" in core and "could not be had" not in core, name
    else:
        assert (found, core) == (wanted, wanted), name


@pytest.mark.parametrize("models", [cyclic, named_twice])
def test_cycles_and_names_that_are_there_twice_are_refused(
    models: Callable[[], Any], tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    for name, data in models():
        path.write_bytes(data)
        held(path, tmp_path, name, None)


def test_a_branch_may_make_a_name_that_there_is_outside(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for name, data in shadowed():
        path.write_bytes(data)
        held(path, tmp_path, name, [-1.0, 2.0])


def test_an_output_may_be_listed_twice(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(output_twice())
    held(path, tmp_path, "twice", [1.0, 0.0])


def test_data_that_is_not_there_as_it_is_said_to_be_is_refused(tmp_path: Path) -> None:
    before = monotonic()
    for name, path in data_elsewhere(tmp_path):
        held(path, tmp_path, name, None)
    assert monotonic() - before < 10 * SECONDS


def test_data_of_a_tensor_is_read_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "own.bin").write_bytes(np.array([1, 2, 3, 4], np.float32).tobytes())
    for more, wanted in (
        ({"length": "8"}, [2, 0]), ({"offset": "8"}, [4, 2]), ({"offset": "008"}, [4, 2]),
        ({"offset": "4", "length": "8"}, [3, 1]),
    ):  # fmt: skip
        held(external(tmp_path, "own.bin", **more), tmp_path, str(more), wanted)
    (tmp_path / "empty.bin").write_bytes(b"")
    path = external(tmp_path, "empty.bin", (0,))
    assert isinstance(by_python(path), tl.ShapeError)  # (2,) and (0,) do not go together


def test_data_that_is_larger_than_memory_is_our_error_too(tmp_path: Path) -> None:
    """A file of holes, which takes no disk."""
    with (tmp_path / "holes.bin").open("wb") as file:
        file.truncate(2**40)
    path = external(tmp_path, "holes.bin", (2**38,))
    lines = (
        "import resource, sys, tensorlike as tl\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))\n"
        "try: tl.export.onnx.load(sys.argv[1])\n"
        "except tl.OutOfMemoryError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", lines, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"onnx: w {2**40} bytes could not be had\n", done
    assert f"{2**40} bytes could not be had" in by_core(path, tmp_path)
