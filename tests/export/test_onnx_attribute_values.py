"""Values that attributes cannot have are refused by both readers, and never taken for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tensorlike as tl
from tensorlike.opdecl.compiler.onnx_entries import Entry, entries

from ..support.onnx_models import model_of, port, weight
from ..support.saved_runs import run_model

UINT64 = 13
ALL = [entry for versions in entries().values() for entry in versions]
RNG = np.random.default_rng(0)
# Op, attribute, a value that it cannot have, shape of x, weights behind it, other attributes.
WRONG: dict[str, tuple[str, str, Any, tuple[int, ...], list[Any], dict[str, Any]]] = {
    "a flag that is calculated with": (
        "AffineGrid", "align_corners", 2, (1, 2, 3), [np.array([1, 1, 4, 5])], {}),
    "a flag that is compared": ("STFT", "onesided", 2, (1, 16, 1), [np.int64(4), np.int64(8)], {}),
    "a flag that is negative": ("DFT", "inverse", -1, (1, 8, 1), [], {}),
    "a flag that is asked": ("ReduceSum", "keepdims", -1, (3, 4), [np.array([1])], {}),
    "a word of two": ("DepthToSpace", "mode", "DRC", (1, 4, 2, 2), [], {"blocksize": 2}),
    "a norm of another power": ("LpNormalization", "p", 3, (3, 4), [], {}),
    "an axis that is none of two": (
        "ReverseSequence", "time_axis", -1, (4, 4), [np.array([4, 3, 2, 1])], {"batch_axis": 1}),
    "a formula": ("Gelu", "approximate", "sigmoid", (3,), [], {}),
    "a layout": (
        "RNN", "layout", 2, (2, 1, 3), [np.ones((1, 2, 3), np.float32),
                                        np.ones((1, 2, 2), np.float32)], {"hidden_size": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_an_attribute_cannot_have_is_refused(name: str, tmp_path: Path) -> None:
    op, attribute, value, shape, others, more = WRONG[name]
    weights = [weight(f"w{i}", x) for i, x in enumerate(others)]
    node = helper.make_node(
        op, ["x", *(one.name for one in weights)], ["y"], **{attribute: value, **more}
    )
    proto = model_of([node], [port("x", list(shape))], [port("y", None)], weights, opset=20)
    said = f"{op}: {attribute} must be one of .*; got {value!r}"
    x = RNG.standard_normal(shape).astype(np.float32)
    with pytest.raises(tl.ArgumentError, match=said):
        tl.export.onnx.load(proto)(x)
    with pytest.raises(AssertionError, match=said):
        run_model(proto, tmp_path, {"x": x})


def test_a_bit_is_shifted_in_a_direction(tmp_path: Path) -> None:
    node = helper.make_node("BitShift", ["x", "x"], ["y"], direction="UP")
    proto = model_of([node], [port("x", [2], UINT64)], [port("y", None, UINT64)])
    with pytest.raises(tl.ArgumentError, match="must be one of 'LEFT', 'RIGHT'; got 'UP'"):
        tl.export.onnx.load(proto)(np.array([1, 2], np.uint64))


def test_rows_are_turned_around_along_another_axis_than_they_lie_in(tmp_path: Path) -> None:
    node = helper.make_node("ReverseSequence", ["x", "n"], ["y"], batch_axis=1, time_axis=1)
    weights = [weight("n", np.array([4, 3, 2, 1]))]
    proto = model_of([node], [port("x", [4, 4])], [port("y", None)], weights)
    x = np.zeros((4, 4), np.float32)
    with pytest.raises(tl.ArgumentError, match="batch_axis must be another axis than time_axis"):
        tl.export.onnx.load(proto)(x)
    with pytest.raises(AssertionError, match="and batch_axis the other"):
        run_model(proto, tmp_path, {"x": x})


@pytest.mark.parametrize("entry", [e for e in ALL if e.among], ids=lambda e: e.name)
def test_a_default_is_among_the_values(entry: Entry) -> None:
    for name, values in entry.among.items():
        default = entry.attrs[name]
        is_required = default in (None, "")  # a model says it
        assert is_required or default in values, (name, default)
