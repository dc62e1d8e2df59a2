"""Tensors of many unknown sizes, exported, imported and saved: one model for all sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static

COUNTS = [1, 3, 4, 5, 8]


def function(x: Any) -> Any:
    rows = F.sum(F.reshape(F.tanh(x), (x.shape[0], -1)), axis=1)
    return rows + F.var(F.reshape(x, (-1, x.shape[-1]))) + F.mean(x) * (F.sum(x) / x.size)


def feeds(count: int) -> list[Any]:
    """Elements of different sizes, of equal ones, and of sizes of 1."""
    rng = np.random.default_rng(count)
    drawn = [tuple(rng.integers(1, 4, count)) for _ in range(2)]
    shapes = [*drawn, (2,) * count, (1,) * count]
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def same(found: Any, x: Any) -> None:
    wanted = np.asarray(function(tl.tensor(x)))
    np.testing.assert_allclose(np.asarray(found), wanted, 1e-4, 1e-5, err_msg=str(x.shape))


@pytest.mark.parametrize("count", COUNTS)
def test_a_model_of_many_dynamic_axes_is_right_for_all_sizes(count: int) -> None:
    names = tuple(f"n{i}" for i in range(count))
    model = tl.export.onnx.to_model(function, inputs={"x": names}, opset=18)
    (given,) = model.graph.input
    assert tuple(one.dim_param for one in given.type.tensor_type.shape.dim) == names
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    imported = tl.export.onnx.load(model)
    assert imported.why == ""
    for x in feeds(count):
        same(session.run(None, {"x": x})[0], x)
        same(imported(x), x)


@pytest.mark.parametrize("count", COUNTS)
def test_a_traced_function_is_one_program_from_the_second_shape_on(count: int) -> None:
    traced = jit.trace(function)
    for x in feeds(count):
        same(traced(tl.tensor(x)), x)
    made = len(traced.programs())
    for x in feeds(count):
        same(traced(tl.tensor(x + 1)), x + 1)
    for size in (3, 4) if count < 8 else (3,):
        x = np.ones((size,) * count, np.float32)
        same(traced(tl.tensor(x)), x)
    assert len(traced.programs()) == made


@pytest.mark.parametrize("count", COUNTS)
def test_a_saved_program_is_right_for_all_sizes(count: int, tmp_path: Path) -> None:
    program = static.Program()
    with static.program_guard(program):
        y = function(static.data("x", [None] * count))
    static.save(program, tmp_path / "many.tlp", [y])
    loaded = static.load(tmp_path / "many.tlp")
    (result,) = loaded.results.values()
    for x in feeds(count):
        for one, fetched in ((program, y), (loaded, result)):
            same(static.Executor().run(one, {"x": x}, [fetched])[0], x)
        same(static.Executor().run(static.CompiledProgram(program), {"x": x}, [y])[0], x)
