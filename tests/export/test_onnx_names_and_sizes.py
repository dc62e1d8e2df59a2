"""What a model keeps when it is exported, read and exported again: names, dtypes, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.export import onnx


def _model(function: Any, *inputs: Any) -> Any:
    program = static.Program()
    with static.program_guard(program, static.Program()):
        y = function(*(static.data(f"x{i}", *one) for i, one in enumerate(inputs)))
    return onnx.to_model(program, results={"y": y})


def _run(proto: Any, x: Any) -> Any:
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x0": x})[0]


def test_results_keep_their_names_where_the_program_has_asked_for_a_size() -> None:
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", (None, 3))
        y = F.tanh(x) if x.shape[0] > 1 else x
        program.rename_result(y.number, "y")
    model = onnx.to_model(program, results={"y": "y", "other": "y"})
    assert [one.name for one in model.graph.output] == ["y", "other"]


def test_a_result_may_be_called_as_what_is_computed_on_the_way() -> None:
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", (None, 3))
        first = F.tanh(x)
        second = F.exp(first)
        program.rename_result(first.number, "y")
    model = onnx.to_model(program, results={"y": second, "exp_out": first})
    assert [one.name for one in model.graph.output] == ["y", "exp_out"]
    found = onnxruntime.InferenceSession(model.SerializeToString()).run(
        ["y", "exp_out"], {"x": np.ones((2, 3), np.float32)}
    )
    np.testing.assert_allclose(found[1], np.tanh(np.ones((2, 3))), rtol=1e-6)
    np.testing.assert_allclose(found[0], np.exp(found[1]), rtol=1e-6)


def test_a_size_in_another_integer_dtype_stays_of_it() -> None:
    proto = _model(lambda x: x * x.shape[0], ((None, 3), "int32"))
    found = onnx.load(proto)(tl.ones((2, 3), dtype="int32"))
    assert found.dtype is tl.int32 and found.tolist() == [[2, 2, 2]] * 2


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.sort(x, axis=0), lambda x: F.topk(x, 1, axis=0)[0],
        lambda x: F.broadcast_to(F.sum(x, axis=0, keepdims=True), x.shape),
        lambda x: F.reshape(x, (x.shape[0], 3, 1)), lambda x: F.roll(x, 2, axis=0),
    ],
)  # fmt: skip
def test_a_model_that_was_read_is_exported_again(function: Any, rows: int) -> None:
    model = onnx.load(_model(function, ((None, 3),)))
    asked = [numbers for _, numbers, *_ in model.program.guards()]
    assert model.why == "" and not set(asked) - {0}
    again = onnx.to_model(model.program, results={"y": model.results[0]}, scope=model.scope)
    x = np.random.default_rng(0).standard_normal((rows, 3)).astype(np.float32)
    wanted = function(tl.tensor(x)).numpy()
    for found in (_run(again, x), model(x).numpy(), model.op(tl.tensor(x))[0].numpy()):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[1:], lambda x: x[:-1], lambda x: x[::-1], lambda x: x[-1], lambda x: x[2:, 1:],
        lambda x: x[1:] - x[:-1], lambda x: F.concat([x, x])[1:], lambda x: x[10:],
    ],
)  # fmt: skip
def test_gradients_of_parts_of_an_unknown_number_of_rows_are_exported(part: Any) -> None:
    gradient = tl.grad(lambda x: F.sum(F.tanh(part(x)) ** 2))
    proto = _model(gradient, ((None, 3),))
    for rows in (13, 15, 20):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        wanted = gradient(tl.tensor(x)).numpy()
        np.testing.assert_allclose(_run(proto, x), wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(onnx.load(proto)(x).numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_a_question_that_was_asked_twice_is_a_node_each() -> None:
    def function(x: Any) -> Any:
        for _ in range(2):
            if x.shape[0] > 2:
                x = x * 2
        rows = [F.scan(lambda c, row: (c, row * 2 if row.shape[0] > 2 else row), 0.0, x)[1]]
        return F.concat([*rows, x])

    proto = _model(function, ((None, "m"),))
    for rows in (3, 4):
        x = np.ones((rows, 5), np.float32)
        np.testing.assert_array_equal(_run(proto, x), function(tl.tensor(x)).numpy())
