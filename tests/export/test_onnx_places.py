"""Ops that put elements where indices say, or read between them: in ONNX Runtime, in the reader in
Python and in that of the core. Of Col2Im it is the standard's own evaluator: of other than two axes
ONNX Runtime 1.32 puts dilated windows elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support.onnx_models import by_onnxruntime, model_of, port, weight
from support.tl_run import run

import tensorlike as tl

OPSET = 21


def floats(rng: Any, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def scattered(rng: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Places that meet, negative ones, of fewer elements than there are, and none."""
    shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 4)))
    integral = bool(rng.integers(2))
    x = rng.integers(-5, 6, shape).astype(np.int64 if integral else np.float32)
    reduction = str(rng.choice(["none", "add", "mul", "max", "min"]))
    if rng.integers(2):
        axis = int(rng.integers(-len(shape), len(shape)))
        sizes = [int(rng.integers(1, n + 1)) for n in shape]
        sizes[axis] = int(rng.integers(0, 6))
        if reduction == "none":  # which of several stays is nobody's promise
            sizes[axis] = min(sizes[axis], 1)
        at = rng.integers(-shape[axis], shape[axis], sizes)
        updates = rng.integers(-5, 6, sizes).astype(x.dtype)
        given = {"x": x, "at": at, "updates": updates}
        return "ScatterElements", given, {"axis": axis, "reduction": reduction}
    count = int(rng.integers(1, len(shape) + 1))
    many = int(rng.integers(0, 6)) if reduction != "none" else 1
    at = np.stack([rng.integers(-n, n, many) for n in shape[:count]], axis=-1)
    updates = rng.integers(-5, 6, (many, *shape[count:])).astype(x.dtype)
    return "ScatterND", {"x": x, "at": at, "updates": updates}, {"reduction": reduction}


def regions(rng: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Regions that leave the image, and of no size."""
    images, height, width = int(rng.integers(1, 3)), *map(int, rng.integers(1, 9, 2))
    count = int(rng.integers(0, 4))
    first = rng.uniform(-3, 8, (count, 2))
    rois = np.concatenate([first, first + rng.uniform(0, 6, (count, 2))], axis=1)
    given = {
        "x": floats(rng, images, 2, height, width), "rois": rois.astype(np.float32),
        "images": rng.integers(0, images, count),
    }  # fmt: skip
    return "RoiAlign", given, {
        "mode": str(rng.choice(["avg", "max"])), "sampling_ratio": int(rng.integers(0, 4)),
        "output_height": int(rng.integers(1, 4)), "output_width": int(rng.integers(1, 4)),
        "coordinate_transformation_mode": str(rng.choice(["half_pixel", "output_half_pixel"])),
        "spatial_scale": float(rng.choice([1.0, 0.5])),
    }  # fmt: skip


def pooled(rng: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Regions that leave the image, from an end to another."""
    images, height, width = int(rng.integers(1, 3)), *map(int, rng.integers(1, 9, 2))
    count = int(rng.integers(1, 4))
    first = rng.uniform(-2, 9, (count, 2))
    ends = [rng.integers(0, images, (count, 1)), first, first + rng.uniform(0, 6, (count, 2))]
    given = {
        "x": floats(rng, images, 2, height, width),
        "rois": np.concatenate(ends, axis=1).astype(np.float32),
    }
    return "MaxRoiPool", given, {
        "pooled_shape": [int(n) for n in rng.integers(1, 4, 2)],
        "spatial_scale": float(rng.choice([1.0, 0.5])),
    }  # fmt: skip


def windows(rng: Any, count: int) -> dict[str, Any]:
    found = {
        "strides": [int(n) for n in rng.integers(1, 4, count)],
        "dilations": [int(n) for n in rng.integers(1, 3, count)],
        "pads": [int(n) for n in rng.integers(0, 3, 2 * count)],
    }
    return {name: value for name, value in found.items() if rng.integers(4)}


def sizes_of(how: dict[str, Any], sizes: Any, kernel: Any) -> list[int]:
    """How many windows there are along each axis."""
    count = len(kernel)
    pads = how.get("pads", [0] * (2 * count))
    steps, apart = (how.get(name, [1] * count) for name in ("strides", "dilations"))
    return [
        (sizes[i] + pads[i] + pads[i + count] - (kernel[i] - 1) * apart[i] - 1) // steps[i] + 1
        for i in range(count)
    ]


def put_back(rng: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    count = int(rng.integers(1, 4))
    how, kernel = windows(rng, count), [int(n) for n in rng.integers(1, 4, count)]
    apart = how.get("dilations", [1] * count)
    sizes = [int(rng.integers(0, 4)) + (k - 1) * d + 1 for k, d in zip(kernel, apart, strict=True)]
    outs = sizes_of(how, sizes, kernel)
    given = {
        "x": floats(rng, 2, 3 * int(np.prod(kernel)), int(np.prod(outs))),
        "sizes": np.array(sizes), "block": np.array(kernel),
    }  # fmt: skip
    return "Col2Im", given, how


def deformed(rng: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    groups, parts = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    how, kernel = windows(rng, 2), [int(n) for n in rng.integers(1, 4, 2)]
    apart = how.get("dilations", [1, 1])
    sizes = [int(rng.integers(0, 4)) + (k - 1) * d + 1 for k, d in zip(kernel, apart, strict=True)]
    outs = sizes_of(how, sizes, kernel)
    taps, channels = kernel[0] * kernel[1], 2 * groups * parts
    offset = (2 * floats(rng, 2, parts * taps * 2, *outs)).astype(np.float32)
    given = {
        "x": floats(rng, 2, channels, *sizes),
        "w": floats(rng, 3 * groups, channels // groups, *kernel),
        "offset": np.rint(offset) if rng.integers(3) == 0 else offset,
        "b": floats(rng, 3 * groups) if rng.integers(2) else None,
        "mask": floats(rng, 2, parts * taps, *outs) if rng.integers(2) else None,
    }  # fmt: skip
    return "DeformConv", given, how | {"group": groups, "offset_group": parts}


def scale(rng: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    bins, length, rate = int(rng.integers(1, 12)), int(rng.integers(8, 70)), 8192
    low = float(rng.uniform(0, 500))
    given = {
        "bins": np.array(bins), "length": np.array(length), "rate": np.array(rate),
        "low": np.array(low, np.float32), "high": np.array(low + 1500, np.float32),
    }  # fmt: skip
    return "MelWeightMatrix", given, {}


# Inputs whose numbers say what the op is stand in the model.
CONSTANT = ("sizes", "block", "bins", "length", "rate", "low", "high", "rois", "images")
KINDS = {f.__name__: f for f in (scattered, regions, pooled, put_back, deformed, scale)}


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("kind", KINDS)
def test_places_are_those_of_onnxruntime(kind: str, seed: int, tmp_path: Path) -> None:
    op, inputs, attributes = KINDS[kind](np.random.default_rng(seed))
    given = {name: x for name, x in inputs.items() if x is not None}
    node = helper.make_node(op, [n if n in given else "" for n in inputs], ["y"], **attributes)
    dtype = helper.np_dtype_to_tensor_dtype
    first = next(iter(given.values()))
    proto = model_of(
        [node],
        [port(n, list(x.shape), dtype(x.dtype)) for n, x in given.items() if n not in CONSTANT],
        [port("y", None, dtype(first.dtype if op.startswith("Scatter") else np.dtype("float32")))],
        [weight(n, x) for n, x in given.items() if n in CONSTANT], opset=OPSET,
    )  # fmt: skip
    feed = {name: x for name, x in given.items() if name not in CONSTANT}
    by_standard = op == "Col2Im"
    (wanted,) = ReferenceEvaluator(proto).run(None, feed) if by_standard else by_onnxruntime(
        proto, feed)  # fmt: skip
    (found,) = tl.export.onnx.load(proto).named(feed).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, strict=True)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    done, (own,) = run(path, tmp_path, feed)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-5, strict=True)
