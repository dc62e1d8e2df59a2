"""Recurrences, transposed convolutions and Einsum in the core: what the reader in Python makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.tl_run import run

import tensorlike as tl

RNG = np.random.default_rng
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
NAMES = [
    "Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus",
    "Softsign", "tanh", "ThresholdedRelu",
]  # fmt: skip


def model_of(
    op: str, inputs: dict[str, Any], outputs: list[str], **attributes: Any
) -> onnx.ModelProto:
    """A node whose inputs are those that are there."""
    node = helper.make_node(
        op, [name if x is not None else "" for name, x in inputs.items()], outputs, **attributes
    )
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
        if x is not None
    ]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], op, given, made)
    opsets = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(model: onnx.ModelProto, inputs: dict[str, Any], folder: Path) -> None:
    """The results of both readers."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    given = {name: x for name, x in inputs.items() if x is not None}
    done, found = run(path, folder, given)
    assert done.returncode == 0, done.stderr
    wanted = tl.export.onnx.load(path).named(given)
    for y, z in zip(found, wanted.values(), strict=True):
        np.testing.assert_allclose(y, np.asarray(z), rtol=2e-5, atol=2e-6)


def floats(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def recurrence(op: str, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and attributes of a node that says some of what it may say."""
    rng = RNG(seed)
    says = lambda: bool(rng.integers(2))  # noqa: E731
    steps, batch, size, width = rng.integers(1, 5, 4)
    layout = int(says())
    direction = ["forward", "reverse", "bidirectional"][rng.integers(3)]
    count = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * size
    state = (batch, count, size) if layout else (count, batch, size)
    x = (batch, steps, width) if layout else (steps, batch, width)
    inputs: dict[str, Any] = {
        "x": floats(rng, *x), "w": floats(rng, count, rows, width),
        "r": floats(rng, count, rows, size),
        "b": floats(rng, count, 2 * rows) if says() else None,
        "lengths": rng.integers(0, steps + 1, batch).astype(np.int32) if says() else None,
        "h": floats(rng, *state) if says() else None,
    }  # fmt: skip
    attributes: dict[str, Any] = {
        "direction": direction, "layout": layout, "hidden_size": int(size)
    }  # fmt: skip
    if op == "LSTM":
        inputs["c"] = floats(rng, *state) if says() else None
        inputs["p"] = floats(rng, count, 3 * size) if says() else None
        attributes["input_forget"] = int(says())
    if op == "GRU":
        attributes["linear_before_reset"] = int(says())
    if says():
        attributes["clip"] = float(rng.uniform(0.2, 2.0))
    if says():
        names = [NAMES[rng.integers(len(NAMES))] for _ in range(len(USUAL[op]) * count)]
        attributes["activations"] = names
        if says():
            attributes["activation_alpha"] = rng.uniform(0.1, 1.0, 2).tolist()
            attributes["activation_beta"] = rng.uniform(0.1, 1.0, 1).tolist()
    return inputs, attributes


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("op", GATES)
def test_a_recurrence_of_any_formula_is_what_it_is_in_python(
    op: str, seed: int, tmp_path: Path
) -> None:
    inputs, attributes = recurrence(op, seed)
    outputs = ["y", "y_h", "y_c"][: 3 if op == "LSTM" else 2]
    check(model_of(op, inputs, outputs, **attributes), inputs, tmp_path)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("per_row", [False, True])
def test_an_lstm_of_bytes_is_what_it_is_in_python(
    direction: str, per_row: bool, tmp_path: Path
) -> None:
    rng = RNG(5)
    count, size, width = 2 if direction == "bidirectional" else 1, 3, 4
    scales = (count, 4 * size) if per_row else (count,)
    inputs: dict[str, Any] = {
        "x": floats(rng, 5, 2, width),
        "w": rng.integers(-128, 128, (count, width, 4 * size)).astype(np.int8),
        "r": rng.integers(-128, 128, (count, size, 4 * size)).astype(np.int8),
        "b": floats(rng, count, 8 * size), "lengths": None, "h": None, "c": None, "p": None,
    }  # fmt: skip
    for name in "wr":
        inputs[f"{name}_scale"] = rng.uniform(0.001, 0.01, scales).astype(np.float32)
        inputs[f"{name}_zero"] = rng.integers(-3, 4, scales).astype(np.int8)
    made = model_of(
        "DynamicQuantizeLSTM", inputs, ["y", "y_h", "y_c"], hidden_size=size,
        direction=direction, domain="com.microsoft",
    )  # fmt: skip
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    check(made, inputs, tmp_path)


@pytest.mark.parametrize(
    "activations", [["Sigmoid"], ["Sigmoid", "Sin"], ["Sigmoid", "Tanh", "Tanh", "Tanh"]]
)
def test_functions_that_a_cell_does_not_have_are_refused(
    activations: list[str], tmp_path: Path
) -> None:
    inputs, _ = recurrence("GRU", 0)
    inputs = {name: x if name in ("x", "w", "r") else None for name, x in inputs.items()}
    inputs |= {"x": np.ones((2, 3, 4), np.float32), "w": np.ones((1, 9, 4), np.float32)}
    inputs["r"] = np.ones((1, 9, 3), np.float32)
    path = tmp_path / "model.onnx"
    onnx.save(model_of("GRU", inputs, ["y"], activations=activations), path)
    given = {name: x for name, x in inputs.items() if x is not None}
    done, _ = run(path, tmp_path, given)
    assert done.returncode == 1 and "activations" in done.stderr, done.stderr


@pytest.mark.parametrize("seed", range(16))
def test_a_transposed_convolution_has_the_size_that_is_asked_for(seed: int, tmp_path: Path) -> None:
    rng = RNG(seed)
    count = int(rng.integers(1, 3))
    groups = int(rng.integers(1, 3))
    kernel = [int(k) for k in rng.integers(1, 4, count)]
    strides = [int(s) for s in rng.integers(1, 4, count)]
    sizes = [int(n) for n in rng.integers(2, 5, count)]
    full = [(n - 1) * s + k for n, s, k in zip(sizes, strides, kernel, strict=True)]
    attributes: dict[str, Any] = {"strides": strides, "group": groups}
    how = seed % 4
    if how == 0:
        attributes["output_shape"] = [max(n + int(rng.integers(-2, 3)), 1) for n in full]
        attributes["auto_pad"] = ["NOTSET", "SAME_UPPER", "SAME_LOWER"][rng.integers(3)]
    elif how == 1:
        attributes["auto_pad"] = ["SAME_UPPER", "SAME_LOWER"][rng.integers(2)]
    elif how == 2:
        pads = [int(p) for p in rng.integers(0, 2, 2 * count)]
        total = [pads[i] + pads[i + count] for i in range(count)]
        if all(n > t for n, t in zip(full, total, strict=True)):
            attributes["pads"] = pads
    else:
        attributes["output_padding"] = [int(rng.integers(0, s)) for s in strides]
    inputs = {
        "x": floats(rng, 2, 2 * groups, *sizes), "w": floats(rng, 2 * groups, 3, *kernel),
        "b": floats(rng, 3 * groups) if rng.integers(2) else None,
    }  # fmt: skip
    check(model_of("ConvTranspose", inputs, ["y"], **attributes), inputs, tmp_path)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iji->ij", [(3, 2, 3)]),
        ("iii->i", [(3, 3, 3)]),
        ("...ii->...i", [(2, 4, 3, 3)]),
        ("...ij,...jk->...ik", [(2, 5, 3, 4), (2, 5, 4, 2)]),
        ("...ij,jk", [(2, 3, 4), (4, 2)]),
        ("...i,...i->...", [(2, 4), (2, 4)]),
        ("ii,i...->...", [(3, 3), (3, 2, 5)]),
        ("b...,b->...", [(2, 3), (2,)]),
    ],
)
def test_einsum_has_diagonals_and_further_axes(
    equation: str, shapes: list[tuple[int, ...]], tmp_path: Path
) -> None:
    inputs = {f"x{i}": floats(RNG(i), *shape) for i, shape in enumerate(shapes)}
    check(model_of("Einsum", inputs, ["y"], equation=equation), inputs, tmp_path)
    if "..." not in equation or len(shapes) == 1:
        path = tmp_path / "model.onnx"
        wanted = np.einsum(equation, *inputs.values())
        (found,) = run(path, tmp_path, inputs)[1]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
