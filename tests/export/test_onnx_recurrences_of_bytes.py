"""DynamicQuantizeLSTM in ONNX Runtime, in the reader in Python and in that of the core.

ONNX Runtime's threads share the examples, and each has a range of its own: one thread has all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import by_onnxruntime, model_of, port, weight
from support.tl_run import by_both_readers

import tensorlike as tl


def drawn(seed: int) -> tuple[Any, dict[str, Any]]:
    """A node of any attributes, its weights constant or given, and what it reads."""
    rng = np.random.default_rng(seed)
    has = lambda: bool(rng.integers(2))  # noqa: E731
    size = int(rng.choice([1, 3, 4, 5, 16, 17, 33]))
    steps, batch, width = (int(rng.integers(1, n)) for n in (7, 4, 9))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    count = 1 + (direction == "bidirectional")
    dtype = np.int8 if has() else np.uint8
    info, of_rows = np.iinfo(dtype), has()
    scales = (count, 4 * size) if of_rows else (count,)

    def floats(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    def zero() -> Any:  # what ONNX Runtime takes
        if of_rows and dtype == np.int8:
            return np.zeros(scales, dtype)
        return np.full(scales, rng.integers(info.min // 2, info.max // 2), dtype)

    inputs: dict[str, Any] = {"x": floats(steps, batch, width)}
    for name, rows in (("w", width), ("r", size)):
        inputs[name] = rng.integers(info.min, info.max + 1, (count, rows, 4 * size)).astype(dtype)
    inputs["b"] = floats(count, 8 * size) if has() else None
    lengths = rng.integers(0, steps + 1, batch).astype(np.int32)
    inputs["lengths"] = lengths if has() else None
    for name in ("h", "c"):
        inputs[name] = floats(count, batch, size) if has() else None
    inputs["p"] = floats(count, 3 * size) if rng.integers(4) == 0 else None
    for name in ("w", "r"):
        inputs[f"{name}_scale"] = rng.uniform(0.001, 0.01, scales).astype(np.float32)
        inputs[f"{name}_zero"] = zero()
    attributes: dict[str, Any] = {"hidden_size": size, "direction": direction}
    attributes |= {"clip": 0.7} if rng.integers(4) == 0 else {}
    attributes |= {"input_forget": 1} if rng.integers(4) == 0 else {}
    given = {name: x for name, x in inputs.items() if x is not None}
    constant = [name for name in given if has() and name[0] in "wr"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", [name if name in given else "" for name in inputs],
        ["y", "y_h", "y_c"], domain="com.microsoft", **attributes,
    )  # fmt: skip
    ports = [
        port(name, list(x.shape), helper.np_dtype_to_tensor_dtype(x.dtype))
        for name, x in given.items()
        if name not in constant
    ]
    proto = model_of(
        [node], ports, [port(name, None) for name in ("y", "y_h", "y_c")],
        [weight(name, given[name]) for name in constant],
        imports=[helper.make_opsetid("com.microsoft", 1)],
    )  # fmt: skip
    return proto, {name: x for name, x in given.items() if name not in constant}


@pytest.mark.parametrize("seed", range(24))
def test_a_recurrence_of_bytes_is_that_of_onnxruntime(seed: int, tmp_path: Path) -> None:
    proto, feed = drawn(seed)
    wanted = by_onnxruntime(proto, feed, threads=1)
    for (ours, own), theirs in zip(by_both_readers(proto, tmp_path, feed), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
        np.testing.assert_allclose(own, theirs, rtol=0, atol=1e-5)


def test_steps_of_no_example_are_not_in_the_range_of_bytes() -> None:
    """Nor do they make it: ONNX Runtime multiplies up to the longest example."""
    proto, feed = next((proto, feed) for proto, feed in map(drawn, range(99)) if "lengths" in feed)
    feed["lengths"][:] = 1
    feed["x"][1:] *= 1e4
    wanted = by_onnxruntime(proto, feed, threads=1)
    for ours, theirs in zip(tl.export.onnx.load(proto).named(feed).values(), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_a_usual_recurrence_of_bytes_is_one_op() -> None:
    """Whose body is a scan would take several times as long."""
    steps = [
        str(tl.export.onnx.load(proto).program)
        for proto, feed in map(drawn, range(12))
        if not any(a.name in ("clip", "input_forget") for a in proto.graph.node[0].attribute)
        and proto.graph.node[0].input[7] == ""
    ]
    assert steps and all("DynamicQuantizedLSTM" in text for text in steps)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [4, (3, 0, 5)], ids=str)
def test_the_scan_that_is_exported_is_the_op(lengths: Any, reverse: bool) -> None:
    rng = np.random.default_rng(3)
    feed = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in (("sums", (4, 3, 20)), ("hidden", (3, 5)), ("cell", (3, 5)))
    }
    rows = tl.tensor(rng.integers(-128, 128, (20, 5)).astype(np.int8))
    scale = tl.tensor(rng.uniform(0.001, 0.01, 20).astype(np.float32))
    zero = tl.tensor(rng.integers(-5, 5, 20).astype(np.int8))

    def stepped(sums: Any, hidden: Any, cell: Any) -> Any:
        counts = tl.tensor(np.array(lengths))
        return tl.functional.dynamic_quantized_lstm(
            sums, rows, scale, zero, hidden, cell, counts, reverse=reverse
        )

    proto = tl.export.onnx.to_model(stepped, inputs=feed)
    found = stepped(*map(tl.tensor, feed.values()))
    for ours, theirs in zip(found, by_onnxruntime(proto, feed), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
