"""Attention as the domain com.microsoft has it, with masks of every form: in ONNX Runtime, in the
reader in Python and in that of the core.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import by_onnxruntime, model_of, port
from support.tl_run import by_both_readers


def mask_of(rng: Any, batch: int, queries: int, keys: int) -> Any:
    """Lengths, lengths and where examples begin, what each example or each query sees; or none."""
    ends = rng.integers(1, keys + 1, batch)
    return [
        None, None, ends, np.concatenate([ends, rng.integers(0, ends)]),
        rng.random((batch, keys)) < 0.7, rng.random((batch, queries, keys)) < 0.7,
    ][rng.integers(6)]  # fmt: skip


def drawn(op: str, seed: int) -> tuple[list[Any], int, dict[str, Any]]:
    """Inputs, how many results are asked for, and attributes."""
    rng = np.random.default_rng(seed)

    def floats(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    batch, length, heads, each = (int(rng.integers(1, n)) for n in (4, 6, 4, 5))
    width, packed = heads * each, op != "MultiHeadAttention"
    has_past = packed and bool(rng.integers(2))
    before = int(rng.integers(1, 4)) if has_past else 0
    keys = length + before if packed else int(rng.integers(1, 6))
    mask = mask_of(rng, batch, length, keys)
    if not packed and mask is not None and len(mask) == 2 * batch:
        mask = None  # it has no such form
    mask = None if mask is None else mask.astype(np.int32)
    past = floats(2, batch, heads, before, each) if has_past else None
    how: dict[str, Any] = {"num_heads": heads}
    how |= {"unidirectional": 1} if rng.integers(2) else {}
    bias = floats(3 * width)
    if op == "QAttention":
        x = rng.integers(0, 256, (batch, length, width)).astype(np.uint8)
        weight = rng.integers(-128, 128, (width, 3 * width)).astype(np.int8)
        scales = [np.array(0.02, np.float32), np.array(0.01, np.float32)]
        zeros = [np.array(120, np.uint8), np.array(0, np.int8)]
        return [x, weight, bias, *scales, mask, *zeros, past], 1 + has_past, how
    how |= {"scale": 0.3} if rng.integers(3) == 0 else {}
    added = floats(batch, heads, length, keys) if rng.integers(3) == 0 and not has_past else None
    if packed:
        x, weight = floats(batch, length, width), floats(width, 3 * width)
        return [x, weight, bias, mask, past, added], 1 + has_past, how
    given = [floats(batch, n, width) for n in (length, keys, keys)]
    return [*given, bias if rng.integers(2) else None, mask, added], 1, how


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("op", ["Attention", "QAttention", "MultiHeadAttention"])
def test_attention_is_that_of_onnxruntime(op: str, seed: int, tmp_path: Path) -> None:
    inputs, count, how = drawn(op, seed)
    feed = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    dtype = helper.np_dtype_to_tensor_dtype
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    made = [f"y{i}" for i in range(count)]
    proto = model_of(
        [helper.make_node(op, names, made, domain="com.microsoft", **how)],
        [port(n, list(x.shape), dtype(x.dtype)) for n, x in feed.items()],
        [port(n, None) for n in made], imports=[helper.make_opsetid("com.microsoft", 1)],
    )  # fmt: skip
    wanted = by_onnxruntime(proto, feed)
    for (ours, own), theirs in zip(by_both_readers(proto, tmp_path, feed), wanted, strict=True):
        # Where all keys are hidden, -10,000 takes the last bits of all scores.
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-3)
        np.testing.assert_allclose(own, theirs, rtol=0, atol=2e-3)
