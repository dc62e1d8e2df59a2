"""Ops with many attributes, drawn at random, against ONNX Runtime: both refuse, or both agree."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import FLOAT, INT64, by_onnxruntime, model_of, port, weight

import tensorlike as tl

Draw = random.Random
Case = tuple[str, list[Any], dict[str, Any], list[int]]  # op, inputs, attributes, types of results


def floats(draw: Draw, *shape: int) -> Any:
    return np.random.default_rng(draw.randrange(2**31)).standard_normal(shape).astype(np.float32)


def padding(draw: Draw, count: int, most: int) -> dict[str, Any]:
    kind = draw.randrange(5)
    if kind == 0:
        return {"auto_pad": draw.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}
    if kind == 1:
        return {}
    if kind == 2:
        return {"pads": [draw.randint(0, most) for _ in range(count)] * 2}
    return {"pads": [draw.randint(0, most) for _ in range(2 * count)]}


def several(draw: Draw, count: int, most: int) -> list[int]:
    return [draw.randint(1, most) for _ in range(count)]


def conv(draw: Draw) -> Case:
    count, group = draw.choice([1, 2, 2, 3]), draw.choice([1, 1, 2])
    kernel = several(draw, count, 3)
    attributes = {"group": group, "strides": several(draw, count, 3), **padding(draw, count, 2)}
    if "auto_pad" not in attributes:
        attributes["dilations"] = several(draw, count, 2)
    x = floats(draw, draw.randint(1, 2), 2 * group, *(draw.randint(3, 8) for _ in range(count)))
    inputs = [x, floats(draw, 2 * group, 2, *kernel)]
    if draw.random() < 0.5:
        inputs.append(floats(draw, 2 * group))
    return "Conv", inputs, attributes, [FLOAT]


def conv_transpose(draw: Draw) -> Case:
    count, group = draw.choice([1, 2, 2]), draw.choice([1, 1, 2])
    strides = several(draw, count, 3)
    attributes: dict[str, Any] = {"group": group, "strides": strides, **padding(draw, count, 1)}
    if draw.random() < 0.4 and "auto_pad" not in attributes:
        attributes["output_padding"] = [draw.randint(0, s - 1) for s in strides]
    if "auto_pad" not in attributes and "output_padding" not in attributes:
        attributes["dilations"] = several(draw, count, 2)
    x = floats(draw, 1, 2 * group, *(draw.randint(2, 5) for _ in range(count)))
    # Where steps leave gaps, ONNX Runtime does not widen the result to the standard's size.
    is_same = attributes.get("auto_pad", "").startswith("SAME")
    kernel = [draw.randint(s if is_same else 1, 3) for s in strides]
    inputs = [x, floats(draw, 2 * group, 3, *kernel)]
    if draw.random() < 0.5:
        inputs.append(floats(draw, 3 * group))
    return "ConvTranspose", inputs, attributes, [FLOAT]


def pool(draw: Draw) -> Case:
    op, count = draw.choice(["MaxPool", "AveragePool", "LpPool"]), draw.choice([1, 2, 2, 3])
    kernel = [draw.randint(2, 3) for _ in range(count)]
    attributes = {
        "kernel_shape": kernel, "strides": several(draw, count, 3), **padding(draw, count, 1),
    }  # fmt: skip
    if op != "LpPool" and "auto_pad" not in attributes:
        attributes["ceil_mode"] = draw.randint(0, 1)
    if op == "AveragePool":
        attributes["count_include_pad"] = draw.randint(0, 1)
    kinds = [FLOAT]
    if op == "MaxPool" and draw.random() < 0.4:
        kinds = [FLOAT, INT64]
    x = floats(draw, draw.randint(1, 2), 2, *(draw.randint(4, 8) for _ in range(count)))
    return op, [x], attributes, kinds


def resize(draw: Draw) -> Case:
    mode = draw.choice(["nearest", "linear", "cubic"])
    shape = [1, 2, draw.randint(2, 6), draw.randint(2, 6)]
    attributes: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": draw.choice(
            ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
        ),
    }
    if mode == "nearest":
        attributes["nearest_mode"] = draw.choice(
            ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
        )
    if mode == "cubic":
        attributes["cubic_coeff_a"] = draw.choice([-0.5, -0.75])
        attributes["exclude_outside"] = draw.randint(0, 1)
    empty = np.array([], np.float32)
    if draw.random() < 0.5:
        scales = np.array([1, 1, draw.choice([0.5, 1, 1.5, 2]), draw.choice([0.75, 2, 3])])
        if attributes["coordinate_transformation_mode"] in ("align_corners", "pytorch_half_pixel"):
            # The standard's tests do not round the size of the result here, ONNX Runtime does.
            shape[2:], scales[3] = [draw.choice([2, 4, 6]), draw.choice([2, 4, 6])], 0.5
        return (
            "Resize",
            [floats(draw, *shape), empty, scales.astype(np.float32)],
            attributes,
            [FLOAT],
        )
    sizes = np.array([1, 2, draw.randint(2, 9), draw.randint(2, 9)])
    return "Resize", [floats(draw, *shape), empty, empty, sizes], attributes, [FLOAT]


def slice_of(draw: Draw) -> Case:
    shape = [draw.randint(1, 6) for _ in range(3)]
    axes = draw.sample([0, 1, 2], draw.randint(1, 3))
    far = [-(2**63), -(2**31), -100, *range(-7, 8), 100, 2**31 - 1, 2**63 - 1]
    starts, ends = ([draw.choice(far[1:]) for _ in axes] for _ in range(2))
    steps = [draw.choice([-3, -2, -1, 1, 1, 2, 3]) for _ in axes]
    # Going backwards, ONNX Runtime takes the largest end for none; the standard clamps it.
    ends = [min(n, 100) if step < 0 else n for n, step in zip(ends, steps, strict=True)]
    given = [np.array(x, np.int64) for x in (starts, ends, axes, steps)]
    return "Slice", [floats(draw, *shape), *given], {}, [FLOAT]


def pad(draw: Draw) -> Case:
    mode = draw.choice(["constant", "constant", "edge", "reflect"])
    shape = [draw.randint(3, 5) for _ in range(3)]
    least = -1 if mode == "constant" else 0
    pads = [draw.randint(least, 2) for _ in range(6)]
    inputs = [floats(draw, *shape), np.array(pads, np.int64)]
    if mode == "constant":
        inputs.append(np.float32(draw.choice([0.0, 1.5])))
    return "Pad", inputs, {"mode": mode}, [FLOAT]


def reduction(draw: Draw) -> Case:
    op = draw.choice(["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSumExp", "SumSquare"])
    axes = draw.sample([0, 1, 2, -1, -2], draw.randint(0, 1)) or draw.choice([[], [0, 2], [-1, 0]])
    attributes = {
        "keepdims": draw.randint(0, 1),
        "noop_with_empty_axes": 0 if axes else draw.randint(0, 1),
    }
    inputs = [floats(draw, *several(draw, 3, 4)), np.array(axes, np.int64)]
    if op in ("L1", "L2", "LogSumExp", "SumSquare"):
        attributes["noop_with_empty_axes"] = 0  # where ONNX Runtime leaves the map out
    return f"Reduce{op}", inputs, attributes, [FLOAT]


def scatter(draw: Draw) -> Case:
    axis = draw.choice([0, 1, -1])
    shape = [draw.randint(2, 4), draw.randint(2, 4)]
    part = [draw.randint(1, n) for n in shape]
    at = np.random.default_rng(draw.randrange(2**31)).integers(-shape[axis], shape[axis], part)
    reduction = draw.choice(["none", "add", "mul", "max", "min"])
    if reduction == "none":  # of places that are told twice, any may win
        line = np.random.default_rng(draw.randrange(2**31)).permutation(shape[axis])[: part[axis]]
        at = np.broadcast_to(line.reshape([-1, 1] if axis == 0 else [1, -1]), part).copy()
    inputs = [floats(draw, *shape), at, floats(draw, *part)]
    return "ScatterElements", inputs, {"axis": axis, "reduction": reduction}, [FLOAT]


def recurrent(draw: Draw) -> Case:
    op, direction = (
        draw.choice(["LSTM", "GRU", "RNN"]),
        draw.choice(["forward", "reverse", "bidirectional"]),
    )
    steps, batch, size, hidden = draw.randint(1, 4), draw.randint(1, 3), 3, 2
    count, gates = 1 + (direction == "bidirectional"), {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    inputs = [
        floats(draw, steps, batch, size), floats(draw, count, gates * hidden, size),
        floats(draw, count, gates * hidden, hidden), floats(draw, count, 2 * gates * hidden),
    ]  # fmt: skip
    if draw.random() < 0.5:
        lengths = [draw.randint(0, steps) for _ in range(batch)]
        inputs += [np.array(lengths, np.int32), floats(draw, count, batch, hidden)]
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        attributes["linear_before_reset"] = draw.randint(0, 1)
    if draw.random() < 0.3:
        attributes["clip"] = 0.5
    return op, inputs, attributes, [FLOAT] * (3 if op == "LSTM" else 2)


def grid(draw: Draw) -> Case:
    attributes = {
        "mode": draw.choice(["linear", "nearest", "cubic"]),
        "padding_mode": draw.choice(["zeros", "border", "reflection"]),
        "align_corners": draw.randint(0, 1),
    }
    return "GridSample", [floats(draw, 2, 2, 4, 5), floats(draw, 2, 3, 3, 2)], attributes, [FLOAT]


DRAWS: dict[str, Callable[[Draw], Case]] = {
    "convolutions": conv, "transposed convolutions": conv_transpose, "pooling": pool,
    "resizing": resize, "slices": slice_of, "padding": pad, "reductions": reduction,
    "scattering": scatter, "recurrences": recurrent, "grids": grid,
}  # fmt: skip
KINDS = {"float32": FLOAT, "int64": INT64, "int32": 6}


def compared(case: Case) -> bool:
    """Whether both agree; False: ONNX Runtime refuses it, which ours need not."""
    op, inputs, attributes, kinds = case
    weights = [weight(f"w{i}", x) for i, x in enumerate(inputs[1:])]
    names = [f"y{i}" for i in range(len(kinds))]
    node = helper.make_node(op, ["x", *(one.name for one in weights)], names, **attributes)
    outputs = [port(n, None, k) for n, k in zip(names, kinds, strict=True)]
    proto = model_of([node], [port("x", list(inputs[0].shape))], outputs, weights, opset=20)
    try:
        wanted = by_onnxruntime(proto, {"x": inputs[0]})
    except Exception:  # its own classes, of which some are no more than RuntimeError
        return False
    found = tl.export.onnx.load(proto).named({"x": inputs[0]})
    for name, theirs in zip(names, wanted, strict=True):
        ours = np.asarray(found[name])
        told = f"{op} {attributes} {[np.asarray(x).shape for x in inputs]} {inputs[1:]}"
        assert ours.shape == theirs.shape, told
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4, err_msg=told[:2000])
    return True


@pytest.mark.parametrize("name", DRAWS)
def test_random_attributes_mean_what_onnxruntime_means(name: str) -> None:
    draw = Draw(0)
    assert sum(compared(DRAWS[name](draw)) for _ in range(20)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWS)
def test_many_random_attributes_mean_what_onnxruntime_means(name: str) -> None:
    draw = Draw(1)
    assert sum(compared(DRAWS[name](draw)) for _ in range(400)) >= 150
