"""A C++ program builds against the installed package, and runs without Python.

This is acceptance row L8 of seed 001, and L11 for what its tape draws.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tensorlike.__main__ import cmake_dir
from tensorlike.inspection.drawing import draw
from tensorlike.inspection.graph import read_dot

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "cpp"


def run(*command: str | Path) -> str:
    """What a command prints; a failure shows all that it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built against the package that is installed."""
    try:
        cmake_dir()
    except FileNotFoundError:
        pytest.skip("tensorlike is not installed with its C++ library")
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("needs cmake")
    folder = tmp_path_factory.mktemp("cpp")
    package = run(sys.executable, "-m", "tensorlike", "cmake-dir").strip()
    assert package == str(cmake_dir())
    run(cmake, "-S", EXAMPLE, "-B", folder, f"-Dtensorlike_DIR={package}")
    run(cmake, "--build", folder)
    return folder / "iris"


def test_l8_the_program_learns(program: Path) -> None:
    printed = run(program, EXAMPLE / "iris.csv")
    losses = [float(loss) for loss in re.findall(r"^step \d+: loss (\S+)$", printed, re.MULTILINE)]
    assert len(losses) == 6
    assert losses[-1] < 0.3
    accuracy = re.search(r"has not seen: ([\d.]+)$", printed.strip())
    assert accuracy
    assert float(accuracy[1]) >= 0.9


def test_l8_the_program_needs_no_python(program: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("needs ldd")
    assert "libpython" not in run("ldd", program)


def test_l11_its_tape_is_drawn(program: Path, tmp_path: Path) -> None:
    run(program, EXAMPLE / "iris.csv", tmp_path / "tape.dot")
    graph = read_dot((tmp_path / "tape.dot").read_text(encoding="utf-8"))
    assert graph.groups() == ["forward tape", "backward tape"]
    assert sum(arrow.label == "Grad()" and arrow.is_dashed for arrow in graph.arrows) == 4
    draw((tmp_path / "tape.dot").read_text(encoding="utf-8"), tmp_path / "tape.svg")
    titles = ElementTree.parse(tmp_path / "tape.svg").iter("{http://www.w3.org/2000/svg}title")
    assert {title.text for title in titles} == {box.name for box in graph.boxes}


LAPACK = """
#include <cstdio>
#include "program/functions.h"
using namespace tensorlike::tape;
int main() {
  const VariableHandle x = make_ref<Variable>("x", make_tensor<float>({4, 0, 0, 9}, {2, 2}));
  const VariableHandle factor = get_global_tape().AddOp("cholesky", {x});
  std::printf("%.0f\\n", get_global_tape().AddOp("sum", {factor})[0]->item());
}
"""


def test_l8_a_program_finds_lapack_where_pip_put_it(program: Path, tmp_path: Path) -> None:
    (tmp_path / "iris.cpp").write_text(LAPACK, encoding="utf-8")
    shutil.copy(EXAMPLE / "CMakeLists.txt", tmp_path)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dtensorlike_DIR={cmake_dir()}")
    run("cmake", "--build", tmp_path / "build")
    environment = {k: v for k, v in os.environ.items() if k != "TENSORLIKE_LAPACK"}
    done = subprocess.run(
        [tmp_path / "build" / "iris"], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_a_wrong_call_says_what_is_wrong(program: Path) -> None:
    for arguments, message in [((), "usage: iris"), (("nothing.csv",), "no data in nothing.csv")]:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert message in done.stderr


def test_the_example_stays_short_enough_to_read() -> None:
    assert len((EXAMPLE / "iris.cpp").read_text(encoding="utf-8").splitlines()) < 100
