"""A native op out of the tree: the page that tells how, and the package that is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "native_ops.md"
TEXT = PAGE.read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```", "", TEXT, flags=re.M | re.S)
EXAMPLE = ROOT / "examples" / "native_op"


def blocks(language: str) -> list[str]:
    """The parts of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.M | re.S)


def run(command: list[str], folder: Path, **variables: str) -> str:
    """What a command prints; a failure shows all that it said."""
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs(*commands: str) -> None:
    """Skips where one is not installed."""
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"needs {command}")


def test_the_page_makes_an_op_that_does_what_it_says(tmp_path: Path) -> None:
    needs("c++", "sh")
    (entry,), (kernel,), (build,), (program,) = map(blocks, ("yaml", "cpp", "sh", "python"))
    (tmp_path / "ops.yaml").write_text(entry, encoding="utf-8")
    (tmp_path / "kernels.cpp").write_text(kernel, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run(["sh", "-ec", build], tmp_path, PATH=path)
    assert run([sys.executable, "-W", "error", "-c", program], tmp_path) == blocks("text")[0]


def test_the_page_lists_the_files_of_the_package() -> None:
    listed = re.findall(r"^  (\S+)", blocks("text")[1], re.M)
    own = [
        path for path in EXAMPLE.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert sorted(listed) == sorted(path.relative_to(EXAMPLE).as_posix() for path in own)


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)\)", PROSE))
def test_a_link_of_the_page_leads_to_a_file(target: str) -> None:
    assert (PAGE.parent / target).exists()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the example is installed in, by pip, without the network."""
    needs("c++", "cmake")
    folder = tmp_path_factory.mktemp("native_op")
    source = shutil.copytree(EXAMPLE, folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation"]
    run([*command, "--no-deps", "--no-index", "--target", "installed", str(source)], folder)
    return folder / "installed"


PROGRAM = """
import numpy as np
import tensorlike as tl
from fused_loss import fused_cross_entropy
from tensorlike import functional as F

rng = np.random.default_rng(0)
"""


def used(installed: Path, program: str) -> str:
    """What a program prints that has the package."""
    return run([sys.executable, "-W", "error", "-c", PROGRAM + program], installed)


def test_the_package_holds_one_entry_file_and_one_library(installed: Path) -> None:
    files = [path for path in (installed / "fused_loss").iterdir() if path.is_file()]
    assert sorted(path.name for path in files) == ["__init__.py", "kernels.so", "ops.yaml"]


def test_its_rules_agree_and_it_is_the_built_in_formula(installed: Path) -> None:
    used(
        installed,
        """
x, labels = rng.normal(size=(5, 7)), rng.integers(0, 7, 5)
report = tl.opcheck(fused_cross_entropy, tl.tensor(x), tl.tensor(labels), scale=1.5)
assert report.is_right, report
slopes = tl.ops.builtin.FusedCrossEntropyGrad(scale=0.5)
report = tl.opcheck(slopes, tl.tensor(x), tl.tensor(labels), tl.tensor(rng.normal(size=5)))
assert report.is_right, report
direction = tl.tensor(rng.normal(size=(5, 7)))
def built_in(x): return F.cross_entropy(x * 1.5, tl.tensor(labels), reduction="none")
def ours(x): return fused_cross_entropy(x, tl.tensor(labels), scale=1.5)
for f in (
    lambda g: g, lambda g: tl.grad(lambda x: tl.sum(g(x) ** 2)),
    lambda g: lambda x: tl.hvp(lambda x: tl.sum(g(x) ** 2), (x,), (direction,)),
    lambda g: lambda x: tl.jvp(g, (x,), (direction,))[1],
):
    np.testing.assert_allclose(f(ours)(tl.tensor(x)), f(built_in)(tl.tensor(x)), rtol=1e-9)
for dtype in (tl.float16, tl.bfloat16, tl.float32):
    z = tl.tensor(x, dtype=dtype)
    assert ours(z).dtype == dtype
    wide = ours(z.astype(tl.float64))
    rtol = float(2 * tl.finfo(dtype).eps)
    np.testing.assert_allclose(ours(z).astype(tl.float64), wide, rtol=rtol)
for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64"):
    given = tl.tensor(labels.astype(dtype))
    found = fused_cross_entropy(tl.tensor(x), given)
    np.testing.assert_array_equal(found, fused_cross_entropy(tl.tensor(x), tl.tensor(labels)))
""",
    )


def test_it_runs_in_every_mode_and_over_examples(installed: Path) -> None:
    used(
        installed,
        """
x, labels = rng.normal(size=(3, 64, 33)).astype("float32"), rng.integers(0, 33, (3, 64))
x, labels = tl.tensor(x), tl.tensor(labels)
expected = F.cross_entropy(x.reshape((192, 33)), labels.reshape((192,)), reduction="none")
expected = np.asarray(expected).reshape(3, 64)
for mode in ("sync", "async", "lazy"):
    with tl.engine.mode(mode, threshold=1):
        found = fused_cross_entropy(x * 2, labels, scale=0.5)
        np.testing.assert_allclose(found, expected, rtol=2e-5)
        np.testing.assert_allclose(tl.vmap(fused_cross_entropy)(x, labels), expected, rtol=2e-5)
        slope = tl.vmap(tl.grad(lambda x, l: tl.mean(fused_cross_entropy(x, l))))(x, labels)
        wanted = tl.vmap(tl.grad(lambda x, l: F.cross_entropy(x, l)))(x, labels)
        np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-8)
""",
    )


def test_a_network_learns_with_it(installed: Path) -> None:
    used(
        installed,
        """
tl.manual_seed(0)
centres = rng.normal(size=(4, 8)) * 2
labels = rng.integers(0, 4, 256)
x = tl.tensor((centres[labels] + rng.normal(size=(256, 8))).astype("float32"))
network = tl.nn.Sequential(tl.nn.Linear(8, 16), tl.tanh, tl.nn.Linear(16, 4))
optimizer = tl.optim.Adam(network.parameters(), lr=0.02)
for _ in range(60):
    loss = tl.mean(fused_cross_entropy(network(x), tl.tensor(labels)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert loss.item() < 0.2, loss
""",
    )


def test_what_it_refuses_it_says(installed: Path) -> None:
    used(
        installed,
        """
def refused(kind, words, *args, **attrs):
    try:
        fused_cross_entropy(*args, **attrs)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
x = tl.ones((2, 3))
refused(IndexError, "labels must be from 0 to 2; got 3", x, tl.tensor([0, 3]))
refused(IndexError, "labels must be from 0 to 2; got -1", x, tl.tensor([0, -1]))
refused(IndexError, "labels must be from 0 to -1; got 0", tl.ones((2, 0)), tl.tensor([0, 0]))
refused(ValueError, "must have a number for each row", x, tl.tensor([0]))
refused(TypeError, "labels must be integer; got float32", x, tl.tensor([0.0, 1.0]))
refused(TypeError, "scale > 0 must hold", x, tl.tensor([0, 1]), scale=-1.0)
assert fused_cross_entropy(tl.ones((0, 3)), tl.zeros(0, dtype=tl.int64)).shape == (0,)
""",
    )
