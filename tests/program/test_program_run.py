"""tl-run, and a C++ program: saved programs run without Python, and give the same bits."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models import Model, models
from support.program_files import joined, split
from support.saved_runs import results_of, run

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.__main__ import cmake_dir

ROOT = Path(__file__).resolve().parents[2]


def refusal(*command: str | Path) -> str:
    """What a command that must fail says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def recorded(model: Model) -> tuple[tl.Listing, list[Any]]:
    """What a model says, its loss, and its gradients."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", model.inputs.shape, model.inputs.dtype.name))
    y = model.network(x)
    loss = F.cross_entropy(y, tl.tensor(model.classes))
    return listing, [y, loss, *tl.autograd.grad(loss, list(model.network.parameters()))]


@pytest.mark.parametrize("name", models())
def test_models_and_gradients_have_the_same_bits(runner: Path, tmp_path: Path, name: str) -> None:
    model = models()[name]
    listing, results = recorded(model)
    found = results_of(runner, tmp_path, listing.to_bytes(results), {"x": model.inputs})
    wanted = listing.run(results, model.inputs)
    for got, x in zip(found.values(), wanted, strict=True):
        assert got.shape == x.shape
        assert got.tobytes() == np.asarray(x).tobytes()


@pytest.mark.parametrize("name", models())
def test_compiled_models_have_the_bits_of_python(runner: Path, tmp_path: Path, name: str) -> None:
    model = models()[name]
    listing, results = recorded(model)
    data, given = listing.to_bytes(results), {"x": model.inputs}
    found = results_of(runner, tmp_path, data, given, "--compile")
    wanted = tl.static.CompiledProgram(listing).run(results, model.inputs)
    plain = results_of(runner, tmp_path, data, given)
    for got, x, y in zip(found.values(), wanted, plain.values(), strict=True):
        assert got.tobytes() == np.asarray(x).tobytes()
        np.testing.assert_allclose(got, y, 1e-4, 1e-5)


def test_declared_ops_need_no_python(runner: Path, tmp_path: Path) -> None:
    calls = tl.declare(
        "- scalar: run_softsign\n  args: [x: real floating-point]\n  expr: x / (1 + abs(x))\n"
        "  doc: Softsign.\n"
        "- reduction: run_mean_square\n  args: [x: real floating-point]\n  map: x * x\n"
        "  combine: a + b\n  finish: acc / n\n  doc: Squares.\n"
        "- op: RunBlock\n  args: [x: real floating-point]\n  function: run_block\n"
        "  attrs: {axis: {type: int, default: -1}}\n"
        "  define: run_softsign(x - mean(x, axis=axis, keepdims=True))\n  doc: A block.\n"
        "  example: {x: [[1.0, 2.0]]}\n"
    )
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (None, 3)))
    y = calls["run_mean_square"](calls["run_block"](x, axis=0), axis=1)
    given = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
    (found,) = results_of(runner, tmp_path, listing.to_bytes(y), {"x": given}).values()
    assert found.tobytes() == np.asarray(listing.run(y, given)).tobytes()


class Own(tl.ops.OpBase):
    """An op that only Python has."""

    def define(self, x: Any) -> Any:
        """The same."""
        return x + 1


def test_ops_of_python_are_refused_by_name(runner: Path, tmp_path: Path) -> None:
    listing = tl.Listing()
    (y,) = Own()(listing.input("x", (2,)))
    (tmp_path / "own.tlp").write_bytes(listing.to_bytes(y))
    said = refusal(runner, tmp_path / "own.tlp")
    assert "one that is written in Python" in said
    assert ":Own" in said


@pytest.mark.parametrize(
    "dtype", ["?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "F", "D"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_dtype_go_in_and_out(
    runner: Path, tmp_path: Path, dtype: str, order: str
) -> None:
    given = np.array(np.arange(24).reshape(2, 3, 4) % 5, dtype=dtype, order=order)  # type: ignore[call-overload]
    listing = tl.Listing()
    y = F.flip(tl.Tensor(listing.input("x", (2, "n", 4), given.dtype.name)), axis=1)
    (found,) = results_of(runner, tmp_path, listing.to_bytes(y), {"x": given}).values()
    assert found.dtype == given.dtype
    np.testing.assert_array_equal(found, np.flip(given, 1))


@pytest.mark.parametrize("dtype", [">h", ">u4", ">q", ">e", ">f", ">d", ">F", ">D"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_with_the_high_byte_first_are_read(
    runner: Path, tmp_path: Path, dtype: str, order: str
) -> None:
    given = np.array(np.arange(24).reshape(2, 3, 4) * 300, dtype=dtype, order=order)  # type: ignore[call-overload]
    given[0, 0, 0] = 7
    assert given.dtype.byteorder == ">"
    listing = tl.Listing()
    y = F.flip(tl.Tensor(listing.input("x", (2, "n", 4), given.dtype.name)), axis=1)
    (found,) = results_of(runner, tmp_path, listing.to_bytes(y), {"x": given}).values()
    assert found.dtype == given.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, np.flip(given, 1))


def counting() -> bytes:
    """A program of a state: it adds its input to what it has."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (3,)))
    y = tl.Tensor(listing.input("sum", (3,))) + x
    structure, tensors = split(listing.to_bytes(y))
    structure["program"]["lines"][1] = {"state": "sum", "dtype": "float32", "shape": [3]}
    structure["program"]["assigned"] = [[1, 2]]
    structure["results"] = [["y", 2]]
    return joined(structure, tensors)


def with_weight(data: bytes, value: Any) -> bytes:
    """The program with a value of its state."""
    again, _ = tl.Listing.from_bytes(data)
    assert [role for _, role, _ in again.variables()] == ["input", "state", "result"]
    from tensorlike.imperative import program_file

    return program_file.write(again, {"y": 2}, {"sum": value})


def test_programs_of_states_go_on_where_they_were(runner: Path, tmp_path: Path) -> None:
    for name, value in (("bare", None), ("start", np.array([1, 2, 3], np.float32))):
        data = counting() if value is None else with_weight(counting(), value)
        (tmp_path / f"{name}.tlp").write_bytes(data)
    np.save(tmp_path / "x.npy", np.array([1, 1, 0.5], np.float32))
    fed = ["--input", f"x={tmp_path / 'x.npy'}"]
    said = refusal(runner, tmp_path / "bare.tlp", *fed)
    assert "sum must have a value in the scope" in said
    (tmp_path / "other.tlp").write_bytes(counting())
    said = refusal(runner, tmp_path / "start.tlp", *fed, "--weights", tmp_path / "other.tlp")
    assert "--weights must hold values of the program's states: sum; got" in said
    saved = tmp_path / "saved.tlp"
    printed = run(
        runner, tmp_path / "bare.tlp", *fed, "--weights", tmp_path / "start.tlp", "--steps", "4",
        "--save", saved,
    )  # fmt: skip
    assert printed == "y: float32(3,)\n[5, 6, 5]\n"
    assert run(runner, saved, *fed) == "y: float32(3,)\n[6, 7, 5.5]\n"


def test_what_tl_run_says(runner: Path, tmp_path: Path) -> None:
    path = tmp_path / "start.tlp"
    path.write_bytes(with_weight(counting(), np.zeros(3, np.float32)))
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    np.save(tmp_path / "wide.npy", np.ones(3))
    fed = ["--input", f"x={tmp_path / 'x.npy'}"]
    printed = run(runner, path, *fed, "--print", "--bench", "3", "--threads", "1")
    assert printed.startswith("x: float32(3,)\nsum: float32(3,)  # state\n_1 = ")
    assert re.search(r"^bench: 3 runs, fastest [\d.e+]+ us, median [\d.e+]+ us$", printed, re.M)
    assert "--steps N" in run(runner, "--help")
    assert run(runner, path, *fed, "--output", str(tmp_path / "y.npy")) == ""  # there is one result
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.ones(3, np.float32))
    (tmp_path / "half.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
    for words, said in (
        ([], "x: float32(3,); got none"),
        (["--input", f"x={tmp_path / 'wide.npy'}"], "x must be float32; got float64"),
        (["--input", f"z={tmp_path / 'x.npy'}"], "must name inputs of the program: x; got z"),
        (["--input", f"x={tmp_path / 'no.npy'}"], "no.npy must be an .npy file; got none"),
        (["--input", f"x={tmp_path / 'half.npy'}"], "11 bytes where there must be 12"),
        (["--input", f"x={path}"], "got a file of another kind"),
        (["--input", "x"], "--input must be NAME=FILE; got x"),
        ([*fed, "--output", "z=z.npy"], "must name one of the results: y; got z"),
        ([*fed, "--steps", "0"], "--steps must be a number from 1; got 0"),
        (["--output", "z=z.npy"], "must name one of the results: y; got z"),  # before it runs
        ([*fed, "--output", "y=/none/y.npy"], "the file must be writable; got /none/y.npy"),
        ([*fed, "--steps"], "an option must have a value; got --steps"),
        ([*fed, "--often"], "there must be such an option; got --often"),
        ([*fed, "--often", "1"], "there must be such an option; got --often"),
    ):
        assert said in refusal(runner, path, *words)


def test_no_symbol_of_python_is_linked(runner: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("needs ldd")
    library = runner.parent.parent / "lib" / "libtensorlike.so"
    for file in (runner, library):
        assert "libpython" not in run("ldd", file)
        wanted = run("nm", "-D", "--undefined-only", file)
        assert not re.search(r"\b_?Py[A-Z_]", wanted)
    (found,) = re.findall(r"libtensorlike\.so => (\S+)", run("ldd", runner))
    assert Path(found).resolve() == library.resolve()


def test_a_cpp_program_of_twenty_lines_runs_one(tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("needs cmake")
    try:
        package = cmake_dir()
    except FileNotFoundError:
        pytest.skip("tensorlike is not installed with its C++ library")
    source = ROOT / "examples" / "cpp_run"
    assert len((source / "run.cpp").read_text("utf-8").splitlines()) <= 20
    run(cmake, "-S", source, "-B", tmp_path, f"-Dtensorlike_DIR={package}")
    run(cmake, "--build", tmp_path)
    listing = tl.Listing()
    y = F.sum(tl.Tensor(listing.input("x", (2, 3))) * tl.tensor([1.0, 2.0, 3.0]), axis=1)
    (tmp_path / "model.tlp").write_bytes(listing.to_bytes(y))
    assert run(tmp_path / "run", tmp_path / "model.tlp") == "0: [6, 6]\n"
    assert "libpython" not in run("ldd", tmp_path / "run")


def test_a_file_says_what_it_holds(tmp_path: Path) -> None:
    structure, _ = split(counting())
    assert list(structure) == ["program", "results", "sources", "declarations", "weights"]
    assert json.dumps(structure["program"]["lines"][1]) == (
        '{"state": "sum", "dtype": "float32", "shape": [3]}'
    )
